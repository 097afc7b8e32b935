"""From kept runs to the numbers of tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from proxqn.problem import Floats
from replication.problems.spec import ProblemSpec
from replication.runs.methods import METHODS, REFERENCE, WITHOUT_SHRINKING
from replication.runs.records import Record, Store

TOO_SHORT: Final = 0.2  # seconds: clocks tick too coarsely to compare them
LEVELS: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
BUSY: Final = 0.95  # of a core: below it, wall time says more about the others on the machine
SETTLED: Final = 0.10  # nonzeros count as settled once they stay within this of the optimum's


@final
@dataclass(frozen=True)
class Moment:
    """When a run first was at or below an objective."""

    seconds: float
    passes: float  # forward passes over all data
    iteration: int


@final
@dataclass(frozen=True)
class Run:
    """A run and its trace; arrays have one entry an iteration."""

    record: Record
    seconds: Floats  # by the study's clock
    wall: Floats  # by the wall's
    objective: Floats
    nonzeros: Floats
    passes: Floats
    steps: Floats

    @property
    def method(self) -> str:
        """The method's name."""
        return self.record.plan.method

    @property
    def title(self) -> str:
        """The method's name for a reader."""
        return METHODS[self.method].title

    @property
    def length(self) -> float:
        """Seconds of training in all, by the study's clock."""
        return float(self.seconds[-1])

    @property
    def core_share(self) -> float:
        """Processor time by wall time: below 1 where the machine was shared."""
        return _core_share(self.record)

    def first_at(self, objective: float) -> Moment | None:
        """Return when the run first was this low, or None if it never was."""
        there = np.flatnonzero(self.objective <= objective)
        if len(there) == 0:
            return None
        i = int(there[0])
        return Moment(float(self.seconds[i]), float(self.passes[i]), i)

    def settled_at(self, nonzeros: int) -> float | None:
        """Return the seconds from which on the nonzeros stay near a number, or None."""
        far = np.flatnonzero(np.abs(self.nonzeros - nonzeros) > SETTLED * nonzeros)
        after = int(far[-1]) + 1 if len(far) else 0
        return float(self.seconds[after]) if after < len(self.seconds) else None


@final
@dataclass(frozen=True)
class Comparison:
    """All runs on one problem at one λ."""

    lam: float
    optimum: float  # the lowest objective any run has reached
    bound: float | None  # proved: the optimum is not below it
    nonzeros: int  # of the reference
    scores: dict[str, float]  # of the reference
    runs: tuple[Run, ...]  # without the reference, in the methods' order
    failed: tuple[Record, ...]
    reference: Record  # the best run where none was made

    @property
    def shrinking(self) -> tuple[Run, ...]:
        """The runs to be compared by time."""
        return tuple(run for run in self.runs if run.method not in WITHOUT_SHRINKING)

    @property
    def proved(self) -> float | None:
        """How far the optimum can be below the one found, relatively."""
        return None if self.bound is None else (self.optimum - self.bound) / self.optimum

    def run(self, method: str) -> Run | None:
        """Return a method's run, if there is one."""
        return next((run for run in self.runs if run.method == method), None)

    def moment(self, run: Run, level: float) -> Moment | None:
        """Return when a run came within a relative error."""
        return run.first_at(self.optimum * (1.0 + level))

    def error(self, run: Run) -> Floats:
        """Return ``(f(w_t) - f(w*)) / f(w*)`` at every iteration."""
        return (run.objective - self.optimum) / self.optimum

    def best_error(self, run: Run) -> float:
        """Return the smallest relative error of a run."""
        return float(self.error(run).min())

    def ranking(self, level: float, among: Sequence[str] | None = None) -> list[tuple[Run, Moment]]:
        """Return the runs that came within a level, the quickest first."""
        found = [
            (run, moment)
            for run in self.shrinking
            if (among is None or run.method in among)
            and (moment := self.moment(run, level)) is not None
        ]
        return sorted(found, key=lambda pair: pair[1].seconds)


@final
@dataclass(frozen=True)
class Study:
    """All comparisons on one problem, the main λ first."""

    spec: ProblemSpec
    comparisons: tuple[Comparison, ...]
    missing: tuple[str, ...]  # runs that were asked for and are not there
    processor_clock: bool  # whether seconds are the processor's

    @property
    def clock(self) -> str:
        """What seconds are, for axes."""
        return f"{'processor ' if self.processor_clock else ''}seconds of training"

    @property
    def main(self) -> Comparison:
        """The comparison of the main figures."""
        return self.comparisons[0]


def study(spec: ProblemSpec, store: Store, asked: Sequence[str], main: float) -> Study | None:
    """Read the runs on a problem; None where there is none.

    Where a run on one thread did not have a core to itself, all are timed by the processor's clock.
    """
    same = [r for r in store.records() if r.origin.data == spec.identity]
    shares = [_core_share(record) for record in same if record.seconds > TOO_SHORT]
    by_processor = spec.threads == 1 and min(shares, default=1.0) < BUSY
    lams = sorted({record.plan.lam for record in same}, key=lambda lam: (lam != main, lam))
    column = "cpu_seconds" if by_processor else "seconds"
    found = [_compare(lam, [r for r in same if r.plan.lam == lam], store, column) for lam in lams]
    there = {record.plan.name for record in same}
    missing = tuple(name for name in asked if name not in there)
    comparisons = tuple(each for each in found if each is not None)
    return Study(spec, comparisons, missing, by_processor) if comparisons else None


def _core_share(record: Record) -> float:
    return record.cpu_seconds / record.seconds if record.seconds > 0 else 1.0


def _compare(lam: float, records: list[Record], store: Store, clock: str) -> Comparison | None:
    order = list(METHODS)
    finished = sorted(
        (record for record in records if not record.failed and record.objective is not None),
        key=lambda record: order.index(record.plan.method),
    )
    runs = [_read(record, store, clock) for record in finished if record.plan.method != REFERENCE]
    if not runs:
        return None
    made = next((record for record in finished if record.plan.method == REFERENCE), None)
    best = min(runs, key=lambda run: float(run.objective[-1])).record
    reference = made or best
    lowest = [float(run.objective.min()) for run in runs]
    bounds = [
        r.objective - r.gap for r in finished if r.objective is not None and r.gap is not None
    ]
    assert reference.objective is not None
    assert reference.nonzeros is not None
    return Comparison(
        lam=lam,
        optimum=min(reference.objective, *lowest),
        bound=max(bounds) if bounds else None,
        nonzeros=reference.nonzeros,
        scores=reference.scores,
        runs=tuple(runs),
        failed=tuple(record for record in records if record.failed),
        reference=reference,
    )


def _read(record: Record, store: Store, clock: str) -> Run:
    trace = store.trace(record.plan.name)
    columns = (clock, "seconds", "objective", "nnz", "n_forward", "step")
    return Run(record, *(trace[column] for column in columns))
