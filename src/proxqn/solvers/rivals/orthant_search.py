"""The line search of OWL-QN: along the path of projections onto an orthant.

Trials are ``w(α) = π(w + αp; ξ)`` until ``f(w(α)) ≤ f(w) + σ ◇f·(w(α) - w)``. The decrease asked
for is that of the projected step, which is never positive; asking for that of ``αp`` may demand
what the projected step cannot give. A weight without a λ has no kink at zero, and may cross it.

The first α is 1 in Andrew and Gao's program and in libLBFGS. With m = 10 pairs, gathered in several
orthants, the direction is often too long: on OCR three in ten unit steps are refused between a
relative error of 4·10⁻³ and 10⁻³ (with m = 5 hardly any). Each trial tells, by the parabola through
its value, how long the step should have been; the first α is a running mean of that, at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Line, Point
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.solvers.line_search import ROUNDING
from proxqn.solvers.rivals.inverse_bfgs import dot
from proxqn.solvers.working_set import WorkingSet

_MIN_REACH, _MAX_ASIDE = 0.25, 2.0  # smallest first α; most that one search can say about it
_MIN_FACTOR = 0.2  # of beta: the shortest next trial


@final
@dataclass(frozen=True)
class Trial:
    """An accepted trial: the end of a line of its own."""

    line: Line
    w: Floats
    loss: float
    objective: float
    alpha: float
    trials: int


@final
class OrthantSearch:
    """Backtracking with a first trial as long as the steps that were good.

    Parameters
    ----------
    sigma, beta, max_trials
        As in :class:`~proxqn.solvers.rivals.owl_qn.OWLQN`.
    """

    def __init__(self, sigma: float, beta: float, max_trials: int) -> None:
        self._sigma, self._beta, self._max_trials = sigma, beta, max_trials
        self._reach = 1.0  # the first α

    def begin_anew(self) -> None:
        """Forget how long steps should be."""
        self._reach = 1.0

    def along(
        self, point: Point, at: WorkingSet, pseudo: Floats, p: Floats, objective: float
    ) -> Trial | None:
        """Backtrack along the projected path. Each trial is a point of its own, so it is a line."""
        orthant = np.where(at.w != 0.0, np.sign(at.w), -np.sign(pseudo))
        kinked = at.penalty.lam > 0.0
        rounding = ROUNDING * abs(objective)
        alpha = self._reach
        for trial in range(1, self._max_trials + 1):
            w = at.w + alpha * p
            w[(w * orthant <= 0.0) & kinked] = 0.0
            d = w - at.w
            line = point.along(SparseVector(at.coordinates, d).nonzero())
            loss = line.value(1.0)
            value = loss + at.penalty.value(w)
            slope = dot(pseudo, d)
            needed = -self._sigma * slope
            allowed = -needed if needed > rounding else rounding
            should = lowest(slope, value - objective)  # as a multiple of this α
            if d.any() and math.isfinite(value) and value <= objective + allowed:
                reach = math.sqrt(self._reach * min(alpha * should, _MAX_ASIDE))
                self._reach = min(max(reach, _MIN_REACH), 1.0)
                return Trial(line, w, loss, value, alpha, trial)
            alpha *= self._beta * min(max(should / self._beta, _MIN_FACTOR), 1.0)
        return None


def lowest(slope: float, change: float) -> float:
    """Return where ``slope·t + bend·t²`` is lowest, given its value ``change`` at t = 1.

    Examples
    --------
    >>> lowest(-2.0, -1.0), lowest(-1.0, -1.5)
    (1.0, inf)
    """
    bend = change - slope
    if not math.isfinite(bend):
        return 0.0
    return -slope / (2.0 * bend) if bend > 0.0 else math.inf
