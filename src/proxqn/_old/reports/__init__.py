"""Moved to ``proxqn.ui``."""

from proxqn._moved import alias

alias(
    __name__,
    {
        "plots": "proxqn.ui.plots",
        "tables": "proxqn.ui.tables",
    },
)
