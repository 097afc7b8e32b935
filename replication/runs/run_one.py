"""One run: a method on a loaded problem, watched, timed and scored.

Timing rules are the paper's: the clock runs while a method trains. Scores on test data, the
certificate of methods that do without a full gradient, and SGD's objective are evaluation and not
counted. Iterates are set aside as the run goes, which costs nothing, and scored after it.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

import numpy as np

from proxqn import minimize
from proxqn.minimization import Solver
from proxqn.problem import SparseVector
from replication.problems.load import Problem
from replication.runs.machine import load_average, peak_bytes
from replication.runs.methods import METHODS
from replication.runs.records import Origin, Plan, Record
from replication.runs.watching import Observer, Tell, outcome_of

_NO_LIMIT: Final = 10_000_000  # iterations; seconds end a run


def run_one(
    plan: Plan,
    problem: Problem,
    origin: Origin,
    *,
    paper_rate: float,
    reference: float | None,
    load_seconds: float,
    alone: bool = True,
    tell: Tell = lambda seconds, objective, nonzeros: None,
) -> tuple[Record, list[dict[str, Any]]]:
    """Make a run and return its record and the rows of its trace.

    Parameters
    ----------
    reference : float or None
        The reference's objective, if it is known.
    alone : bool
        Whether this process makes no other run, so that its peak memory is this run's.
    tell : callable
        Given seconds, objective and nonzeros now and then, for progress.
    """
    target = None
    if reference is not None and plan.stop_error is not None:
        target = reference * (1.0 + plan.stop_error)
    solver = METHODS[plan.method].solver(paper_rate)
    observer = Observer(plan.seconds, target, tell, keep=plan.scored)
    started, load, began = datetime.now(UTC), load_average(), time.perf_counter()
    result = minimize(
        problem.oracle,
        plan.lam,
        solver=solver,
        tol=plan.tol,
        stop="gap",
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
        outcome=outcome_of(result.status, reached=observer.reached),
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


def settings_of(solver: Solver) -> dict[str, Any]:
    """Return a solver's settings as JSON would have them."""
    fields: Any = solver  # every solver's settings are a dataclass
    plain: dict[str, Any] = _plain(asdict(fields))
    return {"solver": type(solver).__name__} | plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inside) for name, inside in value.items()}
    return value.name.lower() if isinstance(value, Enum) else value
