"""The best scale of a dual point, and what is proved if weights have bounds.

``D(s) = -ℓ*(s g) - Ω*(-s g)`` is concave in s. Without ridge and bounds a single violator decides,
as all must be scaled away; where violators have a price (``bound.py``), the best s lies between
paying for all of them and for none.

Bounds ``|w_j| ≤ B`` give every violator a price: B times its own excess. Where B is a constraint of
the problem that is a proof like any other. Where it is only assumed, here as twice the largest
weight found, it compares with weights up to B alone, and is kept apart from what is proved of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from proxqn.problem.oracle import Point
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats
from proxqn.solvers.certificate.bound import Safe, allow_for_rounding, largest_scale
from proxqn.solvers.working_set import WorkingSet

_ROOM = 2.0  # times the largest weight found
_STEPS = 16  # of the search
_ONE = np.ones(1)
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@final
@dataclass(frozen=True)
class Boxed:
    """A lower bound on the objective of all weights up to a size, which is only assumed."""

    bound: float
    largest: float


def assumed(
    point: Point, at: WorkingSet, unit: Floats = _ONE, penalty: Penalty | None = None
) -> Boxed | None:
    """Return what is proved if no weight of the optimum is larger than twice the largest here.

    Parameters
    ----------
    at : WorkingSet
        All nonzero weights and all variables whose derivative exceeds their λ.
    unit : array
        Of its coordinates, ``Penalty.unit``: the size is that of weights.
    penalty : Penalty, optional
        Of all variables: to round the bound down.
    """
    largest = _ROOM * float(np.abs(at.w / unit).max(initial=0.0))
    if largest == 0.0:
        return None
    local, box = at.penalty, largest * unit
    bounds = np.maximum(local.lower, -box), np.minimum(local.upper, box)
    boxed = replace(at, penalty=Local(local.lam, local.l2, *bounds))
    found = best_bound(point, boxed, penalty)
    return Boxed(found, largest) if math.isfinite(found) else None


def best_bound(point: Point, at: WorkingSet, penalty: Penalty | None = None) -> float:
    """Return the largest dual value of the point's derivatives, whatever their scale.

    With the penalty of all variables it is rounded down.
    """
    safe = Safe(point, at, 1.0) if penalty is None else allow_for_rounding(point, at, penalty)
    at, allowed = safe.at, penalty is not None
    low = largest_scale(at.penalty, at.g)
    high = largest_scale(at.penalty, at.g, ~at.penalty.priced(at.g))

    def dual(s: float) -> float:
        if allowed:
            return safe.dual(s * safe.share)
        conjugate = point.conjugate(s) if s > 0.0 else None
        return -math.inf if conjugate is None else -conjugate - at.penalty.conjugate(s * at.g)

    ends = dual(low), dual(high)
    if not low < high or max(ends) == -math.inf:
        return max(ends)
    best, width = max(ends), high - low
    left, right = high - _GOLDEN * width, low + _GOLDEN * width
    at_left, at_right = dual(left), dual(right)
    for _ in range(_STEPS):
        best = max(best, at_left, at_right)
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = dual(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = dual(right)
    return best
