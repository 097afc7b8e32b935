"""What every solver records: the trace, the clock, and the certificate.

A solver holds a :class:`Recorder` and tells it of each accepted iterate; the recorder appends rows
to the trace, computes the duality gap from a full gradient, and knows when to stop. So the same
problem solved by different methods yields rows that mean the same.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from proxqn.problem import Floats, Ints, MeteredOracle, Oracle, Penalty, SparseVector, Sweep
from proxqn.run.trace import Row, Trace
from proxqn.solvers.certificate import bound as stopping
from proxqn.solvers.certificate.bound import Certificate, Status
from proxqn.solvers.working_set import WorkingSet, gather


@final
@dataclass(frozen=True)
class Iterate:
    """A row of the trace and the weights it is about."""

    row: Row
    weights: SparseVector
    cpu_seconds: float  # of the process since the start, evaluation left out


class Watcher(ABC):
    """A callback that is shown the weights as well; all it does is off the clock."""

    @abstractmethod
    def see(self, iterate: Iterate) -> None:
        """Take note of an iterate, before the call with its row; its arrays must not be changed."""

    @abstractmethod
    def __call__(self, row: Row) -> bool | None:
        """Return True to stop, as any callback may."""


SINGLE_ROUNDING = 1e-5  # relative error of losses and bounds in single precision, with room

Callback = Callable[[Row], bool | None]


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
class Point:
    """An accepted iterate. Replaced whole, so that an interrupt never sees half of one."""

    weights: SparseVector
    loss: float
    objective: float


# Statuses that end a run between two calls of `consult`: the callback has yet to see the last row.
_UNSEEN = (Status.GAP, Status.KKT, Status.STATIONARY, Status.STALLED, Status.NOT_FINITE)


@final
class Recorder:
    """The record of one run.

    Parameters
    ----------
    oracle : MeteredOracle
        Its calls and seconds enter the rows.
    penalty : Penalty
        Ω.
    tol, max_iter, callback
        As in ``Solver.minimize``.
    """

    def __init__(
        self,
        oracle: MeteredOracle,
        penalty: Penalty,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None,
    ) -> None:
        self.oracle, self.penalty = oracle, penalty
        self.point = Point(SparseVector.empty(), math.inf, math.inf)
        self.certificate = Certificate(-math.inf, math.inf)  # the best bound, the latest residual
        self.iteration = self.epoch = 0
        self.trace = Trace()
        self.solver_seconds: dict[str, float] = {}
        self._tol, self._max_iter, self._callback = tol, max_iter, callback
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
        self._stopped: float | None = None  # when the clock was stopped; None while it runs
        if isinstance(callback, Watcher):
            self.declare("evaluation")

    @property
    def gap(self) -> float:
        """What is left to gain at most: any lower bound found so far still holds."""
        return max(self.point.objective - self.certificate.bound, 0.0)

    @property
    def enough(self) -> float:
        """A lower bound on the optimum that would end the run."""
        objective = self.point.objective
        return objective - self._tol * abs(objective)

    @property
    def seconds(self) -> float:
        """Seconds since the start, without those of :meth:`evaluation`."""
        now = time.perf_counter() if self._stopped is None else self._stopped
        return now - self._started

    def sketch(self, oracle: MeteredOracle) -> Recorder:
        """Return a record for a run on a subsample, whose time in the solver counts here."""
        part = Recorder(oracle, self.penalty, tol=self._tol, max_iter=self._max_iter, callback=None)
        part.solver_seconds = self.solver_seconds
        return part

    def begin(self, start: SparseVector) -> Status | None:
        """Put the oracle at the starting point and record it."""
        start = start.nonzero()
        self.oracle.reset()
        self.oracle.move(start)
        loss = self.oracle.value_at(1.0)
        objective = loss + self.penalty.value(start.values)
        self.point = Point(start, loss, objective)
        if not math.isfinite(objective):
            return Status.NOT_FINITE
        self.oracle.accept(1.0)
        self._append(math.inf, 0, math.nan, 1, 0.0, "")
        return None

    def refine(self) -> None:
        """Return to double precision at the current point, unless it is double already.

        What was proved in single precision holds less its rounding.
        """
        if not self.oracle.single:
            return
        point = self.point
        self.oracle.set_single(False)
        loss = self.oracle.start_at(point.weights)
        self.point = replace(point, loss=loss, objective=point.objective - point.loss + loss)
        bound = self.certificate.bound - SINGLE_ROUNDING * abs(loss)
        self.certificate = replace(self.certificate, bound=bound)

    def advance(
        self,
        point: Point,
        *,
        kkt: float = math.inf,
        working_set: int = 0,
        step: float = math.nan,
        trials: int = 1,
        inner_passes: float = 0.0,
        event: str = "",
    ) -> None:
        """Record an accepted iterate as the next row."""
        self.point = point
        self.iteration += 1
        self._append(kkt, working_set, step, trials, inner_passes, event)

    def certify(self, at: WorkingSet, sweep: Sweep, loss: float) -> Status | None:
        """Enter what a full gradient proves into the last row; a status if that is enough.

        The gradient may be of another point than the iterate (FISTA takes it at its extrapolation):
        a lower bound on the optimum holds wherever it was found.
        """
        here = stopping.certify(self.oracle, self.penalty, loss, at, sweep)
        self.certificate = replace(here, bound=max(here.bound, self.certificate.bound))
        self._amend(working_set=len(at))
        return stopping.reached(self.certificate, self.point.objective, self.penalty, self._tol)

    def proved_by(self, at: WorkingSet, sweep: Sweep, loss: float | None = None) -> Status | None:
        """Return the status that these derivatives would justify, of the current point or another.

        Parameters
        ----------
        loss : float, optional
            At that other point.
        """
        loss = self.point.loss if loss is None else loss
        here = stopping.certify(self.oracle, self.penalty, loss, at, sweep, self.enough)
        return stopping.reached(here, self.point.objective, self.penalty, self._tol)

    def bound_by(self, at: WorkingSet, sweep: Sweep, loss: float) -> Status | None:
        """Enter what a full gradient at another point proves of the iterate."""
        there = stopping.certify(self.oracle, self.penalty, loss, at, sweep)
        bound = max(there.bound, self.certificate.bound)
        self.certificate = replace(self.certificate, bound=bound)
        self._amend(working_set=self.trace[-1].working_set)
        return stopping.reached(self.certificate, self.point.objective, self.penalty, self._tol)

    def look(
        self, level: float, weights: SparseVector, loss: float
    ) -> tuple[WorkingSet, Status | None]:
        """Sweep over all variables at the oracle's point, and certify with what was found."""
        return self.look_through(self.oracle, level, weights, loss)

    def look_through(
        self, oracle: Oracle, level: float, weights: SparseVector, loss: float
    ) -> tuple[WorkingSet, Status | None]:
        """As :meth:`look`, through an oracle whose calls are not counted, say."""
        at, sweep = gather(oracle, weights, level)
        if not math.isfinite(sweep.largest):
            return at, Status.NOT_FINITE
        return at, self.certify(at, sweep, loss)

    def measure(
        self,
        weights: SparseVector,
        *,
        step: float = math.nan,
        inner_passes: float = 0.0,
        event: str = "",
    ) -> Status | None:
        """Record and certify an iterate found without the oracle; neither timed nor counted.

        Raises
        ------
        FloatingPointError
            If the objective is not finite there.
        """
        oracle = self.oracle.oracle
        with self.evaluation():
            oracle.reset()
            oracle.move(weights)
            loss = oracle.value_at(1.0)
            objective = loss + self.penalty.value(weights.values)
            if not math.isfinite(objective):
                raise FloatingPointError(f"the objective is {objective} after a step of {step:g}.")
            oracle.accept(1.0)
            at, sweep = gather(oracle, weights, self.penalty.lam)
        self.advance(
            Point(weights, loss, objective), step=step, inner_passes=inner_passes, event=event
        )
        return self.certify(at, sweep, loss)

    def consult(self) -> Status | None:
        """Show the callback the last row, which no sweep will change any more; count iterations."""
        if self._show():
            return Status.CALLBACK
        return Status.MAX_ITER if self.iteration >= self._max_iter else None

    def declare(self, *phases: str) -> None:
        """Name phases of the solver's own, so that every row has them."""
        for phase in phases:
            self.solver_seconds.setdefault(phase, 0.0)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Charge the seconds spent inside to a phase of the solver's own."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.solver_seconds[phase] = self.solver_seconds.get(phase, 0.0) + spent

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Stop the clock: what is inside measures the iterate and does not help to find it."""
        self._stopped, cpu = time.perf_counter(), time.process_time()
        try:
            with self.timed("evaluation"):
                yield
        finally:
            self._started += time.perf_counter() - self._stopped
            self._cpu_started += time.process_time() - cpu
            self._stopped = None

    def solution(self, solve: Callable[[SparseVector], Status], start: SparseVector) -> Solution:
        """Run the solver and return its result; Ctrl-C ends it at the last accepted iterate."""
        try:
            status = solve(start)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if not len(self.trace):  # not even the starting point has been evaluated
                self.begin(start)
        if len(self.trace) and status in _UNSEEN:
            self._show()
        point = self.point
        return Solution(
            point.weights, point.objective, self.gap, self.certificate.kkt, status, self.trace
        )

    def _show(self) -> bool:
        """Show the callback the last row; True if it asks for an end."""
        callback, row = self._callback, self.trace[-1]
        if not isinstance(callback, Watcher):
            return callback is not None and bool(callback(row))
        cpu_seconds = time.process_time() - self._cpu_started
        with self.evaluation():
            callback.see(Iterate(row, self.point.weights, cpu_seconds))
            return bool(callback(row))

    def _append(
        self,
        kkt: float,
        working_set: int,
        step: float,
        trials: int,
        inner_passes: float,
        event: str,
    ) -> None:
        calls = self.oracle.calls
        self.trace.append(
            Row(
                iteration=self.iteration,
                epoch=self.epoch,
                objective=self.point.objective,
                gap=self.gap,
                kkt=kkt,
                certified=False,
                nnz=len(self.point.weights.values),
                working_set=working_set,
                step=step,
                trials=trials,
                inner_passes=inner_passes,
                seconds=self.seconds,
                calls=dict(calls.counts),
                phase_seconds=calls.seconds | self.solver_seconds,
                event=event,
            )
        )

    def _amend(self, *, working_set: int) -> None:
        """Enter the certificate, and what it has cost, into the last row."""
        calls = self.oracle.calls
        self.trace.amend(
            replace(
                self.trace[-1],
                epoch=self.epoch,
                objective=self.point.objective,
                gap=self.gap,
                kkt=self.certificate.kkt,
                certified=True,
                nnz=len(self.point.weights.values),
                working_set=working_set,
                seconds=self.seconds,
                calls=dict(calls.counts),
                phase_seconds=calls.seconds | self.solver_seconds,
            )
        )


def spread(vector: SparseVector, coordinates: Ints) -> Floats:
    """Return the values on ``coordinates``, ascending, which contain the vector's own."""
    values = np.zeros(len(coordinates))
    values[np.searchsorted(coordinates, vector.coordinates)] = vector.values
    return values
