"""Moved to ``proxqn.solvers.rivals.prox_gd``."""

from proxqn._moved import forward

forward(__name__, "proxqn.solvers.rivals.prox_gd")
