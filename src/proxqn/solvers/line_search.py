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

from proxqn.problem import Floats, Oracle, Penalty

_ROUNDING = 8 * np.finfo(float).eps  # relative error of a sum of losses, with room


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


def search(
    oracle: Oracle,
    penalty: Penalty,
    w: Floats,
    d: Floats,
    objective: float,
    slope: float,
    rule: Armijo,
) -> Step | None:
    """Find a step along d, for which ``oracle.move`` has been called; None if no trial will do.

    Parameters
    ----------
    objective : float
        f(w).
    slope : float
        Δ.
    """
    rounding = _ROUNDING * abs(objective)
    blind = -rule.sigma * slope <= rounding
    alpha = 1.0
    for trial in range(1, rule.max_trials + 1):
        if -alpha * slope <= rounding and not blind:
            break  # too short to tell, and all longer steps went wrong: d does not descend
        loss = oracle.value_at(alpha)
        value = loss + penalty.value(w + alpha * d)
        needed = -alpha * rule.sigma * slope
        allowed = -needed if needed > rounding else rounding
        if math.isfinite(value) and value <= objective + allowed:
            return Step(alpha, loss, value, trial)
        alpha *= rule.beta
    return None
