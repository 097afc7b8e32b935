"""The inner problem: the direction that minimises the regularised quadratic model.

``d = argmin gᵀd + dᵀBd/2 + Ω(w + d)`` over the working set, by randomised coordinate descent with
the paper's running vector ``d̂`` (``cpp/subproblem.hpp`` has the formulas). No inference.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem import Floats, Penalty
from proxqn.solvers.curvature.pairs import CompactBFGS


@final
@dataclass(frozen=True)
class Direction:
    """A step on the working set and the passes of coordinate descent it took."""

    d: Floats
    passes: float


def solve(
    model: CompactBFGS,
    w: Floats,
    g: Floats,
    penalty: Penalty,
    *,
    max_passes: int,
    tolerance: float,
    seed: int,
    kernels: ModuleType = _kernels,
) -> Direction | None:
    """Return the direction, or None where B's diagonal is not positive.

    Parameters
    ----------
    max_passes : int
        Passes over the working set.
    tolerance : float
        Stop once a full pass moves no coordinate's model gradient by more; 0 makes all passes.
    """
    factors = model.factors()
    if factors is None:
        return None
    d = np.zeros_like(w)
    passes = kernels.coordinate_descent(
        w,
        g,
        factors.rows,
        factors.n_pairs,
        factors.base,
        factors.diagonal,
        penalty.lam,
        penalty.l2,
        max_passes,
        tolerance,
        seed,
        d,
    )
    return Direction(d, passes)
