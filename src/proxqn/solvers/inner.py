"""The inner problem: the direction that minimises the regularised quadratic model.

``d = argmin gᵀd + dᵀBd/2 + Ω(w + d)`` over the working set, by randomised coordinate descent with
the paper's running vector ``d̂`` (``cpp/inner/compact_bfgs.hpp`` has the formulas). No inference.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem.sparse import Floats
from proxqn.solvers.curvature.pairs import CompactBFGS
from proxqn.solvers.working_set import WorkingSet


@final
@dataclass(frozen=True)
class Direction:
    """A step on the working set and the passes of coordinate descent it took."""

    d: Floats
    passes: float


@final
@dataclass(frozen=True)
class Effort:
    """How closely an inner problem is to be solved.

    ``tolerance`` ends it once a full pass moves no coordinate's model gradient by more; 0 makes all
    passes. ``seed`` is that of the order in which coordinates are visited.
    """

    tolerance: float
    seed: int


def solve(
    model: CompactBFGS,
    at: WorkingSet,
    effort: Effort,
    *,
    max_passes: int,
    kernels: ModuleType = _kernels,
) -> Direction | None:
    """Return the direction, or None where B's diagonal is not positive."""
    factors = model.factors()
    if factors is None:
        return None
    d = np.zeros_like(at.w)
    passes = kernels.coordinate_descent(
        at.w,
        at.g,
        factors.rows,
        factors.n_pairs,
        factors.base,
        factors.diagonal,
        *at.penalty.arrays,
        max_passes,
        effort.tolerance,
        effort.seed,
        d,
    )
    return Direction(d, passes)
