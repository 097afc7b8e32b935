"""Moved to ``proxqn.solvers.rivals.sgd``."""

from proxqn._moved import forward

forward(__name__, "proxqn.solvers.rivals.sgd")
