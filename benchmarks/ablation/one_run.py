"""One run of the ablation: a problem without an idea, in figures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ablation.ideas import BY_NAME
from benchmarks.ablation.problems import CASES

from proxqn.minimization import minimize
from proxqn.problem import Oracle, SparseVector
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher

MAX_ITERATIONS = 300
TOL = 1e-4
LEAST_TIMING = 0.1  # CPU seconds of the yardstick, before a run and after it


@dataclass(frozen=True)
class Task:
    """What to run."""

    idea: str
    case: str
    seed: int
    folder: Path  # of encoded data
    seconds: float  # of the processor, at most

    @property
    def key(self) -> str:
        """Its name in the results."""
        return f"{self.idea}/{self.case}/{self.seed}"


def run(task: Task) -> dict[str, Any]:
    """Return the figures of a run: those at the end, and by iteration."""
    case = CASES[task.case]
    oracle = case.oracle(task.folder)
    watcher, before = _Watcher(task.seconds), _pass_seconds(oracle)
    with BY_NAME[task.idea].switched_off(task.seed) as settings:
        result = minimize(
            oracle,
            case.lam,
            l2=case.l2,
            solver=settings,
            tol=TOL,
            stop="gap",
            max_iter=MAX_ITERATIONS,
            callback=watcher,
        )
    return {
        "objective": result.fun,
        "gap": result.gap,
        "status": result.status.name,
        "iterations": result.nit,
        "nonzeros": result.nnz,
        "pass_seconds": (before + _pass_seconds(oracle)) / 2,
        "history": watcher.history,
    }


def attempt(task: Task) -> tuple[Task, dict[str, Any]]:
    """Run; what goes wrong is a result as well."""
    try:
        return task, run(task)
    except Exception as error:
        return task, {"error": repr(error)[:300]}


class _Watcher(Watcher):
    """Takes down what each iteration has cost and reached; ends a run that takes too long."""

    def __init__(self, seconds: float) -> None:
        self.history: dict[str, list[float | None]] = {
            name: [] for name in ("objective", "gap", "passes", "cpu")
        }
        self._seconds = seconds

    def see(self, iterate: Iterate) -> None:
        row = iterate.row
        gap = row.gap if row.gap < float("inf") else None
        passes = row.calls["forward"] + row.calls["draw"]
        found = row.objective, gap, round(passes, 2), round(iterate.cpu_seconds, 4)
        for column, value in zip(self.history.values(), found, strict=True):
            column.append(value)

    def __call__(self, row: Row) -> bool:
        return (self.history["cpu"][-1] or 0.0) > self._seconds


def _pass_seconds(oracle: Oracle) -> float:
    """Return CPU seconds of a forward and a backward pass: how fast the machine is just now."""
    calls, began = 0, time.process_time()
    while calls < 3 or time.process_time() - began < LEAST_TIMING:
        oracle.at(SparseVector.empty())
        calls += 1
    return (time.process_time() - began) / calls
