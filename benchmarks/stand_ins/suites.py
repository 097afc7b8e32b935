"""Test suites of others, run by pytest in processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data import REPOSITORY

_COUNT = re.compile(r"(\d+) (passed|failed|skipped|xfailed|xpassed|errors?)")


@dataclass(frozen=True)
class Outcome:
    """How a suite went."""

    counts: dict[str, int]
    failed: tuple[str, ...]  # names of tests
    output: str

    @property
    def text(self) -> str:
        """The counts in words."""
        return ", ".join(f"{n} {what}" for what, n in self.counts.items()) or "did not run"


def run(folder: Path, tests: str, *, ours: bool, doctests: bool = False) -> Outcome:
    """Run the tests of a folder, with our modules in place or with the originals."""
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}", "-rf"]
    command += ["-p", "no:cacheprovider", "-W", "ignore", "--tb=line"]
    command += ["-p", "benchmarks.stand_ins.place"] * ours + ["--doctest-modules"] * doctests
    paths = os.pathsep.join([str(REPOSITORY), str(folder), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, tests],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    last = done.stdout.strip().splitlines()[-1:] or [""]
    counts = {what: int(n) for n, what in _COUNT.findall(last[0])}
    failed = tuple(re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE))
    return Outcome(counts, failed, done.stdout + done.stderr)
