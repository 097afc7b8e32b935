"""Runs on disk: one JSON file a (problem, trainer), reused while nothing it depends on changes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measure import Record


class Store:
    """A folder of runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "runs"

    def find(self, key: dict[str, Any], problem: str, trainer: str) -> Record | None:
        """Return the stored run if it has the same digest, flags, versions and machine."""
        path = self._path(problem, trainer)
        if not path.exists():
            return None
        record = _read(path)
        same = all(getattr(record, name) == value for name, value in key.items())
        return record if same else None

    def save(self, record: Record) -> Path:
        """Write a run, in place of an older one of the same trainer on the same problem."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(record.problem, record.trainer)
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in asdict(record).items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return path

    def records(self) -> list[Record]:
        """Return all stored runs."""
        return [_read(path) for path in sorted(self.folder.glob("*.json"))]

    def _path(self, problem: str, trainer: str) -> Path:
        return self.folder / f"{problem}.{trainer}.json"


def _read(path: Path) -> Record:
    return Record(**json.loads(path.read_text()))
