"""Proximal quasi-Newton (Zhong, Yen, Dhillon and Ravikumar, NIPS 2014): the loop.

    look at all variables: certificate, working set A         (``certificate``, ``working_set``)
    while the epoch lasts:                                    (``epochs``)
        d = argmin gᵀd + dᵀBd/2 + Ω(w + d) on A               (``curvature``, ``inner``)
        backtrack along d until f falls enough                (``search``)
        w ← w + αd; learn from the step; shrink A

Its ideas beyond the paper are objects in files of their own: the start by stochastic steps or from
a sample (``start``), drawn curvature (``models``), single
precision (``search``), the proof by an average of iterates (``certificate/witness``).
``docs/ablation.md`` says what each is worth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, final

import numpy as np

from proxqn.problem.sparse import SparseVector
from proxqn.problem.units import UnitsFound
from proxqn.run.status import Status
from proxqn.solvers.certificate.witness import RecentIterates
from proxqn.solvers.curvature.memory import DrawExperience, Memory
from proxqn.solvers.curvature.model import Curvature
from proxqn.solvers.estimate import Estimates
from proxqn.solvers.inner import Direction, Effort
from proxqn.solvers.line_search import Arrival
from proxqn.solvers.prox_qn import start as starts
from proxqn.solvers.prox_qn.epochs import Epochs, most_at_first
from proxqn.solvers.prox_qn.leash import Leash
from proxqn.solvers.prox_qn.models import Models
from proxqn.solvers.prox_qn.search import Precision, Search
from proxqn.solvers.standing import Iterate, Standing
from proxqn.solvers.working_set import WorkingSet, starting_point

if TYPE_CHECKING:
    from proxqn.solvers.prox_qn.settings import ProxQN

_WORTH_DROPPING = 0.9  # of the working set, that stays


@final
class Run:
    """One minimisation.

    Parameters
    ----------
    depth : int
        How deep in the warm-up: 0 on all the data.
    found : UnitsFound, optional
        The units of the oracle's variables; which of them have outliers.
    """

    at: WorkingSet
    found: WorkingSet  # by the last look
    curvature: Curvature
    models: Models
    search: Search

    def __init__(
        self,
        settings: ProxQN,
        standing: Standing,
        kernels: ModuleType,
        depth: int = 0,
        found: UnitsFound | None = None,
    ) -> None:
        self.settings, self.standing, self.kernels, self.depth = settings, standing, kernels, depth
        self.oracle, self.record = standing.oracle, standing.record
        self.record.clock.declare("inner", "memory")
        self.epochs = Epochs(settings.cooling)
        self.leash, self._units = Leash(found), found
        self.witness = RecentIterates(standing)
        self.estimates = Estimates(standing, kernels, settings.seed)
        self.ahead: Direction | None = None  # the next one, where it is known
        self.cold = False  # whether it starts from zero with nothing known
        self.violation = math.inf  # M̂

    def solve(self, start: SparseVector, memory: Memory | None = None) -> Status:
        """Run epochs until one of them ends the run."""
        status = self._begin(start.nonzero(), memory)
        while status is None and not (self.depth and self.record.epoch == starts.EPOCHS):
            status = self._look() or self._run_epoch()
        if status in (Status.MAX_ITER, Status.CALLBACK, Status.NOISE):
            found = self._say_what_is_known()
            status = found if status is Status.NOISE and found is not None else status
        if status is Status.KKT and self.record.iteration == 0:
            self.standing.probe_convexity(self.search.point)
            status = status if self.standing.convex else Status.STATIONARY
        return status or Status.MAX_ITER

    def _look(self) -> Status | None:
        """Look at all variables: certificate, new working set, curvature on it."""
        averaged = self._average_would_end()
        if averaged or (self.record.epoch and self.standing.would_end(self.search.point, self.at)):
            self.refine()
        margin = self._margin()
        self.record.epoch += 1
        weights = self.standing.iterate.weights
        at, status = self.standing.look(self.search.point, weights, margin)
        self.found = at
        if status is None and averaged:
            status = self._look_at_average()
        if status is None:
            self._take_in(at)
            status = self._estimate(at)
            self.models.forget_draws()
        return status

    def _estimate(self, at: WorkingSet) -> Status | None:
        """Ask a model of curvature how far the optimum is; at the end, prove what can be proved."""
        cut = len(self.at) < len(at)
        if self.depth or cut or not self.estimates.due():
            return None
        self.ahead = self._direction()
        if self.ahead is None or self.estimates.far(self.at, self.ahead.d):
            return None
        pairs, drawn = self.models.pairs.pairs, self.models.latest_draws
        found = self.estimates.make(self.search.point, self.at, pairs, drawn)
        status = self.standing.admit_estimate(max(found, self.leash.least_left(self.at)))
        if status is not None and self.precision.single:
            self._prove_here()
        return status

    def _run_epoch(self) -> Status | None:
        """Iterate on a shrinking working set until it is time to look again."""
        while True:
            status = self.standing.consult() or self._iterate()
            if status is not None:
                return status
            if self._epoch_is_over():
                return None
            self._shrink()

    def _iterate(self) -> Status | None:
        """Make one step: direction, search, accept and learn. None if all went well."""
        for event in self._remedies():
            direction, self.ahead = self.ahead or self._direction(), None
            arrival = self.search.along(self.at, direction.d) if direction is not None else None
            if direction is not None and arrival is not None:
                self._accept(direction, arrival, event)
                return None
        return Status.NOISE if self.search.noise else Status.STALLED

    def _remedies(self) -> Iterator[str]:
        """Let a step be tried as it is, then each time after what may help; yield what to record.

        1. The model to fall back on: without draws, say. Others may do better an iterate later.
        2. Double precision.
        3. Weights of columns with outliers on a short leash: they may have held up all others.
        4. ``B = γD`` without pairs, with γ measured here: they may be of another place.
        5. A larger γ: far out the loss is all but linear, and the curvature found is rounding.
        """
        yield ""
        while (simpler := self.curvature.fall_back()) is not None:
            self.curvature = simpler
            self.epochs.end_after(self.record.iteration + 1)
            yield ""
        if self.refine():
            yield ""
        if self.leash.tighten():
            yield ""
        if self.search.noise and self._say_what_is_known() is not None:
            return  # the values tell no more, and pairs that are there tell that it is enough
        reason = "no step made progress" if self.models.pairs.usable else "B was not positive"
        event = f"memory cleared: {reason}"
        self.models.pairs.begin_anew(self.search.point, self.at)
        self.leash.loosen(self.standing.iterate.objective)
        yield event
        self.models.pairs.be_cautious(self.at, self.standing.iterate.objective)
        yield event

    def _direction(self) -> Direction | None:
        """Minimise the model plus the penalty on the working set; None where B broke down."""
        tolerance = self.settings.inner_tolerance * self.violation
        effort = Effort(tolerance, seed=self.settings.seed + self.record.iteration)
        with self.record.clock.timed("inner"):
            at = self.leash.on(self.at, self.standing.iterate.loss)
            found = self.curvature.direction(at, effort)
        return found if found is None or np.isfinite(found.d).all() else None

    def _accept(self, direction: Direction, arrival: Arrival, event: str) -> None:
        """Learn the curvature on the way to the new iterate, and record it."""
        step = arrival.step
        s, y = step.alpha * direction.d, arrival.g - self.at.g
        fall = self.standing.iterate.loss - step.loss
        self.standing.note_curvature(float((s * y).sum()), fall)
        before, self.at = self.at, self.at.moved(self.at.w + s, arrival.g)
        self.violation = self.at.violation
        self.leash.learn(before, self.at, step.alpha)
        with self.record.clock.timed("memory"):
            learned = self.curvature.learn(s, y, step)
            if self.models.drawing:
                self.witness.add(self.at, step.loss)
            else:
                self.witness.clear()
        self.standing.advance(
            Iterate(self.at.weights, step.loss, step.objective),
            kkt=self.violation,
            working_set=len(self.at),
            step=step.alpha,
            trials=step.trials,
            inner_passes=direction.passes,
            event=event or learned,
        )

    def _shrink(self) -> None:
        """Drop variables that rest at zero with room to spare."""
        if not self.settings.shrink:
            return
        keep = self.at.survivors(self._margin())
        worth_it = _WORTH_DROPPING if self.settings.lazy else 1.0
        if len(keep) < worth_it * len(self.at):
            self.at = self.at.take(keep)
            self.curvature.restrict(keep)

    def _margin(self) -> float:
        """Return M̂/N. M̂ = ∞ at first: but no variable at rest below λ can move in a first step."""
        if not self.settings.shrink:
            return math.inf
        return self.violation / self.oracle.n_samples if self.record.epoch else 0.0

    def _take_in(self, at: WorkingSet) -> None:
        """Begin an epoch on what a look has found."""
        settings = self.settings
        self.violation = self.standing.certificate.kkt
        first = self.depth or (self.cold and not self.models.near)
        if first and settings.shrink and settings.first_share < 1.0:
            at = most_at_first(at, self.oracle, settings.first_share)
        rows = self.at.positions_in(at.coordinates)
        self.at = at
        self.curvature = self.models.extend(
            self.search.point, at, rows, finished=not self.epochs.cut_short
        )
        drawing = self.models.drawing
        self.epochs.begin(self.violation, self.record.iteration, drawing=drawing)

    def _epoch_is_over(self) -> bool:
        """Whether to look again: enough is reached, or what is left cannot be seen from inside."""
        iteration, point = self.record.iteration, self.search.point
        self.models.near |= self.epochs.reached(self.violation)
        return (
            (self.cold and iteration == 1)  # the paper's M̂ = ∞
            or self.epochs.over(self.violation, iteration)
            or self.standing.would_end(point, self.at)
            or self.witness.would_end(point)
            or (not self.depth and self.estimates.calls_for_a_look())
        )

    def _average_would_end(self) -> bool:
        """Whether an average of iterates proves enough, as far as single precision can tell."""
        if not self.witness.would_end(self.search.point):
            return False
        # In single precision it takes a third of the time to find out.
        return not self.precision.single or self._look_at_average() is not None

    def _look_at_average(self) -> Status | None:
        status = self.witness.prove(self.precision.oracle)
        self.search.come_back()
        return status

    def refine(self) -> bool:
        """Go on in double precision; False where the run is there already."""
        at = self.search.refine(self.at)
        self.at = at or self.at
        return at is not None

    def _say_what_is_known(self) -> Status | None:
        """Certify the point that is returned and estimate its error, unless the last row does.

        Return a status if that is enough.
        """
        if self.search.noise:  # trials have spent the point
            self.search.come_back()
        if self.precision.single or not self.record.trace[-1].certified:
            self._prove_here()
        found = self.standing.estimate
        if self.standing.convex and not math.isfinite(found):
            pairs = self.models.pairs
            pairs.extend(self.found, self.at.positions_in(self.found.coordinates))
            self.at = self.found
            last = self.search.noise > 0.0
            found = self.estimates.make(
                self.search.point, self.found, pairs.pairs, last=last, however_far=True
            )
            found = max(found, self.leash.least_left(self.found))
        return self.standing.admit_estimate(found)

    def _prove_here(self) -> None:
        self.refine()
        weights = self.standing.iterate.weights
        self.found, _ = self.standing.look(self.search.point, weights)

    def memory(self) -> Memory | None:
        """Return what has been learned of the curvature; None where nothing has."""
        known = self.record.iteration and len(self.models.pairs.pairs)
        return self.models.memory(self.at) if known else None

    def _begin(self, start: SparseVector, memory: Memory | None) -> Status | None:
        """Evaluate the starting point, or a sample's solution where that is worth finding."""
        cold, told = len(start.values) == 0, -math.inf
        steps = cold and not self.depth and self.settings.stochastic
        begun = starts.by_stochastic_steps(self.standing, self.settings.seed) if steps else None
        sketch = self._warm_up() if cold and begun is None else None
        start = start if begun is None else begun
        if sketch is not None:
            start, told = sketch.at.weights, sketch.standing.iterate.objective
            memory = replace(sketch.models.memory(sketch.at), draws=DrawExperience())
        self.cold = cold and begun is None and sketch is None
        self.at = starting_point(start, self.standing.penalty, memory)
        self.precision = Precision(self.oracle, single=self.settings.single)
        self.standing.rounded = self.precision.single
        point = self.standing.begin(start, self.precision.oracle)
        if point is None:
            return Status.NOT_FINITE
        self.models = Models(
            self.settings,
            self.standing,
            self.kernels,
            size=len(self.at),
            memory=memory,
            depth=self.depth,
        )
        self.curvature = self.models.pairs
        foretold = starts.speaks_for(told, self.standing.iterate.objective)
        self.models.near = begun is not None or foretold or not cold
        self.search = Search(point, self.standing, self.precision, self.settings.armijo)
        return None

    def _warm_up(self) -> Run | None:
        """Solve roughly on a sample."""
        settings = self.settings
        sample = starts.sample_of(self.oracle, settings.warm_up, settings.seed, self.depth)
        if sample is None:
            return None
        part = self.standing.part(sample)
        sketch = Run(settings, part, self.kernels, self.depth + 1, self._units)
        sketch.solve(SparseVector.empty())
        return sketch
