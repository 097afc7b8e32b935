"""Proximal quasi-Newton (Zhong, Yen, Dhillon and Ravikumar, NIPS 2014).

Each iteration minimises a quadratic model of the loss plus the penalty over the working set
(``subproblem``), searches along the direction (``line_search``) and updates the model
(``hessian``). Iterations are grouped in epochs: within one the working set only shrinks
(``working_set``); each begins with a sweep over all variables, which also gives the certificate
that ends the run (``stopping``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem import Floats, MeteredOracle, Oracle, Penalty, SparseVector, Sweep
from proxqn.solvers import inner as subproblem
from proxqn.solvers import line_search
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.certificate.witness import RecentIterates
from proxqn.solvers.curvature import scale
from proxqn.solvers.curvature.draw_schedule import DrawnCurvature
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling
from proxqn.solvers.line_search import Armijo
from proxqn.solvers.prox_qn.float_search import UnseenSteps
from proxqn.solvers.recording import Callback, Point, Recorder, Solution
from proxqn.solvers.working_set import WorkingSet, starting_point

_MIN_SKETCH = 200  # samples
_SKETCHES = 2  # a sample, and a sample of it
_ALIKE = 1.02  # of a sample's objective: what the data's may be, where the sample speaks for them
_SKETCH_COOLING = 0.25
_SKETCH_EPOCHS = 2
_MIN_FIRST = 1000  # variables
_FIRST_A_SAMPLE = 8  # variables
_MIN_INNER, _MIN_SKETCH_INNER = 5, 3  # passes: a sample is not worth fitting closely
_INNER_SHARE = 0.1  # of the cost of inference
_VISIT_PAIRS = 8  # pairs: what a visit costs without any
_WORTH_DROPPING = 0.9  # of the working set, that stays
_MIN_BUDGET = 2e6  # multiply-adds: a millisecond
_DRAWN_STEPS = 8  # iterations until all variables are looked at
_LINEAR = 0.1  # of γ after a step that met no curvature


@final
@dataclass(frozen=True)
class ProxQN:
    """Settings of the method; :meth:`paper` gives those of the paper.

    Parameters
    ----------
    memory : int
        m, the number of curvature pairs; fewer are kept on a working set so large that they would
        leave the cache.
    max_inner : int
        Passes of coordinate descent on an inner problem, at most.
    inner_tolerance : float
        Stop the inner problem once a pass moves the model's gradient by less than this fraction of
        the largest violation; 0 makes all passes.
    balance_inner : bool
        Limit the passes to ``⌊d/|A|⌋`` as the paper does; else to a share of the cost of inference.
    scaling : Scaling
        How γ follows from the newest pair.
    scaling_power : float
        ``B₀ = γ D`` with D the oracle's rough Hessian diagonal to this power: 0 gives the
        identity, 1 the diagonal itself.
    gamma : float or None
        The first γ; None measures the curvature along the first direction, one forward pass.
    keep_memory : bool
        Carry the pairs over to the next epoch; rows of re-entering variables are zero.
    cooling : float
        An epoch ends once the violation on the working set is this fraction of what it was over all
        variables at its start.
    warm_up : float
        Start from a rough solution on this share of the samples, found in the same way, where the
        oracle can be subsampled and the share holds at least a few hundred samples; 0 for none.
        Early iterates are dense and far off: a sample tells enough about them.
    first_share : float
        From w = 0 and in the warm-up, at most this share of the variables is in an epoch's working
        set, and no more than eight for each sample or twice as many as have a weight: those with
        the largest derivatives. The others wait for the next epoch.
    shrink : bool
        False keeps every variable in every iteration, as the paper's theory assumes: no limit of
        ``first_share``, nothing shrinks, and the memory lasts over epochs, which then only certify.
        (A derivative of exactly 0 keeps its variable out until the next epoch.)
    lazy : bool
        Save bookkeeping on large working sets: variables leave in batches of a tenth, pairs in
        batches of a fifth, and γ follows in steps of 2. Most iterations then add a pair to B
        instead of forming it anew. After a sweep that found no new variable an epoch is longer.
    single : bool
        Work in single precision, where the oracle can, until its derivatives lead no further
        (``float_search.py``); what is proved and returned is always in double precision.
    draws : float
        Rows of a curvature drawn from the probabilistic model, for each variable, where the oracle
        can draw (``curvature/draw_schedule.py``), once near the solution. 0 for the paper's pairs
        alone.
    armijo : Armijo
        The line search.
    seed : int
        Of the order in which coordinate descent visits coordinates.
    """

    memory: int = 100
    max_inner: int = 1000
    inner_tolerance: float = 0.03
    balance_inner: bool = False
    scaling: Scaling = Scaling.GEOMETRIC
    scaling_power: float = 0.25
    gamma: float | None = None
    keep_memory: bool = True
    cooling: float = 0.2
    warm_up: float = 0.15
    first_share: float = 0.05
    shrink: bool = True
    lazy: bool = True
    single: bool = True
    draws: float = 1.0
    armijo: Armijo = field(default_factory=Armijo)
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("memory", "max_inner"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or above, got {getattr(self, name)!r}.")
        if not 0.0 < self.cooling < 1.0:
            raise ValueError(f"cooling must lie between 0 and 1, got {self.cooling!r}.")
        if self.gamma is not None and not 0.0 < self.gamma < math.inf:
            raise ValueError(
                f"gamma must be a finite number above 0 or None to measure it, got {self.gamma!r}."
            )

    @classmethod
    def paper(cls) -> ProxQN:
        """Return the paper's settings: m = 10, max_inner = 10, γ from 1, memory cleared."""
        return cls(
            memory=10,
            max_inner=10,
            inner_tolerance=0.0,
            balance_inner=True,
            scaling=Scaling.PAPER,
            scaling_power=0.0,
            gamma=1.0,
            keep_memory=False,
            cooling=0.1,
            warm_up=0.0,
            first_share=1.0,
            lazy=False,
            single=False,
            draws=0.0,
        )

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
        kernels: ModuleType = _kernels,
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``.

        Ctrl-C ends the run at the last accepted iterate.
        """
        record = Recorder(
            MeteredOracle(oracle), penalty, tol=tol, max_iter=max_iter, callback=callback
        )
        return record.solution(_Run(self, record, kernels).solve, start)


class _Run:
    """One minimisation: the paper's loop, and its state."""

    def __init__(self, settings: ProxQN, record: Recorder, kernels: ModuleType) -> None:
        self.settings, self.record, self.kernels = settings, record, kernels
        self.oracle, self.penalty = record.oracle, record.penalty
        record.declare("inner", "memory")
        self.at = starting_point(SparseVector.empty())
        self.drawn = DrawnCurvature(  # in place of the model, where there is one
            record, kernels, rows=settings.draws, seed=settings.seed, single=settings.single
        )
        self.until = math.inf  # the iteration at which to look at all variables again
        self.near = False  # whether a sample or an epoch led here: until then pairs learn faster
        self.model = self._new_model(settings.gamma or 1.0, 0)
        self.cold = False  # whether it starts from zero with nothing known
        self.unscaled = False  # whether γ is still to be measured
        self.recent = RecentIterates()  # with drawn curvature
        self.unseen = UnseenSteps()
        self.sketches = 0  # how deep in the warm-up: 0 on all the data
        self.tolerance = math.inf  # of the violation on the working set, for this epoch
        self.violation = math.inf  # M̂

    def solve(self, start: SparseVector) -> Status:
        """Run epochs until one of them ends the run."""
        start = start.nonzero()
        at_zero = len(start.values) == 0
        self.oracle.set_single(self.settings.single)
        sketch = self._warm_up() if at_zero else None
        self.cold = at_zero and sketch is None
        self.unscaled = sketch is None and self.settings.gamma is None
        told = -math.inf  # the objective that the sample foretells
        if sketch is None:
            self.at = starting_point(start)
            self.model = self._new_model(self.model.gamma, len(self.at))
        else:
            self.at, self.model = sketch.at, sketch.model
            told = sketch.record.point.objective
            del sketch  # and its data
        status = self.record.begin(self.at.weights)
        self.near = self.record.point.objective <= _ALIKE * told
        while status is None and not (self.sketches and self.record.epoch == _SKETCH_EPOCHS):
            status = self._begin_epoch() or self._run_epoch()
        stopped = status in (Status.MAX_ITER, Status.CALLBACK)
        if stopped and (self.oracle.single or not self.record.trace[-1].certified):
            self.record.refine()  # say what is proved of the point that is returned
            point = self.record.point
            self.record.look(self.penalty.lam, point.weights, point.loss)
        return status or Status.MAX_ITER

    def _warm_up(self) -> _Run | None:
        """Solve roughly on a subsample, which may warm up on a smaller one in turn."""
        settings = self.settings
        if self.sketches == _SKETCHES or settings.warm_up * self.oracle.n_samples < _MIN_SKETCH:
            return None
        part = self.oracle.subsample(settings.warm_up, settings.seed)
        if part is None:
            return None
        sketch = _Run(settings, self.record.sketch(part), self.kernels)
        sketch.sketches = self.sketches + 1
        sketch.solve(SparseVector.empty())
        return sketch

    def _begin_epoch(self) -> Status | None:
        """Look at all variables: certificate, new working set, tighter tolerance."""
        settings, record = self.settings, self.record
        averaged = self.recent.would_end(record)
        if averaged and self.oracle.single:  # which takes a third of the time to find out
            averaged = self.recent.look(record, self.oracle) is not None
        if averaged or (record.epoch and self._within_reach()):
            record.refine()
        point = record.point
        # M̂ = ∞ at first: then the level is λ, below which no variable can move anyway.
        margin = self._margin() if record.epoch else 0.0
        record.epoch += 1
        level = max(self.penalty.lam - margin, 0.0) if settings.shrink else 0.0
        at, status = record.look(level, point.weights, point.loss)
        if status is None and averaged:
            status = self.recent.look(record, self.oracle)
        if status is not None:
            return status
        self.violation = record.certificate.kkt
        if (self.cold or self.sketches) and settings.shrink and settings.first_share < 1.0:
            at = at.take(at.most_violating(self._most_at_first(at), self.penalty.l2))
        diagonal = self.oracle.curvatures(at.coordinates) ** settings.scaling_power
        if settings.shrink and not settings.keep_memory:
            self.model.clear()
        rows = self.at.positions_in(at.coordinates)
        self.model.replace_rows(rows, diagonal)
        if record.epoch == 1 and self.unscaled:
            self.model.gamma = scale.measure(self.oracle, self.penalty, at, point.loss, diagonal)
        self.at = at
        drew = self.drawn.model is not None
        if self._may_draw():
            self.drawn.renew(at, rows, self.model)
        else:
            self.drawn.model = None
        if drew and self.drawn.model is None:
            self.tolerance = math.inf  # short epochs had tightened it
        self._cool(found=bool(rows.min(initial=0) < 0))
        drawing = self.drawn.model is not None
        self.until = record.iteration + _DRAWN_STEPS if drawing else math.inf
        return None

    def _cool(self, *, found: bool) -> None:
        """Set the tolerance of an epoch, at whose beginning new variables were found or not."""
        cooling = _SKETCH_COOLING if self.sketches else self.settings.cooling
        if self.settings.lazy and not found:
            cooling **= 2  # the sweep came too early: let the next one wait
        self.tolerance = cooling * min(self.tolerance, self.violation)

    def _may_draw(self) -> bool:
        """Whether drawn curvature is better than that of the pairs."""
        # A sample is not fitted so closely that it would pay, unless it tells more than asked.
        worth_it = not self.sketches or len(self.at) <= self.oracle.n_samples
        return self.near and worth_it and self.settings.draws > 0.0

    def _most_at_first(self, at: WorkingSet) -> int:
        """Limit a working set: few samples do not tell of many variables."""
        told = max(_FIRST_A_SAMPLE * self.oracle.n_samples, 2 * int(np.count_nonzero(at.w)))
        share = int(self.settings.first_share * self.oracle.n_coordinates)
        return max(_MIN_FIRST, min(share, told))

    def _run_epoch(self) -> Status | None:
        """Iterate on a shrinking working set until its violation is below the tolerance."""
        while True:
            status = self.record.consult() or self._iterate()
            if status is not None:
                return status
            self.near |= self.violation <= self.tolerance
            if self._should_look() or self.violation <= self.tolerance or self._within_reach():
                return None
            if self.recent.would_end(self.record):
                return None
            self._shrink()

    def _should_look(self) -> bool:
        """Whether it is time to look at all variables again, whatever has been reached."""
        first = self.cold and self.record.iteration == 1  # the paper's M̂ = ∞
        return first or self.record.iteration >= self.until

    def _within_reach(self) -> bool:
        """Whether the run would end if no variable outside the working set were violated.

        Then a sweep, which decides it, is worth more than iterations to a tolerance not asked for.
        """
        inside = Sweep(
            SparseVector(self.at.coordinates, self.at.g),
            float(np.abs(self.at.g).max(initial=0.0)),
        )
        return self.record.proved_by(self.at, inside) is not None

    def _iterate(self) -> Status | None:
        """Make one step: inner problem, line search, update. None if all went well."""
        event = ""
        fallbacks = (self._with_measured_scale, self._with_cautious_scale, None)
        first: list[Callable[[], None]] = []
        if self.drawn.model is not None:
            first.append(self._without_draws)
        if self.oracle.single:
            first.append(self._refine)
        for fall_back in (*first, *fallbacks):
            direction = self._direction()
            step = self._step(direction.d) if direction is not None else None
            if direction is not None and step is not None:
                self._accept(direction, *step, event)
                return None
            if fall_back in first:
                fall_back()
                continue
            reason = "B was not positive" if direction is None else "no step made progress"
            event = event or f"memory cleared: {reason}"
            if fall_back is not None:
                fall_back()
        return Status.STALLED

    def _without_draws(self) -> None:
        """Make a step with the pairs alone; other draws may do better from there."""
        self.drawn.model = None
        self.until = self.record.iteration + 1

    def _with_measured_scale(self) -> None:
        """Go back to B = γD, with γ as found here: the old one may be of another place."""
        self.model.clear()
        diagonal = self.oracle.curvatures(self.at.coordinates) ** self.settings.scaling_power
        self.model.gamma = scale.measure(
            self.oracle, self.penalty, self.at, self.record.point.loss, diagonal
        )

    def _with_cautious_scale(self) -> None:
        """Raise γ until steepest descent promises no more than the whole objective.

        Far out the loss is all but linear: the curvature found is rounding, and no step along the
        direction it gives may be short enough.
        """
        diagonal = self.oracle.curvatures(self.at.coordinates) ** self.settings.scaling_power
        slopes = self.penalty.min_norm_subgradient(self.at.w, self.at.g)
        promise = float((slopes**2 / diagonal).sum()) / self.model.gamma
        self.model.gamma *= max(promise / max(abs(self.record.point.objective), 1e-300), 1.0)

    def _direction(self) -> subproblem.Direction | None:
        settings, at = self.settings, self.at
        tolerance = settings.inner_tolerance * self.violation
        with self.record.timed("inner"):
            return self.drawn.direction(at, tolerance) or subproblem.solve(
                self.model,
                at.w,
                at.g,
                self.penalty,
                max_passes=self._affordable_passes(),
                tolerance=tolerance,
                seed=settings.seed + self.record.iteration,
                kernels=self.kernels,
            )

    def _affordable_passes(self) -> int:
        most, size = self.settings.max_inner, max(len(self.at), 1)
        if self.settings.balance_inner:
            return max(1, min(most, self.oracle.n_parameters // size))
        # A pass makes 4 m |A| multiply-adds, slow ones, and should not outweigh inference.
        budget = max(_INNER_SHARE * self.oracle.pass_cost, _MIN_BUDGET)
        affordable = budget / (4.0 * (len(self.model) + _VISIT_PAIRS) * size)
        least = _MIN_SKETCH_INNER if self.sketches else _MIN_INNER
        return int(max(least, min(most, affordable)))

    def _step(self, d: Floats) -> tuple[line_search.Step, Floats] | None:
        """Search along a direction and go; the derivatives there as well."""
        at, penalty, oracle, rule = self.at, self.penalty, self.oracle, self.settings.armijo
        # Summed by coordinate: near the optimum Δ is far below the rounding error of Ω(w).
        slope = float((at.g * d + penalty.change(at.w, d)).sum())
        if not slope < 0.0:
            return None
        oracle.move(SparseVector(at.coordinates, d).nonzero())
        if self.unseen.concern(self.record, slope):
            return self.unseen.search(self.record, at, d, slope, rule)
        objective = self.record.point.objective
        step = line_search.search(oracle, penalty, at.w, d, objective, slope, rule)
        if step is None:
            return None
        oracle.accept(step.alpha)
        return step, oracle.gradient(at.coordinates)

    def _accept(
        self, direction: subproblem.Direction, step: line_search.Step, g: Floats, event: str
    ) -> None:
        """Learn the curvature on the way to the new iterate, and record it."""
        old = self.at
        s = step.alpha * direction.d
        at = WorkingSet(old.coordinates, old.w + s, g)
        self.violation = at.violation(self.penalty)
        with self.record.timed("memory"):
            self.drawn.learn(s, g - old.g, step)
            if self.drawn.model is not None:
                self.recent.add(at, step.loss)
            else:
                self.recent.clear()
            if not self.model.append(s, g - old.g):
                event = event or "pair left out: its curvature s·y is not positive"
                if len(self.model) == 0:  # all that is known says that the loss is linear here
                    self.model.gamma *= _LINEAR
        self.record.advance(
            Point(at.weights, step.loss, step.objective),
            kkt=self.violation,
            working_set=len(at),
            step=step.alpha,
            trials=step.trials,
            inner_passes=direction.passes,
            event=event,
        )
        self.at = at

    def _refine(self) -> None:
        """Go on in double precision, within an epoch."""
        self.record.refine()
        self.at = replace(self.at, g=self.oracle.gradient(self.at.coordinates))

    def _shrink(self) -> None:
        """Drop variables that rest at zero with room to spare."""
        if not self.settings.shrink:
            return
        keep = self.at.survivors(self.penalty, self._margin())
        worth_it = _WORTH_DROPPING if self.settings.lazy else 1.0
        if len(keep) < worth_it * len(self.at):
            self.at = self.at.take(keep)
            self.model.keep_rows(keep)
            if self.drawn.model is not None:
                self.drawn.model.keep_rows(keep)

    def _margin(self) -> float:
        return self.violation / self.oracle.n_samples

    def _new_model(self, gamma: float, size: int) -> CompactBFGS:
        settings = self.settings
        return CompactBFGS(
            settings.memory,
            gamma,
            settings.scaling,
            size,
            self.kernels,
            lazy=settings.lazy,
            single=settings.single,
            n_jobs=self.oracle.n_jobs,
        )
