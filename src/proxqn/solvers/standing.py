"""How a run stands: its iterate, what is proved of it, and whether that is enough.

Every solver tells a :class:`Standing` of each accepted iterate; it keeps the trace, certifies from
a full gradient, and knows when to stop. So the same problem solved by different methods yields rows
that mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import Oracle, Point, SpentPointError
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector
from proxqn.run.record import Record
from proxqn.run.status import Status
from proxqn.run.trace import Trace
from proxqn.run.watch import Callback
from proxqn.solvers.certificate import bound, box
from proxqn.solvers.certificate.bound import Certificate
from proxqn.solvers.curvature.memory import Memory
from proxqn.solvers.working_set import WorkingSet, gather


@final
@dataclass(frozen=True)
class Iterate:
    """Accepted weights. Replaced whole, so that an interrupt never sees half of one."""

    weights: SparseVector
    loss: float
    objective: float


@final
@dataclass(frozen=True)
class Solution:
    """What a solver returns, whatever made it stop."""

    weights: SparseVector
    objective: float
    gap: float
    kkt: float
    status: Status
    trace: Trace
    estimate: float = math.inf  # of what is left to gain; infinite where none was made
    box: float = math.inf  # among weights up to this size, which is only assumed,
    gap_box: float = math.inf  # so much is left to gain at most
    memory: Memory | None = None  # for another run on the same loss
    convex: bool = True  # as far as the loss says and steps have shown
    rescaled: bool = False  # whether kkt is of columns that were brought to one size


Stop = Literal["estimate", "gap"]


@final
@dataclass(frozen=True)
class Goal:
    """When to stop, and who is told on the way."""

    tol: float
    max_iter: int
    callback: Callback | None = None
    stop: Stop = "gap"  # what is to be within tol: what is proved, or also what is estimated


# Statuses that end a run between two calls of `consult`: the callback has yet to see the last row.
_UNSEEN = (
    Status.GAP,
    Status.ESTIMATE,
    Status.KKT,
    Status.UNPENALISED,
    Status.STATIONARY,
    Status.STALLED,
    Status.NOISE,
    Status.NOT_FINITE,
)


_BENT, _BENT_AT_LEAST = 0.1, 1e-5  # of the change of the loss; of the objective
_PROBE, _TANGENT = 0.01, 1e-6  # of a weight, or of 1; of the values, with room for rounding
_MOST_PROBED = 100_000  # coordinates
_ROUNDING = 2.0**-51  # of the objective: in taking the gap from it
_ENDLESS = -1e100  # an objective below has no end in sight: squares are soon out of range


@final
class Standing:
    """How one run stands.

    Parameters
    ----------
    oracle : Oracle
        ℓ. ``standing.oracle`` is the same, metered; ``standing.unmetered`` the one given.
    within : Standing, optional
        Of the run that this one is a part of: the oracle is its metered one, restricted,
        and all it takes counts there.
    """

    def __init__(
        self, oracle: Oracle, penalty: Penalty, goal: Goal, within: Standing | None = None
    ) -> None:
        self.calls: Calls = Calls() if within is None else within.calls
        self.unmetered, self.penalty = oracle, penalty
        self.oracle = metered(oracle, self.calls) if within is None else oracle
        clock = None if within is None else within.record.clock
        self.record: Record = Record(self.calls, goal.callback, clock)
        self.iterate = Iterate(SparseVector.empty(), math.inf, math.inf)
        self.certificate = Certificate(-math.inf, math.inf)  # the best bound, the latest residual
        self._looked: tuple[Point, WorkingSet] | None = None  # by the last look, while it lasts
        self._proved = -math.inf  # the best bound less all that rounding may have done
        self.rounded = False  # whether the loss is one in single precision now
        self.bent_down = False  # whether a step has shown that the loss is not convex
        self._goal = goal
        self._estimate = math.inf, -1  # and the iteration that it is about

    def part(self, oracle: Oracle) -> Standing:
        """Return the standing of a run on an oracle of ours, restricted, that counts here."""
        return Standing(oracle, self.penalty, replace(self._goal, callback=None), within=self)

    @property
    def gap(self) -> float:
        """What is left to gain at most: any lower bound found so far still holds."""
        return max(self.iterate.objective - self.certificate.bound, 0.0)

    @property
    def certain_gap(self) -> float:
        """The same, whatever rounding did: the objective less this is below the optimum."""
        objective = self.iterate.objective
        room = _ROUNDING * abs(objective)
        return max(objective - self._proved + room, 0.0)

    @property
    def estimate(self) -> float:
        """What is left to gain as a model tells it; infinite where none told it here.

        No more than is proved.
        """
        found, iteration = self._estimate
        told = iteration == self.record.iteration and math.isfinite(found)
        return min(found, self.gap) if told else math.inf

    @property
    def convex(self) -> bool:
        """Whether the loss is convex, as far as it says and steps have shown."""
        return self.oracle.convex and not self.bent_down

    def note_curvature(self, sy: float, fall: float) -> None:
        """See whether a step met curvature below zero, beyond all rounding: no bound holds then."""
        if sy < -_BENT * abs(fall) and abs(fall) > _BENT_AT_LEAST * abs(self.iterate.objective):
            self.bent_down = True
            self.certificate = replace(self.certificate, bound=-math.inf)
            self._proved = -math.inf

    def probe_convexity(self, point: Point) -> None:
        """See whether the loss lies above its tangent plane next to a start that seems optimal.

        A run that makes a step sees how the loss is curved; one that makes none would call the top
        of a hill the optimum. One forward pass.
        """
        if self.oracle.n_coordinates > _MOST_PROBED:
            return
        everywhere = np.arange(self.oracle.n_coordinates)
        z = _PROBE * np.maximum(1.0, np.abs(self.iterate.weights.on(everywhere)))
        plane = float((point.gradient(everywhere) * z).sum())
        value = point.along(SparseVector(everywhere, z)).value(1.0)
        room = _TANGENT * (abs(value) + abs(point.value) + abs(plane))
        self.bent_down = value - point.value - plane < -room

    @property
    def by_estimate(self) -> bool:
        """Whether an estimate may end the run."""
        return self._goal.stop == "estimate" and self.convex

    @property
    def enough(self) -> float:
        """A lower bound on the optimum that would end the run; or an estimate of it."""
        objective = self.iterate.objective
        return objective - self._goal.tol * abs(objective)

    def begin(self, weights: SparseVector, oracle: Oracle | None = None) -> Point | None:
        """Evaluate and record the starting point; None if ℓ is not finite there."""
        weights = weights.nonzero()
        point = (oracle or self.oracle).at(weights)
        objective = point.value + self.penalty.value(weights)
        self.iterate = Iterate(weights, point.value, objective)
        if not math.isfinite(objective):
            return None
        self._append()
        return point

    def advance(self, iterate: Iterate, **facts: Any) -> None:
        """Record an accepted iterate as the next row."""
        self.iterate = iterate
        self._looked = None
        self.record.iteration += 1
        self._append(**facts)

    def look(
        self, point: Point, weights: SparseVector, margin: float = 0.0
    ) -> tuple[WorkingSet, Status | None]:
        """Sweep over all variables, and certify with what was found.

        Parameters
        ----------
        weights : SparseVector
            Those of the point. It may be another than the iterate (FISTA looks at its
            extrapolation): a lower bound on the optimum holds wherever it was found.
        margin : float
            Take in also what is below λ by less than this.
        """
        at, largest = gather(point, self.penalty, weights, margin)
        if not math.isfinite(largest):
            return at, Status.NOT_FINITE
        return at, self.certify(point, at)

    def certify(self, point: Point, at: WorkingSet) -> Status | None:
        """Enter what a full gradient proves into the last row; a status if that is enough."""
        here = bound.certify(point, at, convex=self.convex)
        found, priced = here.bound, self.convex and bool(at.penalty.priced(at.g).any())
        if priced:
            found = max(found, box.best_bound(point, at))
        if found > -math.inf:
            self._prove(point, at, priced=priced)
        found = max(found, self.certificate.bound)
        self.certificate, self._looked = replace(here, bound=found), (point, at)
        self.amend(kkt=here.kkt, certified=True, working_set=len(at))
        return self.reached(self.certificate)

    def _prove(self, point: Point, at: WorkingSet, *, priced: bool) -> None:
        """Keep what is certain of a bound. Steps and stops go by what was computed."""
        if self.rounded:  # single precision shows the way
            return
        certain = bound.rounded_down(point, at, self.penalty)
        if priced:
            certain = max(certain, box.best_bound(point, at, self.penalty))
        self._proved = max(self._proved, certain)

    def admit(self, point: Point, at: WorkingSet) -> Status | None:
        """Enter what the full gradient at another point proves; that of a look is spent."""
        here = bound.certify(point, at, convex=self.convex)
        if here.bound > self.certificate.bound:
            self._prove(point, at, priced=False)
        return self.admit_bound(here.bound)

    def admit_bound(self, lower_bound: float) -> Status | None:
        """Enter a lower bound on the optimum, to go by; that of a look is spent."""
        best = max(lower_bound, self.certificate.bound)
        self._looked = None
        self.certificate = replace(self.certificate, bound=best)
        self.amend()
        return self.reached(self.certificate)

    def admit_estimate(self, estimate: float) -> Status | None:
        """Enter what a model tells of the distance to the optimum into the last row."""
        self._estimate = estimate, self.record.iteration
        self.amend(estimate=self.estimate)
        ends = self.iterate.objective - self.estimate >= self.enough
        return Status.ESTIMATE if ends and self.by_estimate else None

    def would_end(self, point: Point, at: WorkingSet) -> bool:
        """Whether the run would end if no variable outside the working set were violated."""
        proving = math.isfinite(self.certificate.bound)
        if proving and bound.most_provable(point.value, at) < self.enough:
            return False
        return self.reached(bound.certify(point, at, convex=self.convex)) is not None

    def reached(self, certificate: Certificate) -> Status | None:
        """Return the status to stop with, or None to go on."""
        return bound.reached(certificate, self.iterate.objective, self.penalty, self._goal.tol)

    def refined(self, loss: float) -> None:
        """Go on with the exact loss: what a rounded one told has shown the way, and is no proof."""
        now = self.iterate
        self.iterate = replace(now, loss=loss, objective=now.objective - now.loss + loss)
        self.certificate = replace(self.certificate, bound=-math.inf)
        self._looked = None
        self.rounded = False

    def amend(self, **facts: Any) -> None:
        """Bring the last row up to date."""
        objective, nnz = self.iterate.objective, len(self.iterate.weights.values)
        self.record.amend(objective=objective, nnz=nnz, gap=self.gap, **facts)

    def measure(self, weights: SparseVector, **facts: Any) -> Status | None:
        """Record and certify an iterate found without the oracle; neither timed nor counted.

        Raises
        ------
        FloatingPointError
            If the objective is not finite there.
        """
        with self.record.clock.evaluation():
            point = self.unmetered.at(weights)
            objective = point.value + self.penalty.value(weights)
            if not math.isfinite(objective):
                raise FloatingPointError(f"the objective is {objective} at the new iterate.")
            at, _ = gather(point, self.penalty, weights)
        self.advance(Iterate(weights, point.value, objective), **facts)
        return self.certify(point, at)

    def consult(self) -> Status | None:
        """Show the callback the last row, which no sweep will change any more; count iterations."""
        if self.record.show(self.iterate.weights):
            return Status.CALLBACK
        if self.iterate.objective < _ENDLESS:
            return Status.UNBOUNDED
        return Status.MAX_ITER if self.record.iteration >= self._goal.max_iter else None

    def solution(self, solve: Callable[[SparseVector], Status], start: SparseVector) -> Solution:
        """Run the solver and return its result; Ctrl-C ends it at the last accepted iterate."""
        try:
            status = solve(start)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if not len(self.record.trace):  # not even the starting point has been evaluated
                self.begin(start)
        if len(self.record.trace) and status in _UNSEEN:
            self.record.show(self.iterate.weights)
        done = self.iterate
        return Solution(
            done.weights,
            done.objective,
            self.certain_gap,
            self.certificate.kkt,
            status,
            self.record.trace,
            self.estimate if self.estimate < self.gap else self.certain_gap,
            *self._among(),
            convex=self.convex,
        )

    def _among(self) -> tuple[float, float]:
        """Return up to which size weights are compared with, and the gap among them.

        Infinite, and the gap, where what is proved of all weights is as good, or where the run
        ended on its way from the last look: it takes as long as several proofs.
        """
        found = None
        if self._looked is not None and self.convex and not self.rounded:
            with suppress(SpentPointError):  # by a trial that was not accepted
                point, at = self._looked
                unit = self.penalty.unit(at.coordinates)
                found = box.assumed(point, at, unit, self.penalty)
        if found is None or found.bound <= self.certificate.bound:
            return math.inf, self.certain_gap
        return found.largest, max(self.iterate.objective - found.bound, 0.0)

    def _append(self, **facts: Any) -> None:
        now = self.iterate
        self.record.append(
            objective=now.objective, gap=self.gap, nnz=len(now.weights.values), **facts
        )
