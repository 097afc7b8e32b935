"""How long a run will take to its tolerance, from the fall of the gap so far."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import final

from proxqn.run.trace import Row

_LEAST_FALL = 0.05  # of the logarithm: less is no trend
_LEAST_SECONDS = 0.2


@final
class TimeLeft:
    """Seconds until the relative gap is ``tol``, if its logarithm goes on falling as it did.

    The fall is measured over the second half of the run so far, up to now: while no sweep finds a
    better bound the estimate grows.

    Parameters
    ----------
    tol : float
        The relative gap that ends the run.
    """

    def __init__(self, tol: float) -> None:
        self._goal = math.log(tol) if tol > 0.0 else -math.inf
        self._seconds: list[float] = []
        self._gaps: list[float] = []  # logarithms of relative gaps

    def __call__(self, row: Row) -> float | None:
        """Take note of an iteration; return the seconds left, None where they are unknown."""
        if not 0.0 < row.gap < math.inf or not row.objective:
            return None
        gap = math.log(row.gap / abs(row.objective))
        self._seconds.append(row.seconds)
        self._gaps.append(gap)
        begin = min(bisect_left(self._seconds, row.seconds / 2), len(self._gaps) - 1)
        fall, seconds = self._gaps[begin] - gap, row.seconds - self._seconds[begin]
        if gap <= self._goal:
            return 0.0
        if fall < _LEAST_FALL or seconds < _LEAST_SECONDS or math.isinf(self._goal):
            return None
        return (gap - self._goal) * seconds / fall
