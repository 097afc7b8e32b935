"""The curvature of the loss along a direction, from one forward pass."""

from __future__ import annotations

import math

import numpy as np

from proxqn.problem.oracle import Point
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.solvers.working_set import WorkingSet


def measure(point: Point, at: WorkingSet, diagonal: Floats | float = 1.0) -> float:
    """Return ``dᵀHd/dᵀDd`` along the first proximal step d; 1 where that is not a positive number.

    A first step of the right length saves the many trials that a start from 1 takes. The probe is
    short enough that ℓ, to first order, falls by a tenth. The trial may leave nothing of the
    point's derivatives: they are those of the working set.
    """
    d = at.penalty.prox(at.w - at.g / diagonal, diagonal) - at.w
    with np.errstate(over="ignore"):
        slope, square = float((at.g * d).sum()), float((d * d * diagonal).sum())
    probe = 0.1 * max(abs(point.value), 1e-3) / -slope if slope < 0.0 else 0.0
    if not (probe > 0.0 and square > 0.0):  # 0 too where the slope is out of range
        return 1.0
    line = point.along(SparseVector(at.coordinates, probe * d).nonzero())
    rise = line.value(1.0) - point.value - probe * slope
    curvature = 2.0 * rise / probe / probe / square
    return curvature if 0.0 < curvature < math.inf else 1.0
