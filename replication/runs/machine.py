"""Where and with what a run was made: the part of a record that times depend on."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import proxqn

_PACKAGES: Final = ("proxqn", "numpy", "scipy", "scikit-learn")
# Parts of the package that no run's result or time depends on.
_APART: Final = {"cli", "ui", "io", "compat.py", "_moved.py", "_old"}


def machine() -> dict[str, Any]:
    """Return processor, cores, memory and system; no name and no address of the machine."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory GB": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes, and a digest of this package's own code."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found | {"code": code_digest()}


@cache
def code_digest() -> str:
    """Return a digest of the code that runs depend on, compiled kernels included."""
    root = Path(proxqn.__file__).parent
    files = [*root.rglob("*.py"), *root.rglob("*.npz"), *_kernel_files()]
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        if path.is_relative_to(root) and path.relative_to(root).parts[0] in _APART:
            continue
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def load_average() -> float | None:
    """Return how many processes wanted a core in the last minute, where the system tells."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def peak_bytes() -> int | None:
    """Return the largest memory this process has held, where the system tells."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if platform.system() == "Darwin" else peak * 1024)


def _kernel_files() -> list[Path]:
    found = find_spec("proxqn._kernels")
    return [Path(found.origin)] if found is not None and found.origin else []


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _memory_gb() -> int | None:
    try:
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
    return round(pages / 1e9)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
