"""One run: a method on a loaded problem, watched, timed and scored.

Timing rules are the paper's: the clock runs while a method trains. Scores on test data, the
certificate of methods that do without a full gradient, and SGD's objective are evaluation and not
counted. Iterates are set aside as the run goes, which costs nothing, and scored after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, final

import numpy as np

from proxqn.experiments.machine import load_average, peak_bytes
from proxqn.experiments.methods import METHODS
from proxqn.experiments.problems import Problem
from proxqn.experiments.records import Origin, Outcome, Plan, Record
from proxqn.minimization import Solver, minimize
from proxqn.problem import SparseVector
from proxqn.run.trace import Row
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.recording import Iterate, Watcher

_NO_LIMIT: Final = 10_000_000  # iterations; seconds end a run
_SCORE_EVERY: Final = 1.25  # an iterate is set aside when training time has grown by this factor
_FIRST_SCORE: Final = 0.01  # seconds
_NEWS_SECONDS: Final = 0.25

News = Callable[[Row, float], None]  # a row, and the seconds that count


@final
class _Observer(Watcher):
    """Ends a run in time, tells of it, and sets iterates aside for scoring."""

    def __init__(self, plan: Plan, target: float | None, tell: News) -> None:
        self._plan, self._target, self._tell = plan, target, tell
        self.reached = False
        self.cpu: dict[int, float] = {}  # by iteration
        self.kept: list[tuple[float, SparseVector]] = []
        self._keep_at = 0.0
        self._told_at = -np.inf

    def see(self, iterate: Iterate) -> None:
        row = iterate.row
        self.cpu[row.iteration] = iterate.cpu_seconds
        if self._plan.scored and row.seconds >= self._keep_at:
            self.kept.append((row.seconds, iterate.weights))
            self._keep_at = max(_SCORE_EVERY * row.seconds, _FIRST_SCORE)

    def __call__(self, row: Row) -> bool:
        # On a shared machine a run waits for its core: that must not cost it iterations.
        spent = min(row.seconds, self.cpu.get(row.iteration, row.seconds))
        if time.monotonic() - self._told_at >= _NEWS_SECONDS:
            self._tell(row, spent)
            self._told_at = time.monotonic()
        self.reached = self._target is not None and row.objective <= self._target
        return self.reached or spent >= self._plan.seconds


def execute(
    plan: Plan,
    problem: Problem,
    origin: Origin,
    *,
    paper_rate: float,
    reference: float | None,
    load_seconds: float,
    alone: bool = True,
    tell: News = lambda row, spent: None,
) -> tuple[Record, list[dict[str, Any]]]:
    """Make a run and return its record and the rows of its trace.

    Parameters
    ----------
    reference : float or None
        The reference's objective, if it is known.
    alone : bool
        Whether this process makes no other run, so that its peak memory is this run's.
    tell : callable
        Given a row now and then, for progress.
    """
    target = None
    if reference is not None and plan.stop_error is not None:
        target = reference * (1.0 + plan.stop_error)
    solver = METHODS[plan.method].solver(paper_rate)
    observer = _Observer(plan, target, tell)
    started, load, began = datetime.now(UTC), load_average(), time.perf_counter()
    result = minimize(
        problem.oracle,
        plan.lam,
        solver=solver,
        tol=plan.tol,
        max_iter=_NO_LIMIT,
        callback=observer,
    )
    wall = time.perf_counter() - began
    last = result.trace[-1]
    weights = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
    scores = problem.score(weights)
    record = Record(
        plan=plan,
        origin=origin,
        settings=settings_of(solver),
        outcome=_outcome(result.status, reached=observer.reached),
        message=result.message,
        sizes=problem.sizes,
        objective=float(result.fun),
        gap=float(result.gap) if np.isfinite(result.gap) else None,
        nonzeros=int(result.nnz),
        scores=scores,
        scored=[{"seconds": s, **problem.score(w)} for s, w in observer.kept]
        + ([{"seconds": last.seconds, **scores}] if plan.scored else []),
        seconds=last.seconds,
        cpu_seconds=max(observer.cpu.values(), default=0.0),
        wall_seconds=wall,
        load_seconds=load_seconds,
        peak_bytes=peak_bytes() if alone else None,
        started=started.isoformat(timespec="seconds"),
        load_average=load,
    )
    rows = [
        row.flat() | {"cpu_seconds": observer.cpu.get(row.iteration, np.nan)}
        for row in result.trace
    ]
    return record, rows


def _outcome(status: Status, *, reached: bool) -> Outcome:
    if status.success:
        return Outcome.CONVERGED
    match status:
        case Status.CALLBACK:
            return Outcome.TARGET if reached else Outcome.TIME
        case Status.STALLED:
            return Outcome.STALLED
        case _:
            return Outcome.FAILED


def settings_of(solver: Solver) -> dict[str, Any]:
    """Return a solver's settings as JSON would have them."""
    fields: Any = solver  # every solver's settings are a dataclass
    plain: dict[str, Any] = _plain(asdict(fields))
    return {"solver": type(solver).__name__} | plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inside) for name, inside in value.items()}
    return value.name.lower() if isinstance(value, Enum) else value
