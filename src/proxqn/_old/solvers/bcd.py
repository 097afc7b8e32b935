"""Moved to ``proxqn.solvers.rivals.bcd``."""

from proxqn._moved import forward

forward(__name__, "proxqn.solvers.rivals.bcd")
