"""Run a peer in a process of its own, so that its peak memory and its crashes are its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .problem import Problem
from .run import PeerRun

REPOSITORY = Path(__file__).parents[2]


def run_isolated(peer: str, problem: Problem, flags: Sequence[str]) -> PeerRun:
    """Run ``python -m benchmarks.peers.<peer> problem.npz run.json *flags`` and read the run.

    Parameters
    ----------
    peer : str
        Name of an adapter module in this folder, such as ``"crfsuite"``.
    problem : Problem
        Written to a temporary file, which the child reads: it shares nothing with the parent.
    flags : sequence of str
        The adapter's command-line flags, such as ``["--lam", "100"]``.
    """
    with tempfile.TemporaryDirectory(prefix="proxqn-bench-") as folder:
        problem_path, run_path = Path(folder, "problem.npz"), Path(folder, "run.json")
        problem.save(problem_path)
        module = f"benchmarks.peers.{peer}"
        command = [sys.executable, "-m", module, str(problem_path), str(run_path), *flags]
        subprocess.run(command, cwd=REPOSITORY, check=True)
        return PeerRun.load(run_path)
