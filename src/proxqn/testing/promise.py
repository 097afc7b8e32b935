"""What a check says when a promise of the seam is broken."""

from __future__ import annotations

from typing import Any

import numpy as np


def broken(promise: str, *, where: str, expected: object, got: object, do: str) -> AssertionError:
    """Return the error: which promise, where, what was expected, what came, what to do."""
    return AssertionError(f"{promise} ({where}): expected {expected}, got {got}. {do}")


def agree(promise: str, *, where: str, expected: Any, got: Any, tolerance: Any, do: str) -> None:
    """Raise unless two numbers or arrays are equal to within an absolute tolerance."""
    one, other = np.asarray(expected, dtype=float), np.asarray(got, dtype=float)
    if one.shape != other.shape:
        shapes = f"shape {one.shape}", f"shape {other.shape}"
        raise broken(promise, where=where, expected=shapes[0], got=shapes[1], do=do)
    with np.errstate(invalid="ignore"):
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        fine = same | (np.abs(one - other) <= tolerance)
    if fine.all():
        return
    if one.ndim:
        worst = np.unravel_index(int(np.argmin(fine)), one.shape)
        where += f", entry {', '.join(str(i) for i in worst)}"
        one, other = one[worst], other[worst]
    raise broken(promise, where=where, expected=float(one), got=float(other), do=do)
