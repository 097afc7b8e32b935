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

_FEW, _STAYS = 4, 0.2  # trials, each a half of the one before: 1/16 if what is off were a slope
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
class Misses:
    """The trials of a search that found nothing: the shortest tell the noise of the loss's values.

    What is off from ``ℓ(w) + α gᵀd`` where α is next to nothing is an error of the values: where
    the loss is curved it falls with α, noise stays what it is. Values rounded to few digits do not
    differ at all there: then the noise is what they should have differed by.
    """

    def __init__(self) -> None:
        self._trials: list[tuple[float, float]] = []  # change of ℓ; as expected

    def note(self, change: float, expected: float) -> None:
        """Take in the next trial, which is shorter."""
        self._trials.append((change, expected))

    @property
    def noise(self) -> float:
        """About how large it is; 0 where none shows."""
        if len(self._trials) < 2 * _FEW or not np.isfinite(self._trials).all():
            return 0.0
        if all(change == 0.0 for change, _ in self._trials[-_FEW:]):
            return max(abs(expected) for change, expected in self._trials if change == 0.0)
        off = [abs(change - expected) for change, expected in self._trials[-2 * _FEW :]]
        level = float(np.median(off[_FEW:]))
        return level if level > _STAYS * float(np.median(off[:_FEW])) else 0.0


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
    line: Line,
    at: WorkingSet,
    d: Floats,
    objective: float,
    slope: float,
    rule: Armijo,
    misses: Misses | None = None,
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
    misses : Misses, optional
        Told of the trials that would not do.
    """
    rounding = ROUNDING * abs(objective)
    blind = -rule.sigma * slope <= rounding
    start, along = objective - at.penalty.value(at.w), float((at.g * d).sum())
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
        if misses is not None:
            change = loss - start
            misses.note(change if abs(change) > rounding else 0.0, alpha * along)
        alpha *= rule.beta
    return None
