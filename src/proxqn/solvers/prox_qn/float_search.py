"""Steps that gain less than the loss's rounding in single precision.

Such a step cannot be judged by the objective, but its derivatives have many more digits to go:
those at both ends tell the gain by the trapezoidal rule, as in the approximate Wolfe conditions
(Hager and Zhang 2005). So most of the last iterations, too, are made at the price of single
precision; double precision proves the result, and goes on where these derivatives lead no further.
"""

from __future__ import annotations

import math
from typing import final

from proxqn.problem import Floats, SparseVector
from proxqn.solvers.line_search import Armijo, Step
from proxqn.solvers.recording import Recorder
from proxqn.solvers.working_set import WorkingSet

_ROUNDING = 1e-6  # of the objective, with room: on text; less elsewhere
_LEAST = 1e-12  # of the objective: a step that promises less is for double precision
_TRIALS = 8
_STEPS = 64  # at most, until one promises half as much


@final
class UnseenSteps:
    """The search for such steps, and whether they get anywhere."""

    def __init__(self) -> None:
        self._promise, self._since = math.inf, 0

    def concern(self, record: Recorder, slope: float) -> bool:
        """Whether a direction with this Δ promises no more than the rounding."""
        return record.oracle.single and slope >= -_ROUNDING * record.point.objective

    def search(
        self, record: Recorder, at: WorkingSet, d: Floats, slope: float, rule: Armijo
    ) -> tuple[Step, Floats] | None:
        """Go along d, for which ``oracle.move`` has been called; the derivatives there as well.

        A trial is gone to before they are known; with None the oracle is back at the iterate.
        """
        if self._in_vain(record, -slope):
            return None
        oracle, penalty, point = record.oracle, record.penalty, record.point
        alpha, gone = 1.0, 0.0
        for trial in range(1, _TRIALS + 1):
            s = alpha * d
            rise = oracle.value_at(1.0) + penalty.value(at.w + s) - point.objective
            if rise <= _ROUNDING * point.objective:
                oracle.accept(1.0)
                gone = alpha
                g = oracle.gradient(at.coordinates)
                losses = 0.5 * (at.g + g) * s
                change = float((losses + penalty.change(at.w, s)).sum())
                if change <= rule.sigma * alpha * slope:
                    loss = point.loss + float(losses.sum())
                    return Step(alpha, loss, point.objective + change, trial), g
            alpha *= rule.beta
            oracle.move(SparseVector(at.coordinates, (alpha - gone) * d).nonzero())
        if gone:
            oracle.move(SparseVector(at.coordinates, -gone * d).nonzero())
            oracle.value_at(1.0)
            oracle.accept(1.0)
        return None

    def _in_vain(self, record: Recorder, promise: float) -> bool:
        """Whether only rounding may be left."""
        if promise < 0.5 * self._promise:
            self._promise, self._since = promise, record.iteration
        slow = record.iteration - self._since > _STEPS
        return slow or promise < _LEAST * record.point.objective
