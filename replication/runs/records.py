"""A run as it is kept: what was asked for, what came out, and on what machine.

One run, one method and one λ, is two files: ``NAME.csv`` with a row an iteration and ``NAME.json``
with everything else. Both are written at once and whole; the JSON comes last, so where it is the
run is finished.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from proxqn.problem import Floats
from replication.runs.machine import machine, versions
from replication.whole_files import write_whole


class Outcome(StrEnum):
    """Why a run ended; the value is what the reader sees."""

    TARGET = "reached the reference's objective"
    CONVERGED = "converged by its duality gap"
    TIME = "time was up"
    STALLED = "no step made progress any more"
    FAILED = "failed"


@final
@dataclass(frozen=True)
class Plan:
    """A run to be made.

    Attributes
    ----------
    problem : str
        The kind of data.
    seconds : float
        Of training, at the most.
    tol : float
        The relative duality gap to end at.
    stop_error : float or None
        End once this near to the reference's objective, relatively; None runs on to ``tol``.
    scored : bool
        Whether test scores are taken along the way, not only at the end.
    """

    problem: str
    method: str
    lam: float
    seconds: float
    tol: float = 1e-9
    stop_error: float | None = 1e-8
    scored: bool = False

    @property
    def name(self) -> str:
        """Of the run's files."""
        return f"{self.problem}.lam{self.lam:g}.{self.method}"


@final
@dataclass(frozen=True)
class Origin:
    """What a run's figures depend on besides its plan."""

    data: dict[str, Any]
    machine: dict[str, Any] = field(default_factory=machine)
    versions: dict[str, str] = field(default_factory=versions)


@final
@dataclass(frozen=True)
class Record:
    """A finished run."""

    plan: Plan
    origin: Origin
    settings: dict[str, Any]  # of the solver, the seed among them
    outcome: str
    message: str
    sizes: dict[str, int] = field(default_factory=dict)
    objective: float | None = None
    gap: float | None = None  # absolute; None where none was found
    nonzeros: int | None = None
    scores: dict[str, float] = field(default_factory=dict)  # at the end
    scored: list[dict[str, float]] = field(default_factory=list)  # seconds and scores on the way
    seconds: float = 0.0  # of training
    cpu_seconds: float = 0.0  # of training, by the processor's clock
    wall_seconds: float = 0.0  # with evaluation
    load_seconds: float = 0.0
    peak_bytes: int | None = None
    started: str = ""  # UTC
    load_average: float | None = None  # when it started

    @property
    def failed(self) -> bool:
        """Whether there is no result."""
        return self.outcome == Outcome.FAILED

    def to_json(self) -> str:
        """Write the record, a line for each field."""
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in asdict(self).items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        given = json.loads(text)
        given["plan"], given["origin"] = Plan(**given["plan"]), Origin(**given["origin"])
        return cls(**given)


@final
class Store:
    """The runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"

    def save(self, record: Record, rows: list[dict[str, Any]]) -> None:
        """Write a run; the trace first, so that a record is never without one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = io.StringIO(newline="")
        if rows:
            columns = dict.fromkeys(column for row in rows for column in row)
            writer = csv.DictWriter(text, list(columns), restval=0.0)  # a phase not yet entered
            writer.writeheader()
            writer.writerows(rows)
        write_whole(text.getvalue().encode(), self._path(record.plan.name, "csv"))
        write_whole(record.to_json().encode(), self._path(record.plan.name, "json"))

    def find(self, name: str) -> Record | None:
        """Return a finished run, or None; a file that is no record counts as none."""
        path = self._path(name, "json")
        if not path.is_file():
            return None
        try:
            return Record.from_json(path.read_text(encoding="utf-8"))
        except (ValueError, TypeError, KeyError):
            return None

    def records(self) -> list[Record]:
        """Return all finished runs, by name."""
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        return [record for name in names if (record := self.find(name)) is not None]

    def trace(self, name: str) -> dict[str, Floats]:
        """Return the columns of a run's trace that are numbers."""
        with self._path(name, "csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            return {}
        words = {"event", "certified"}
        return {
            column: np.array([float(row[column]) for row in rows])
            for column in rows[0]
            if column not in words
        }

    def _path(self, name: str, ending: str) -> Path:
        return self.folder / f"{name}.{ending}"


def why_not_reused(kept: Record | None, plan: Plan, origin: Origin) -> str | None:
    """Say why a kept run does not answer a plan; None where it does.

    A longer run answers a plan for a shorter one, and a run that ended by itself answers any.
    """
    if kept is None:
        return "not made yet"
    if kept.failed:
        return "failed before"
    if kept.origin.data != origin.data:
        return "other data"
    if kept.origin.machine != origin.machine:
        return "another machine"
    if kept.origin.versions != origin.versions:
        return "other versions or other code"
    wanted = replace(plan, scored=plan.scored or kept.plan.scored)  # scores unasked do no harm
    if replace(kept.plan, seconds=plan.seconds) != wanted:
        return "other settings"
    if kept.outcome == Outcome.TIME and kept.plan.seconds < plan.seconds:
        return f"ended after {kept.plan.seconds:g} s"
    return None
