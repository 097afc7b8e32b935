"""The kernels under sanitizers, compiled for each kind of processor in turn: ``make sanitize``.

Addresses and undefined behaviour, then data races, each with the kernels of each level that this
processor can run. ``make levels`` is the same without a sanitizer, and with all tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

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
# Of whole fits to the last digit: another processor takes other steps within rounding.
COUNTS = "not test_no_more_passes_than_before"


def run(build: Build, tests: list[str]) -> tuple[Build, str, bool]:
    """Run tests on a build; a line that says how it went, and whether well."""
    start = time.perf_counter()
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", COUNTS, *tests]
    done = build.run(arguments, capture_output=True)
    last = done.stdout.strip().splitlines()[-1:] or ["nothing"]
    told = f"{build.check or 'no sanitizer'}, {build.level}: {last[0]}"
    told += f" [{time.perf_counter() - start:.0f} s]"
    complaints = "ERROR: AddressSanitizer", "runtime error:", "WARNING: ThreadSanitizer"
    bad = done.returncode != 0 or any(word in done.stdout + done.stderr for word in complaints)
    if bad:
        told += f"\n{done.stdout[-6000:]}\n{done.stderr[-12000:]}"
    return build, told, not bad


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
    well = True
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for _, told, fine in pool.map(lambda one: run(*one), work):
            print(told, flush=True)
            well &= fine
    sys.exit(0 if well else 1)


def _parts(names: list[str], jobs: int) -> list[list[str]]:
    """Divide tests so that each processor has some; on few of them one process takes all."""
    if jobs < 4:
        return [names]
    files = [
        [str(f.relative_to(ROOT)) for f in sorted((ROOT / name).rglob("test_*.py"))]
        if (ROOT / name).is_dir()
        else [name]
        for name in names
    ]
    return [[file] for group in files for file in group]


if __name__ == "__main__":
    main()
