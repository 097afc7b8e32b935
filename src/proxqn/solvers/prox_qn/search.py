"""From a direction to a point: the line search, in the precision that the run works in."""

from __future__ import annotations

from typing import final

from proxqn.problem.oracle import Point
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.solvers import line_search
from proxqn.solvers.line_search import Armijo, Arrival
from proxqn.solvers.prox_qn.float_search import FloatSearch
from proxqn.solvers.prox_qn.precision import Precision
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet


@final
class Search:
    """The live point of a run, and the way to the next.

    Attributes
    ----------
    point : Point
        At the iterate.
    """

    def __init__(
        self, point: Point, standing: Standing, precision: Precision, rule: Armijo
    ) -> None:
        self.point = point
        self._standing, self._precision, self._rule = standing, precision, rule
        self._floats = FloatSearch(standing, rule)

    def along(self, at: WorkingSet, d: Floats) -> Arrival | None:
        """Go along d to where f falls enough; None where it does not."""
        slope = line_search.expected_change(at, d)
        if not slope < 0.0:
            return None
        if self._precision.single and self._floats.concerns(slope):
            arrival, self.point = self._floats.search(self.point, at, d, slope)
            return arrival
        line = self.point.along(SparseVector(at.coordinates, d).nonzero())
        objective = self._standing.iterate.objective
        step = line_search.search(line, at, d, objective, slope, self._rule)
        if step is None:
            return None
        self.point = line.accept(step.alpha)
        return Arrival(step, self.point, self.point.gradient(at.coordinates))

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
