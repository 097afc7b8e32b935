"""H, the limited-memory approximation of the inverse Hessian (Nocedal and Wright, ch. 7.2)."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from proxqn.problem.sparse import Floats, Ints
from proxqn.solvers.curvature.pairs import LEAST_CURVATURE


@final
class InverseBFGS:
    """Pairs of steps and changes of the gradient, and H from them by the two-loop recursion.

    Examples
    --------
    >>> memory = InverseBFGS(10)
    >>> memory.append(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    >>> memory.times(np.array([8.0, 4.0]))
    array([2., 1.])
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._pairs: list[tuple[Floats, Floats, float]] = []  # s, y, sᵀy; oldest first

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def append(self, s: Floats, y: Floats) -> None:
        """Take in a pair, unless its curvature is not positive."""
        sy = dot(s, y)
        if sy > LEAST_CURVATURE * math.sqrt(dot(s, s) * dot(y, y)):
            self._pairs = [*self._pairs, (s, y, sy)][-self._memory :]

    def spread(self, position: Ints) -> None:
        """Re-index: entry i comes from ``position[i]``, or is zero if that is -1."""
        known = position >= 0
        self._pairs = [
            (np.where(known, s[position], 0.0), np.where(known, y[position], 0.0), sy)
            for s, y, sy in self._pairs
        ]

    def times(self, v: Floats) -> Floats:
        """Return Hv by the two-loop recursion, with ``H₀ = (sᵀy / yᵀy) I`` of the newest pair."""
        q, scaled = v.copy(), np.empty_like(v)
        weights = []
        for s, y, sy in reversed(self._pairs):
            weights.append(dot(s, q) / sy)
            q -= np.multiply(y, weights[-1], out=scaled)
        _, y, sy = self._pairs[-1]
        q *= sy / dot(y, y)
        for (s, y, sy), a in zip(self._pairs, reversed(weights), strict=True):
            q += np.multiply(s, a - dot(y, q) / sy, out=scaled)
        return q


def dot(a: Floats, b: Floats) -> float:
    """Return a·b on one thread: BLAS would start its own, and its sums would depend on them."""
    return float(np.einsum("i,i->", a, b))
