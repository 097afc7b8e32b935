"""Backtracking line search with the paper's Armijo rule: one forward pass a trial.

``f(w + αd) ≤ f(w) + ασΔ`` with ``Δ = gᵀd + Ω(w + d) - Ω(w)``, which is negative for any direction
that lowers the model. Near the optimum Δ falls below the rounding error of f, and the comparison
means nothing any more: there a step is taken as long as f does not rise by more than that error.
Where Δ was larger, a step so short that f cannot tell it from none is not taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Line, Point
from proxqn.problem.sparse import Floats
from proxqn.solvers.working_set import WorkingSet

ROUNDING = 8 * float(np.finfo(float).eps)  # relative error of a sum of losses, with room


@final
@dataclass(frozen=True)
class Armijo:
    """Settings: trial steps 1, β, β², …, at most ``max_trials`` of them."""

    beta: float = 0.5
    sigma: float = 0.01
    max_trials: int = 40


@final
@dataclass(frozen=True)
class Step:
    """An accepted trial."""

    alpha: float
    loss: float
    objective: float
    trials: int


@final
@dataclass(frozen=True)
class Arrival:
    """An accepted step, the point it led to, and the derivatives there on the working set."""

    step: Step
    point: Point
    g: Floats


def expected_change(at: WorkingSet, d: Floats) -> float:
    """Return Δ. Summed by coordinate: near the optimum it is far below the rounding of Ω(w)."""
    return float((at.g * d + at.penalty.change(at.w, d)).sum())


def search(
    line: Line, at: WorkingSet, d: Floats, objective: float, slope: float, rule: Armijo
) -> Step | None:
    """Find a step along d; None if no trial will do.

    Parameters
    ----------
    line : Line
        From the working set's point along d.
    objective : float
        f(w).
    slope : float
        Δ.
    """
    rounding = ROUNDING * abs(objective)
    blind = -rule.sigma * slope <= rounding
    alpha = 1.0
    for trial in range(1, rule.max_trials + 1):
        if -alpha * slope <= rounding and not blind:
            break  # too short to tell, and all longer steps went wrong: d does not descend
        loss = line.value(alpha)
        value = loss + at.penalty.value(at.w + alpha * d)
        needed = -alpha * rule.sigma * slope
        allowed = -needed if needed > rounding else rounding
        if math.isfinite(value) and value <= objective + allowed:
            return Step(alpha, loss, value, trial)
        alpha *= rule.beta
    return None
