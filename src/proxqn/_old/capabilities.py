"""Moved to ``proxqn.problem.stepwise``."""

from proxqn._moved import forward

forward(__name__, "proxqn.problem.stepwise")
