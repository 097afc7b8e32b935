"""The kernels under sanitizers, compiled for each kind of processor in turn: ``make sanitize``.

Addresses and undefined behaviour, then data races, each with the kernels of each level that this
processor can run. ``make levels`` is the same without a sanitizer, and with all tests.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.proofs.builds import LEVELS, ROOT, Build, levels_at_hand

# Whatever calls kernels: products and inference against their references, the inner problem, names
# and text, prediction, whole fits.
KERNELS = [
    "tests/test_kernels.py",
    "tests/test_threads.py",
    "tests/test_pair_switches.py",
    "tests/test_pinned.py",
    "tests/losses",
    "tests/solvers/test_inner.py",
    "tests/solvers/test_estimate.py",
    "tests/solvers/test_lattices.py",
    "tests/solvers/curvature",
    "tests/solvers/rivals",
    "tests/testing/test_our_oracles.py",
    "tests/features",
    "tests/estimators/inference",
    "tests/estimators/test_edge_features.py",
    "tests/estimators/test_missing_labels.py",
]
# Those that use threads, and a fork.
THREADS = ["tests/test_threads.py", "tests/testing/test_our_oracles.py", "tests/losses"]
# Counts of whole fits: another processor takes other steps within rounding. Limits of memory and of
# time: a sanitizer has its own.
LEFT_OUT = "not test_no_more_passes_than_before and not test_where_no_thread_can_be_made"
# What asks for programs beside the interpreter, or for builds of its own.
ELSEWHERE = (
    "tests/proofs",
    "tests/benchmarks",
    "tests/replication",
    "tests/test_examples.py",
    "tests/test_guides.py",
    "tests/test_kernels_stub.py",
    "tests/test_readme.py",
)


NO_TESTS = 5  # pytest's word for it
COMPLAINTS = "ERROR: AddressSanitizer", "runtime error:", "WARNING: ThreadSanitizer"


@dataclass(frozen=True)
class Outcome:
    """How some tests went on a build."""

    build: Build
    counts: Counter[str]  # of tests: passed, failed, ...
    fault: str  # what was written, where not all is well


def run(build: Build, tests: list[str]) -> Outcome:
    """Run tests on a build."""
    arguments = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--capture=sys",
        "-k",
        LEFT_OUT,
        *tests,
    ]
    done = build.run(arguments, capture_output=True)
    written = done.stdout + done.stderr
    last = (done.stdout.strip().splitlines() or [""])[-1]
    counts = Counter(
        {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|skipped)", last)}
    )
    well = done.returncode in (0, NO_TESTS) and not any(word in written for word in COMPLAINTS)
    shown = f"{' '.join(tests)} ended with {done.returncode}\n{done.stdout[-6000:]}\n"
    shown += done.stderr[-12000:]
    return Outcome(build, counts, "" if well else shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", nargs="+", default=["address", "thread"], help="or none")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=levels_at_hand())
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("tests", nargs="*", help="instead of those that are for each check")
    options = parser.parse_args()
    missing = [level for level in LEVELS if level not in levels_at_hand()]
    if missing:
        print(f"left out, as this processor lacks them: {', '.join(missing)}")
    work = []
    for check in options.checks:
        own = {"address": KERNELS, "thread": THREADS}.get(check, ["tests"])
        for level in options.levels:
            build = Build("" if check == "none" else check, level)
            build.make(options.jobs)
            work += [(build, part) for part in _parts(options.tests or own, options.jobs)]
    counts: dict[Build, Counter[str]] = defaultdict(Counter)
    well = True
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for outcome in pool.map(lambda one: run(*one), work):
            counts[outcome.build] += outcome.counts
            if outcome.fault:
                well = False
                print(f"{outcome.build.name}: {outcome.fault}", flush=True)
    for build, found in counts.items():
        print(f"{build.name}: {', '.join(f'{n} {kind}' for kind, n in found.items())}")
    sys.exit(0 if well else 1)


def _parts(names: list[str], jobs: int) -> list[list[str]]:
    """Divide tests file by file; where there are few processors, one process takes all."""
    found = [file for name in names for file in _files(name) if not file.startswith(ELSEWHERE)]
    return [found] if jobs < 4 else [[file] for file in found]


def _files(name: str) -> list[str]:
    path = ROOT / name
    files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [str(file.relative_to(ROOT)) for file in files]


if __name__ == "__main__":
    main()
