"""What a stored run belongs to: the same problem, trained by the same versions on this machine."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY
from benchmarks.peers.problem import Problem
from benchmarks.trainers import Trainer

SOURCES = ("src/proxqn/**/*.py", "cpp/**/*.?pp")  # what our own runs depend on


def fingerprint_of_sources() -> str:
    """Return a digest of our source files: a run of ours is stale once any of them changes."""
    digest = hashlib.sha256()
    for pattern in SOURCES:
        for path in sorted(REPOSITORY.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint_of_problem(problem: Problem) -> str:
    """Return a digest of the data."""
    digest = hashlib.sha256()
    X = problem.X
    for array in (X.indptr, X.indices, X.data, problem.y, problem.lengths):
        digest.update(array.tobytes())
    return digest.hexdigest()[:12]


def versions(trainer: Trainer) -> dict[str, str]:
    """Return what the trainer's times depend on."""
    if trainer.module == "ours":
        return {"proxqn": version("proxqn"), "sources": fingerprint_of_sources()}
    return {package: version(package) for package in trainer.packages}


def machine() -> dict[str, Any]:
    """Return what the times depend on besides."""
    return {"python": platform.python_version(), "cpu": _cpu(), "system": platform.system()}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    names = {key.strip(): value.strip() for key, value in fields.items()}
    return f"{names.get('model name', '')} model {names.get('model', '')}"
