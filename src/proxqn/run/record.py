"""The record of a run while it goes: its clock, and a row an iteration, shown to who looks on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, final

from proxqn.problem.meter import Calls
from proxqn.problem.sparse import SparseVector
from proxqn.run.trace import Row, Trace
from proxqn.run.watch import Callback, Iterate, Watcher


@final
class Clock:
    """A clock that can be stopped, and an account of phases.

    Attributes
    ----------
    phases : dict
        Seconds spent in each phase of the solver's own.

    Examples
    --------
    >>> clock = Clock()
    >>> with clock.timed("inner"):
    ...     pass
    >>> clock.phases["inner"] <= clock.seconds
    True
    """

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
        self._stopped: tuple[float, float] | None = None  # when; None while it runs

    @property
    def seconds(self) -> float:
        """Seconds since the start, without those off the clock."""
        now = time.perf_counter() if self._stopped is None else self._stopped[0]
        return now - self._started

    @property
    def cpu_seconds(self) -> float:
        """Seconds of the process on all its threads, without those off the clock."""
        now = time.process_time() if self._stopped is None else self._stopped[1]
        return now - self._cpu_started

    def declare(self, *phases: str) -> None:
        """Name phases, so that every row of a trace has them."""
        for phase in phases:
            self.phases.setdefault(phase, 0.0)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Charge the seconds spent inside to a phase."""
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self.phases[phase] = self.phases.get(phase, 0.0) + spent

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Stop the clock: what is inside measures the iterate and does not help to find it."""
        self._stopped = time.perf_counter(), time.process_time()
        try:
            with self.timed("evaluation"):
                yield
        finally:
            wall, cpu = self._stopped
            self._stopped = None
            self._started += time.perf_counter() - wall
            self._cpu_started += time.process_time() - cpu


@final
class Record:
    """Trace, clock and callback of a run.

    Parameters
    ----------
    calls : Calls
        What the oracle is charged with; it enters the rows.
    callback : callable, optional
        Shown each row once nothing changes it any more; may ask for an end.
    clock : Clock, optional
        Another run's, of which this one is a part.
    """

    def __init__(
        self, calls: Calls, callback: Callback | None = None, clock: Clock | None = None
    ) -> None:
        self.trace, self.clock = Trace(), clock or Clock()
        self.iteration = self.epoch = 0
        self._calls, self._callback = calls, callback
        if isinstance(callback, Watcher):
            self.clock.declare("evaluation")

    def append(self, **facts: Any) -> None:
        """Add a row: what it is told, where it stands, what has been spent."""
        known: dict[str, Any] = {
            "kkt": math.inf,
            "certified": False,
            "working_set": 0,
            "step": math.nan,
            "trials": 1,
            "inner_passes": 0.0,
        }
        self.trace.append(Row(**(known | facts | self._spent())))

    def amend(self, **facts: Any) -> None:
        """Enter something into the last row, and what it has cost to find out."""
        self.trace.amend(replace(self.trace[-1], **(facts | self._spent())))

    def show(self, weights: SparseVector) -> bool:
        """Show the last row, and the weights it is about; True if the callback asks for an end."""
        callback, row = self._callback, self.trace[-1]
        if not isinstance(callback, Watcher):
            return callback is not None and bool(callback(row))
        cpu_seconds = self.clock.cpu_seconds
        with self.clock.evaluation():
            score = callback.see(Iterate(row, weights, cpu_seconds))
            if score is not None:
                self.trace.amend(replace(row, score=score))
            return bool(callback(self.trace[-1]))

    def _spent(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "epoch": self.epoch,
            "seconds": self.clock.seconds,
            "calls": dict(self._calls.counts),
            "phase_seconds": self._calls.seconds | self.clock.phases,
        }
