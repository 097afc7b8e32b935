"""Runs on disk: a line of JSON a (problem, trainer), reused while nothing it depends on changes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measure import Record


class Store:
    """The file ``runs.jsonl`` in a folder: what tables and figures are made of."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "runs.jsonl"

    def find(self, key: dict[str, Any], problem: str, trainer: str) -> Record | None:
        """Return the stored run if it has the same digest, flags, versions and machine."""
        for record in self.records():
            if (record.problem, record.trainer) == (problem, trainer):
                same = all(getattr(record, name) == value for name, value in key.items())
                return record if same else None
        return None

    def save(self, record: Record) -> Path:
        """Write a run, in place of an older one of the same trainer on the same problem."""
        kept = {(each.problem, each.trainer): each for each in self.records()}
        kept[record.problem, record.trainer] = record
        lines = [
            json.dumps(asdict(kept[name]), ensure_ascii=False, separators=(",", ":"))
            for name in sorted(kept)
        ]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        beside = self.file.with_suffix(".part")
        beside.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(beside, self.file)
        return self.file

    def records(self) -> list[Record]:
        """Return all stored runs."""
        if not self.file.exists():
            return []
        text = self.file.read_text(encoding="utf-8")
        return [Record(**json.loads(line)) for line in text.splitlines()]
