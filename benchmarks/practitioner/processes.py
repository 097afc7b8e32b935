"""Programs run as a person runs them, with the wall and processor time they took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.data import REPOSITORY
from benchmarks.peers.isolated import ONE_THREAD

ENVIRONMENT: Mapping[str, str] = os.environ | ONE_THREAD
PROXQN = (sys.executable, "-m", "proxqn")


@dataclass(frozen=True)
class Finished:
    """A program that has ended well."""

    output: str
    wall_seconds: float
    cpu_seconds: float

    def times(self) -> dict[str, float]:
        """Return both times, for the results."""
        return {"wall_seconds": self.wall_seconds, "cpu_seconds": self.cpu_seconds}


def run(command: Sequence[Any]) -> Finished:
    """Run a program to its end; its standard output comes back.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails; its messages go to standard error.
    """
    began = time.perf_counter()
    arguments = [str(a) for a in command]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments, output)
    return Finished(output, wall, usage.ru_utime + usage.ru_stime)
