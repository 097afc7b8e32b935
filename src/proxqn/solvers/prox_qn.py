"""Proximal quasi-Newton (Zhong, Yen, Dhillon and Ravikumar, NIPS 2014).

Each iteration minimises a quadratic model of the loss plus the penalty over the working set
(``subproblem``), searches along the direction (``line_search``) and updates the model
(``hessian``). Iterations are grouped in epochs: within one the working set only shrinks
(``working_set``); each begins with a sweep over all variables, which also gives the certificate
that ends the run (``stopping``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem import Floats, MeteredOracle, Oracle, Penalty, SparseVector, Sweep
from proxqn.solvers import curvature, line_search, stopping, subproblem
from proxqn.solvers.hessian import CompactBFGS, Scaling
from proxqn.solvers.line_search import Armijo
from proxqn.solvers.stopping import Certificate, Status
from proxqn.solvers.trace import Row, Trace
from proxqn.solvers.working_set import WorkingSet, gather

Callback = Callable[[Row], bool | None]

_MIN_SKETCH = 200  # samples
_SKETCH_COOLING = 0.2
_MIN_FIRST = 1000  # variables
_MIN_INNER = 5  # passes


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


@final
@dataclass(frozen=True)
class ProxQN:
    """Settings of the method; :meth:`paper` gives those of the paper.

    Parameters
    ----------
    memory : int
        m, the number of curvature pairs.
    max_inner : int
        Passes of coordinate descent on an inner problem.
    inner_tolerance : float
        Stop the inner problem once a pass moves the model's gradient by less than this fraction of
        the largest violation; 0 makes all passes.
    balance_inner : bool
        Limit the passes to ``⌊d/|A|⌋`` as well.
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
        From w = 0, at most this share of the variables enters an epoch's working set, those with
        the largest derivatives; the others wait for the next epoch.
    armijo : Armijo
        The line search.
    seed : int
        Of the order in which coordinate descent visits coordinates.
    """

    memory: int = 100
    max_inner: int = 200
    inner_tolerance: float = 0.03
    balance_inner: bool = False
    scaling: Scaling = Scaling.GEOMETRIC
    scaling_power: float = 0.25
    gamma: float | None = None
    keep_memory: bool = True
    cooling: float = 0.2
    warm_up: float = 0.15
    first_share: float = 0.05
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
        run = _Run(self, MeteredOracle(oracle), penalty, tol, max_iter, callback, kernels)
        try:
            status = run.solve(start)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if not len(run.trace):  # not even the starting point has been evaluated
                run.begin_at(_starting_point(start), run.model)
        return Solution(
            run.point.at.weights,
            run.point.objective,
            run.gap,
            run.certificate.kkt,
            status,
            run.trace,
        )


@final
@dataclass(frozen=True)
class _Point:
    """An accepted iterate. Replaced whole, so that an interrupt never sees half of one."""

    at: WorkingSet
    loss: float
    objective: float


def _starting_point(start: SparseVector) -> WorkingSet:
    return WorkingSet(start.coordinates, start.values, np.zeros(len(start.values)))


class _Run:
    """One minimisation and its state."""

    def __init__(
        self,
        settings: ProxQN,
        oracle: MeteredOracle,
        penalty: Penalty,
        tol: float,
        max_iter: int,
        callback: Callback | None,
        kernels: ModuleType,
    ) -> None:
        self.settings, self.oracle, self.penalty = settings, oracle, penalty
        self.tol, self.max_iter, self.callback, self.kernels = tol, max_iter, callback, kernels
        nothing = WorkingSet(np.empty(0, np.int64), np.empty(0), np.empty(0))
        self.point = _Point(nothing, math.inf, math.inf)
        self.certificate = Certificate(-math.inf, math.inf)  # the best bound, the latest residual
        self.cooling, self.max_epochs = settings.cooling, math.inf
        self.tolerance = math.inf  # of the violation on the working set, for this epoch
        self.violation = math.inf  # M̂
        self.model = self._new_model(settings.gamma or 1.0, 0)
        self.iteration = self.epoch = 0
        self.trace = Trace()
        self.started = time.perf_counter()
        self.solver_seconds = {"inner": 0.0, "memory": 0.0}

    @property
    def gap(self) -> float:
        """What is left to gain at most: any lower bound found so far still holds."""
        return max(self.point.objective - self.certificate.bound, 0.0)

    def solve(self, start: SparseVector) -> Status:
        start = start.nonzero()
        sketch = self._warm_up() if len(start.values) == 0 else None
        self.cold = len(start.values) == 0 and sketch is None
        if sketch is None:
            at = _starting_point(start)
            finite = self.begin_at(at, self._new_model(self.model.gamma, len(at)))
        else:
            finite = self.begin_at(sketch.point.at, sketch.model)
        if not finite:
            return Status.NOT_FINITE
        status = None
        while status is None and self.epoch < self.max_epochs:
            status = self._begin_epoch() or self._run_epoch()
        if self.callback is not None and status not in (Status.CALLBACK, Status.MAX_ITER):
            self.callback(self.trace[-1])  # the last row; the others went out before their step
        return status or Status.MAX_ITER

    def begin_at(self, at: WorkingSet, model: CompactBFGS) -> bool:
        """Evaluate the starting point; False where the loss is not finite there."""
        self.oracle.reset()
        self.oracle.move(at.weights)
        loss = self.oracle.value_at(1.0)
        self.point = _Point(at, loss, loss + self.penalty.value(at.w))
        self.model = model
        if not math.isfinite(self.point.objective):
            return False
        self.oracle.accept(1.0)
        self._record()
        return True

    def _warm_up(self) -> _Run | None:
        """Solve roughly on a subsample, which warms up on a smaller one in turn."""
        settings = self.settings
        if settings.warm_up * self.oracle.n_samples < _MIN_SKETCH:
            return None
        part = self.oracle.subsample(settings.warm_up, settings.seed)
        if part is None:
            return None
        sketch = _Run(settings, part, self.penalty, self.tol, self.max_iter, None, self.kernels)
        sketch.solver_seconds = self.solver_seconds
        sketch.cooling, sketch.max_epochs = _SKETCH_COOLING, 2
        sketch.solve(SparseVector.empty())
        return sketch

    def _begin_epoch(self) -> Status | None:
        """Look at all variables: certificate, new working set, tighter tolerance."""
        point, penalty = self.point, self.penalty
        # M̂ = ∞ at first: then the level is λ, below which no variable can move anyway.
        margin = self._margin() if self.epoch else 0.0
        sweep = self.oracle.sweep(max(penalty.lam - margin, 0.0))
        if not math.isfinite(sweep.largest):
            return Status.NOT_FINITE
        at = gather(self.oracle, point.at.weights, sweep)
        here = stopping.certify(self.oracle, penalty, point.loss, at, sweep)
        self.certificate = replace(here, bound=max(here.bound, self.certificate.bound))
        if self.cold and self.settings.first_share < 1.0:
            limit = max(_MIN_FIRST, int(self.settings.first_share * self.oracle.n_coordinates))
            at = at.take(at.most_violating(limit))
        if self.settings.keep_memory:
            self.model.replace_rows(point.at.positions_in(at.coordinates), self._diagonal(at))
        else:
            self.model = self._new_model(self.model.gamma, len(at))
        self.point = replace(point, at=at)
        self.epoch += 1
        self.violation = here.kkt
        self.tolerance = self.cooling * min(self.tolerance, here.kkt)
        self._certify_row()
        status = stopping.reached(self.certificate, point.objective, penalty, self.tol)
        if status is None and self.epoch == 1 and self.cold and self.settings.gamma is None:
            self.model.gamma = curvature.measure(
                self.oracle, penalty, at, point.loss, self._diagonal(at)
            )
        return status

    def _run_epoch(self) -> Status | None:
        """Iterate on a shrinking working set until its violation is below the tolerance."""
        while True:
            if self.callback is not None and self.callback(self.trace[-1]):
                return Status.CALLBACK
            if self.iteration >= self.max_iter:
                return Status.MAX_ITER
            status = self._iterate()
            if status is not None:
                return status
            # After the very first step all variables are looked at again (the paper's M̂ = ∞).
            if self.violation <= self.tolerance or (self.cold and self.iteration == 1):
                return None
            if self._within_reach():
                return None
            self._shrink()

    def _within_reach(self) -> bool:
        """Whether the run would end if no variable outside the working set were violated.

        Then a sweep, which decides it, is worth more than iterations to a tolerance not asked for.
        """
        point = self.point
        inside = Sweep(
            SparseVector(point.at.coordinates, point.at.g),
            float(np.abs(point.at.g).max(initial=0.0)),
        )
        here = stopping.certify(self.oracle, self.penalty, point.loss, point.at, inside)
        return stopping.reached(here, point.objective, self.penalty, self.tol) is not None

    def _iterate(self) -> Status | None:
        """Make one step: inner problem, line search, update. None if all went well."""
        event = ""
        for _ in range(2):  # the second time from a fresh B = γI
            direction = self._direction()
            step = self._search(direction.d) if direction is not None else None
            if direction is not None and step is not None:
                event = self._accept(direction.d, step) or event
                self._record(step=step, passes=direction.passes, event=event)
                return None
            if len(self.model) == 0:
                break
            reason = "B was not positive" if direction is None else "no step made progress"
            event = f"memory cleared: {reason}"
            self.model.clear()
        return Status.STALLED

    def _direction(self) -> subproblem.Direction | None:
        settings, at = self.settings, self.point.at
        passes = settings.max_inner
        if settings.balance_inner:
            passes = max(1, min(passes, self.oracle.n_parameters // max(len(at), 1)))
        else:  # a pass makes 4 m |A| multiply-adds, slow ones, and should not outweigh inference
            affordable = 0.25 * self.oracle.pass_cost / (4.0 * max(len(self.model) * len(at), 1))
            passes = int(max(_MIN_INNER, min(passes, affordable)))
        began = time.perf_counter()
        direction = subproblem.solve(
            self.model,
            at.w,
            at.g,
            self.penalty,
            max_passes=passes,
            tolerance=settings.inner_tolerance * self.violation,
            seed=settings.seed + self.iteration,
            kernels=self.kernels,
        )
        self.solver_seconds["inner"] += time.perf_counter() - began
        return direction

    def _search(self, d: Floats) -> line_search.Step | None:
        at, penalty = self.point.at, self.penalty
        # Summed by coordinate: near the optimum Δ is far below the rounding error of Ω(w).
        slope = float((at.g * d + penalty.change(at.w, d)).sum())
        if not slope < 0.0:
            return None
        self.oracle.move(SparseVector(at.coordinates, d).nonzero())
        return line_search.search(
            self.oracle, penalty, at.w, d, self.point.objective, slope, self.settings.armijo
        )

    def _accept(self, d: Floats, step: line_search.Step) -> str:
        """Move to the new iterate and learn its curvature."""
        self.oracle.accept(step.alpha)
        old = self.point.at
        g = self.oracle.gradient(old.coordinates)
        s = step.alpha * d
        at = WorkingSet(old.coordinates, old.w + s, g)
        self.point = _Point(at, step.loss, step.objective)
        self.iteration += 1
        self.violation = at.violation(self.penalty)
        began = time.perf_counter()
        learned = self.model.append(s, g - old.g)
        self.solver_seconds["memory"] += time.perf_counter() - began
        return "" if learned else "pair left out: its curvature s·y is not positive"

    def _shrink(self) -> None:
        """Drop variables that rest at zero with room to spare."""
        at = self.point.at
        keep = at.survivors(self.penalty, self._margin())
        if len(keep) < len(at):
            self.point = replace(self.point, at=at.take(keep))
            self.model.keep_rows(keep)

    def _diagonal(self, at: WorkingSet) -> Floats:
        return self.oracle.curvatures(at.coordinates) ** self.settings.scaling_power

    def _margin(self) -> float:
        return self.violation / self.oracle.n_samples

    def _new_model(self, gamma: float, size: int) -> CompactBFGS:
        settings = self.settings
        return CompactBFGS(settings.memory, gamma, settings.scaling, size, self.kernels)

    def _record(
        self, step: line_search.Step | None = None, passes: float = 0.0, event: str = ""
    ) -> None:
        calls = self.oracle.calls
        self.trace.append(
            Row(
                iteration=self.iteration,
                epoch=self.epoch,
                objective=self.point.objective,
                gap=self.gap,
                kkt=self.violation,
                certified=False,
                nnz=int(np.count_nonzero(self.point.at.w)),
                working_set=len(self.point.at),
                step=step.alpha if step else math.nan,
                trials=step.trials if step else 1,
                inner_passes=passes,
                seconds=time.perf_counter() - self.started,
                calls=dict(calls.counts),
                phase_seconds=calls.seconds | self.solver_seconds,
                event=event,
            )
        )

    def _certify_row(self) -> None:
        """Enter what the sweep found into the row of the point it was made at."""
        calls = self.oracle.calls
        self.trace.amend(
            replace(
                self.trace[-1],
                gap=self.gap,
                kkt=self.certificate.kkt,
                certified=True,
                seconds=time.perf_counter() - self.started,
                calls=dict(calls.counts),
                phase_seconds=calls.seconds | self.solver_seconds,
            )
        )
