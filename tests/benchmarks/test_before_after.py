"""Two states of the sources side by side: which is which, and what a row says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.before_after import compare, sources


@dataclass
class Fixed:
    """A state whose runs are known beforehand."""

    runs: list[dict[str, Any]]

    def run(self, task: dict[str, Any], threads: int = 1) -> dict[str, Any]:
        return self.runs.pop(0)


def test_a_folder_is_taken_as_it_is(tmp_path):
    assert sources(str(tmp_path), tmp_path) == tmp_path


def test_the_fastest_run_of_each_counts():
    before = [{"cpu": cpu, "passes": 30.0, "objective": 10.0} for cpu in (4.0, 5.0)]
    now = [{"cpu": cpu, "passes": 20.0, "objective": 10.0} for cpu in (3.0, 2.0)]
    row = compare({"name": "ocr", "tol": 1e-4}, [Fixed(before), Fixed(now)], repeat=2)
    assert row == ["ocr", "0.0001", "4.00", "2.00", "0.50", "30.0", "20.0", "10", "0e+00"]
