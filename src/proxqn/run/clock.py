"""The seconds of a run: those that count, those of each phase, and those that are off the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final


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
