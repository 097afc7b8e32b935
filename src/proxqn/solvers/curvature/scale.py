"""The curvature of the loss along a direction, from one forward pass."""

from __future__ import annotations

import math

from proxqn.problem import Floats, Oracle, Penalty, SparseVector
from proxqn.solvers.working_set import WorkingSet


def measure(
    oracle: Oracle,
    penalty: Penalty,
    at: WorkingSet,
    loss: float,
    diagonal: Floats | float = 1.0,
) -> float:
    """Return ``dᵀHd/dᵀDd`` along the first proximal step d; 1 where that is not a positive number.

    A first step of the right length saves the many trials that a start from 1 takes. The probe is
    short enough that ℓ, to first order, falls by a tenth. The oracle stays at its point, but its
    next call must be ``move``.
    """
    d = penalty.prox(at.w - at.g / diagonal, diagonal) - at.w
    slope, square = float((at.g * d).sum()), float((d * d * diagonal).sum())
    if not (slope < 0.0 and square > 0.0):
        return 1.0
    probe = 0.1 * max(abs(loss), 1e-3) / -slope
    oracle.move(SparseVector(at.coordinates, probe * d).nonzero())
    curvature = 2.0 * (oracle.value_at(1.0) - loss - probe * slope) / probe / probe / square
    return curvature if 0.0 < curvature < math.inf else 1.0
