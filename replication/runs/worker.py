"""The process in which runs are made: ``python -m replication.runs.worker``.

It reads one JSON request from standard input (data, plans, where to keep the runs), loads the data
once, makes the runs one after the other, keeps each as soon as it is finished, and tells of its
progress in JSON lines on standard output. A run that fails is kept as failed, and the next one
begins.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self, final

from replication.problems.load import Problem, load
from replication.problems.spec import ProblemSpec
from replication.runs.methods import REFERENCE
from replication.runs.records import Origin, Outcome, Plan, Record, Store
from replication.runs.run_one import run_one


@final
@dataclass(frozen=True)
class Request:
    """Runs on one problem, to be made in one process."""

    spec: ProblemSpec
    plans: tuple[Plan, ...]
    folder: str

    def to_json(self) -> str:
        """Write the request in one line."""
        plans = [asdict(plan) for plan in self.plans]
        return json.dumps({"spec": self.spec.to_json(), "plans": plans, "folder": self.folder})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        given = json.loads(text)
        plans = tuple(Plan(**plan) for plan in given["plans"])
        return cls(ProblemSpec.from_json(given["spec"]), plans, given["folder"])


def failure(plan: Plan, origin: Origin, message: str) -> Record:
    """Return the record of a run that came to nothing."""
    return Record(plan, origin, {}, Outcome.FAILED, message)


def work(request: Request) -> None:
    """Make the runs of a request."""
    store, spec = Store(Path(request.folder)), request.spec
    origin = Origin(spec.identity)
    _tell(request.plans[0].name, "loading")
    began = time.perf_counter()
    problem = load(spec)
    load_seconds = time.perf_counter() - began
    for plan in request.plans:
        record, rows = _run(plan, problem, origin, store, request, load_seconds)
        store.save(record, rows)
        _tell(plan.name, "done")


def _run(
    plan: Plan,
    problem: Problem,
    origin: Origin,
    store: Store,
    request: Request,
    load_seconds: float,
) -> tuple[Record, list[dict[str, Any]]]:
    reference = store.find(replace(plan, method=REFERENCE).name)
    known = plan.method != REFERENCE and reference is not None

    def tell(seconds: float, objective: float, nonzeros: int) -> None:
        _tell(plan.name, "training", seconds=seconds, objective=objective, nnz=nonzeros)

    try:
        return run_one(
            plan,
            problem,
            origin,
            paper_rate=request.spec.paper_rate,
            reference=reference.objective if known and reference is not None else None,
            load_seconds=load_seconds,
            alone=len(request.plans) == 1,
            tell=tell,
        )
    except (ArithmeticError, MemoryError, ValueError) as error:
        return failure(plan, origin, f"{type(error).__name__}: {error}"), []


def _tell(run: str, state: str, **figures: float) -> None:
    """Write a line of news; if nobody reads it any more, the error ends this process."""
    print(json.dumps({"run": run, "state": state, **figures}), flush=True)


if __name__ == "__main__":
    try:
        work(Request.from_json(sys.stdin.readline()))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
