"""Moved to ``proxqn.solvers.rivals.owl_qn``."""

from proxqn._moved import forward

forward(__name__, "proxqn.solvers.rivals.owl_qn")
