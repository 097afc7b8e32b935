"""Moved to ``proxqn.run.trace``."""

from proxqn._moved import forward

forward(__name__, "proxqn.run.trace")
