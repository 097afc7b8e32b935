"""Run a peer in a process of its own, so that its peak memory and its crashes are its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .problem import Problem
from .run import PeerRun

REPOSITORY = Path(__file__).parents[2]
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON")
}


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
        problem_path = Path(folder, "problem.npz")
        problem.save(problem_path)
        return run_saved(peer, problem_path, flags)


def run_saved(peer: str, problem_path: Path, flags: Sequence[str]) -> PeerRun:
    """Do the same with a problem that `Problem.save` has written."""
    with tempfile.TemporaryDirectory(prefix="proxqn-bench-") as folder:
        run_path = Path(folder, "run.json")
        module = f"benchmarks.peers.{peer}"
        command = [sys.executable, "-m", module, str(problem_path), str(run_path), *flags]
        subprocess.run(command, cwd=REPOSITORY, env=os.environ | ONE_THREAD, check=True)
        return PeerRun.load(run_path)
