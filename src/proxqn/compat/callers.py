"""Warnings that point at the line that called this package."""

from __future__ import annotations

import sys
import warnings
from itertools import count


def warn_caller(text: str) -> None:
    """Warn at the first line outside the package, however deep the call was."""
    for depth in count(1):  # pragma: no branch
        try:
            name = sys._getframe(depth).f_globals.get("__name__", "")
        except ValueError:
            break
        if not name.startswith("proxqn."):
            break
    warnings.warn(text, UserWarning, stacklevel=depth + 1)
