"""From a direction to a point: the line search, in the precision that the run works in.

That is single precision while it leads on, double precision for what is proved and returned.

Near the end a step gains less than the loss's rounding in single precision. Such a step cannot be
judged by the objective, but its derivatives have many more digits to go: those at both ends tell
the gain by the trapezoidal rule, as in the approximate Wolfe conditions (Hager and Zhang 2005). So
most of the last iterations, too, are made at the price of single precision; double precision proves
the result, and goes on where these derivatives lead no further.

So it is with a function whose values are noisy, being computed in single precision for instance;
how noisy, the trials of a search that found nothing tell (``line_search.Misses``).
"""

from __future__ import annotations

import math
from typing import final

from proxqn.problem.abilities import Precisions
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.solvers import line_search
from proxqn.solvers.line_search import ROUNDING as ROUNDING_OF_SUMS
from proxqn.solvers.line_search import Armijo, Arrival, Misses, Step
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet


@final
class Precision:
    """An oracle in the precision that a run works in now.

    Parameters
    ----------
    single : bool
        Begin in single precision, where the oracle can.
    """

    def __init__(self, oracle: Oracle, *, single: bool) -> None:
        self._exact = oracle
        rounded = oracle.rounded() if single and isinstance(oracle, Precisions) else None
        self.oracle: Oracle = rounded or oracle

    @property
    def single(self) -> bool:
        """Whether it is single precision."""
        return self.oracle is not self._exact

    def refine(self, standing: Standing) -> Point | None:
        """Go to the iterate in double precision; None where the run is there already."""
        if not self.single:
            return None
        self.oracle = self._exact
        point = self.oracle.at(standing.iterate.weights)
        standing.refined(point.value)
        return point


@final
class Search:
    """The live point of a run, and the way to the next.

    Attributes
    ----------
    point : Point
        At the iterate.
    noise : float
        Of the loss's values, as trials told it; 0 while none has.
    """

    def __init__(
        self, point: Point, standing: Standing, precision: Precision, rule: Armijo
    ) -> None:
        self.point, self.noise = point, 0.0
        self._standing, self._precision, self._rule = standing, precision, rule
        self._floats = FloatSearch(standing, rule)

    def along(self, at: WorkingSet, d: Floats) -> Arrival | None:
        """Go along d to where f falls enough; None where it does not."""
        slope = line_search.expected_change(at, d)
        if not slope < 0.0:
            return None
        blurred = self._precision.single or self.noise > 0.0
        if blurred and self._floats.concerns(slope, self.noise):
            return self._by_derivatives(at, d, slope)
        line, misses = self.point.along(SparseVector(at.coordinates, d).nonzero()), Misses()
        objective = self._standing.iterate.objective
        step = line_search.search(line, at, d, objective, slope, self._rule, misses)
        if step is None:
            noise = _ROOM * misses.noise
            least = max(self.noise, _ROOM * ROUNDING_OF_SUMS * abs(objective))
            if not least < noise < _MOST * abs(objective):
                return None
            self.noise = noise
            return self._by_derivatives(at, d, slope)
        self.point = line.accept(step.alpha)
        return Arrival(step, self.point, self.point.gradient(at.coordinates))

    def _by_derivatives(self, at: WorkingSet, d: Floats, slope: float) -> Arrival | None:
        arrival, self.point = self._floats.search(self.point, at, d, slope, self.noise)
        return arrival

    def refine(self, at: WorkingSet) -> WorkingSet | None:
        """Go on in double precision, with derivatives of that; None where it does already."""
        point = self._precision.refine(self._standing)
        if point is None:
            return None
        self.point = point
        return at.moved(at.w, point.gradient(at.coordinates))

    def come_back(self) -> None:
        """Make the point anew, after a look elsewhere."""
        self.point = self._precision.oracle.at(self._standing.iterate.weights)


_BLUR = 1e-6  # of the objective, with room: its rounding on text; less elsewhere
_LEAST = 1e-6  # of that: a step that promises less is for double precision
_ROOM = 4.0  # times the typical noise
_MOST = 0.01  # of the objective: what is off by more is steep, not noisy
_TRIALS = 8
_STEPS = 64  # at most, until one promises half as much


@final
class FloatSearch:
    """The search for steps that gain less than single precision can tell, and whether it pays."""

    def __init__(self, standing: Standing, rule: Armijo) -> None:
        self._standing, self._rule = standing, rule
        self._promise, self._since = math.inf, 0

    def concerns(self, slope: float, noise: float = 0.0) -> bool:
        """Whether a direction with this Δ promises no more than the rounding, or the noise."""
        return slope >= -self._blur(noise)

    def _blur(self, noise: float) -> float:
        return noise or _BLUR * abs(self._standing.iterate.objective)

    def search(
        self, point: Point, at: WorkingSet, d: Floats, slope: float, noise: float = 0.0
    ) -> tuple[Arrival | None, Point]:
        """Go along d. A trial is gone to before its derivatives are known.

        Returns
        -------
        tuple
            Where a step led, None if no trial would do; and a live point, there or at the iterate.
        """
        blur = self._blur(noise)
        if self._in_vain(-slope, blur):
            return None, point
        now, alpha, gone = self._standing.iterate, 1.0, 0.0
        for trial in range(1, _TRIALS + 1):
            s = alpha * d
            line = point.along(SparseVector(at.coordinates, (alpha - gone) * d).nonzero())
            value = line.value(1.0)
            rise = value + at.penalty.value(at.w + s) - now.objective
            if rise <= blur:
                point, gone = line.accept(1.0), alpha
                g = point.gradient(at.coordinates)
                losses = 0.5 * (at.g + g) * s
                change = float((losses + at.penalty.change(at.w, s)).sum())
                if change <= self._rule.sigma * alpha * slope:
                    # In single precision the sums are closer; of noise nothing may add up.
                    told = now.loss + float(losses.sum()), now.objective + change
                    seen = value, now.objective + rise
                    step = Step(alpha, *(seen if noise else told), trial)
                    return Arrival(step, point, g), point
            alpha *= self._rule.beta
        if gone:
            line = point.along(SparseVector(at.coordinates, -gone * d).nonzero())
            line.value(1.0)
            point = line.accept(1.0)
        return None, point

    def _in_vain(self, promise: float, blur: float) -> bool:
        """Whether only rounding may be left."""
        iteration = self._standing.record.iteration
        if promise < 0.5 * self._promise:
            self._promise, self._since = promise, iteration
        slow = iteration - self._since > _STEPS
        return slow or promise < _LEAST * blur
