"""Moved to ``proxqn.ui.progress``."""

from proxqn._moved import forward

forward(__name__, "proxqn.ui.progress")
