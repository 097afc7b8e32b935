"""What the tests reach: lines and branches of the package and of its kernels.

``make coverage``. Each file of tests runs in a process of its own, on a build that counts;
``--from`` names files or folders. Python is counted by coverage.py, C++ by gcov. Branches that GCC
makes for exceptions do not count: ``out_of_memory.py`` takes those.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.proofs.builds import ROOT, Build, levels_at_hand

DATA = ROOT / "build" / "proofs" / "coverage"
OWN_PROCESS_LIMIT = 900  # seconds
PYTHON, CPP = (95.0, 90.0), (95.0, 90.0)  # per cent of lines and of branches asked for


def settings(site: Path) -> Path:
    """Write coverage.py's settings; the installed files stand for those of src."""
    file = DATA / "coveragerc"
    file.write_text(
        f"""[run]
branch = true
parallel = true
source_pkgs = proxqn
data_file = {DATA}/data/.coverage
omit = */proxqn/_old/*
[paths]
package =
    {ROOT}/src/proxqn
    {site}/proxqn
[report]
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @abstractmethod
    ^\\s*\\.\\.\\.$
    : \\.\\.\\.$
    @overload
    assert_never
"""
    )
    return file


def run_tests(build: Build, files: list[str], jobs: int) -> list[str]:
    """Run each file of tests under coverage; those that fail are returned."""
    rc = settings(build.site)
    (DATA / "data").mkdir(exist_ok=True)

    def one(file: str) -> tuple[str, int, str]:
        pytest = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", file]
        command = ["-m", "coverage", "run", f"--rcfile={rc}", *pytest]
        try:
            done = build.run(command, capture_output=True, timeout=OWN_PROCESS_LIMIT)
        except subprocess.TimeoutExpired:
            return file, -1, "took too long"
        return file, done.returncode, done.stdout[-1500:]

    failed = []
    with ThreadPoolExecutor(jobs) as pool:
        for file, code, tail in pool.map(one, files):
            if code:
                failed.append(file)
                print(f"{file} ended with {code}\n{tail}", flush=True)
    return failed


def python_report(show_missing: int) -> tuple[float, float]:
    """Combine what processes counted; return per cent of lines and of branches."""
    rc, report = f"--rcfile={DATA}/coveragerc", DATA / "python.json"
    command = [sys.executable, "-m", "coverage"]
    left = list((DATA / "data").glob(".coverage.*"))
    if left:
        subprocess.run([*command, "combine", "--quiet", "--append", rc], check=True, cwd=ROOT)
    subprocess.run(
        [*command, "json", "--quiet", rc, f"--data-file={DATA}/data/.coverage", "-o", str(report)],
        check=True,
        cwd=ROOT,
    )
    found = json.loads(report.read_text())
    totals = found["totals"]
    lines = 100.0 * totals["covered_lines"] / totals["num_statements"]
    branches = 100.0 * totals["covered_branches"] / totals["num_branches"]
    worst = sorted(
        found["files"].items(),
        key=lambda item: -len(item[1]["missing_lines"]) - len(item[1]["missing_branches"]),
    )
    for name, file in worst[:show_missing]:
        if file["missing_lines"] or file["missing_branches"]:
            print(f"  {name}: lines {file['missing_lines']}, branches {file['missing_branches']}")
    return lines, branches


def cpp_report(objects: Path, show_missing: int) -> tuple[float, float]:
    """Read gcov's counts of our files; a line of several instances is reached if one of them is."""
    lines: dict[str, dict[int, int]] = defaultdict(dict)
    branches: dict[str, dict[tuple[int, int], int]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        counts = [str(file) for file in objects.rglob("*.gcda") if "_kernels.dir" in str(file)]
        for file in counts:
            gcov = ["gcov", "--json-format", "--stdout", "--branch-probabilities", file]
            done = subprocess.run(gcov, capture_output=True, text=True, cwd=folder, check=True)
            for document in done.stdout.splitlines():
                _add(json.loads(document), objects, lines, branches)
    hit = sum(count > 0 for file in lines.values() for count in file.values())
    taken = sum(count > 0 for file in branches.values() for count in file.values())
    n_lines, n_branches = (sum(map(len, found.values())) for found in (lines, branches))
    unreached = {
        name: sorted(
            {n for n, count in file.items() if not count}
            | {n for (n, _), count in branches[name].items() if not count}
        )
        for name, file in lines.items()
    }
    for name, missing in sorted(unreached.items(), key=lambda item: -len(item[1]))[:show_missing]:
        if missing:
            print(f"  {name}: {missing}")
    return 100.0 * hit / max(n_lines, 1), 100.0 * taken / max(n_branches, 1)


def _add(document, objects, lines, branches) -> None:  # type: ignore[no-untyped-def]
    where = Path(document["current_working_directory"])
    for file in document["files"]:
        path = os.path.relpath((where / file["file"]).resolve(), ROOT)
        if not path.startswith("cpp" + os.sep):
            continue
        for line in file["lines"]:
            n = line["line_number"]
            lines[path][n] = max(lines[path].get(n, 0), line["count"])
            ways = [way for way in line["branches"] if not way["throw"]]
            if len(ways) < 2:
                continue
            for i, way in enumerate(ways):
                branches[path][n, i] = max(branches[path].get((n, i), 0), way["count"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--from", dest="tests", nargs="*", default=["tests"])
    parser.add_argument("--keep", action="store_true", help="add to what was counted before")
    parser.add_argument(
        "--missing", type=int, default=0, metavar="FILES", help="show those left out"
    )
    options = parser.parse_args()
    build = Build("coverage", levels_at_hand()[0])
    build.make(options.jobs)
    DATA.mkdir(parents=True, exist_ok=True)
    if not options.keep:
        for file in [*build.objects.rglob("*.gcda"), *DATA.glob("data/.coverage*")]:
            file.unlink()
    tests = sorted(
        {str(file) for name in options.tests for file in _files(ROOT / name)},
        key=lambda file: -os.path.getsize(file),
    )
    failed = run_tests(build, [os.path.relpath(file, ROOT) for file in tests], options.jobs)
    python = python_report(options.missing)
    cpp = cpp_report(build.objects, options.missing)
    print(f"Python: {python[0]:.1f} % of lines, {python[1]:.1f} % of branches")
    print(f"C++: {cpp[0]:.1f} % of lines, {cpp[1]:.1f} % of branches ({build.level})")
    enough = all(x >= y for x, y in zip((*python, *cpp), (*PYTHON, *CPP), strict=True))
    if failed:
        print(f"failed: {' '.join(failed)}")
    sys.exit(0 if enough and not failed else 1)


def _files(name: Path) -> list[Path]:
    return [name] if name.is_file() else list(name.rglob("test_*.py"))


if __name__ == "__main__":
    main()
