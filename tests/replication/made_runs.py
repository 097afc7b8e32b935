"""Runs written down by hand, so that what is said about them can be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from replication.problems.spec import ProblemSpec
from replication.runs.methods import REFERENCE
from replication.runs.records import Origin, Outcome, Plan, Record, Store

MACHINE = {"processor": "<none>", "cores": 2, "memory GB": 1, "system": "Linux"}
VERSIONS = {"python": "3.12", "code": "abc"}
# Seconds, objective and nonzeros of a few iterations.
Points = Sequence[tuple[float, float, int]]


def origin(spec: ProblemSpec) -> Origin:
    return Origin(spec.identity, MACHINE, VERSIONS)


def keep(store: Store, spec: ProblemSpec, lam: float, method: str, points: Points) -> Record:
    """Keep a run with these points; its passes are its iterations."""
    plan = Plan(spec.kind, method, lam, 10.0, scored=True)
    seconds, objective, nonzeros = points[-1]
    record = Record(
        plan,
        origin(spec),
        {"seed": 0},
        Outcome.TIME,
        "",
        sizes={"weights": 100},
        objective=objective,
        gap=1e-9 * objective if method == REFERENCE else None,
        nonzeros=nonzeros,
        scores={"accuracy": 0.75},
        scored=[{"seconds": s, "accuracy": 0.7} for s, _, _ in points],
        seconds=seconds,
        cpu_seconds=seconds,
        started="2026-01-01T00:00:00+00:00",
    )
    rows = [
        {
            "seconds": s,
            "cpu_seconds": s,
            "objective": f,
            "nnz": n,
            "n_forward": i,
            "step": 0.5,
            "event": "",
        }
        for i, (s, f, n) in enumerate(points)
    ]
    store.save(record, rows)
    return record


def made_store(
    folder: Path, spec: ProblemSpec, lam: float, runs: Mapping[str, Points], optimum: float = 100.0
) -> Store:
    """Keep a reference at the optimum, with 50 nonzeros, and runs."""
    store = Store(folder)
    keep(store, spec, lam, REFERENCE, [(0.0, 200.0, 0), (1.0, optimum, 50)])
    for method, points in runs.items():
        keep(store, spec, lam, method, points)
    return store
