"""Two states of the sources on the same problems, in turn: seconds, passes, objectives, bits.

    python -m benchmarks.before_after BEFORE [--repeat 3] [--problems ocr-100,…] [--threads 1,2,3]

BEFORE is a commit, or a folder with its files. Both states are built and installed into folders
of their own; then every problem is solved by the one and the other in turn, each time in a process
of its own on one thread, and the fastest of the runs counts, in seconds of the processor. With
``--threads`` the later state is also run with as many threads, and the bits of its weights are
compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY, data_file
from benchmarks.tables import markdown

from benchmarks import problems

# Relative gaps to reach: what each problem's proof gets to in a reasonable time.
TOLERANCES = {
    "ocr-50": 1e-5, "ocr-100": 1e-5, "ocr-500": 1e-5, "conll-observed": 1e-2, "conll-all": 1e-2,
    "long": 1e-4, "many": 1e-3, "tree": 1e-2,
}  # fmt: skip
TREE_LAM = 1.0
RUNNER = Path(__file__).with_name("one_state.py")


@dataclass(frozen=True)
class State:
    """One state of the sources, installed into a folder."""

    name: str
    site: Path

    def run(self, task: dict[str, Any], threads: int = 1) -> dict[str, Any]:
        """Solve a problem in a process of its own."""
        environment = os.environ | {
            "PYTHONPATH": str(self.site), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        }  # fmt: skip
        command = [sys.executable, str(RUNNER), json.dumps(task | {"threads": threads})]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=self.site
        )
        if done.returncode:
            raise RuntimeError(f"{self.name} failed on {task['name']}: {done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


def install(source: Path, site: Path) -> None:
    """Build the sources and put the package into a folder."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation"]
    command += ["--no-deps", "--no-index", "--target", str(site), str(source)]
    subprocess.run(command, check=True)


def sources(before: str, folder: Path) -> Path:
    """Return a folder with the sources of a commit, or the folder that was named."""
    if Path(before).is_dir():
        return Path(before).resolve()
    archive = ["git", "archive", before, "src", "cpp", "CMakeLists.txt", "pyproject.toml"]
    packed = subprocess.run(
        [*archive, "README.md", "LICENSE"], cwd=REPOSITORY, capture_output=True, check=True
    )
    place = folder / "sources"
    place.mkdir()
    subprocess.run(["tar", "-x", "-C", str(place)], input=packed.stdout, check=True)
    return place


def prepare(name: str, folder: Path) -> dict[str, Any]:
    """Write the data of a problem, and return what is to be solved."""
    if name == "tree":
        path = data_file("newsgroups", "tree_bydate.npz")
        task = {"lam": TREE_LAM, "tree": True}
    else:
        spec = problems.SPECS[name]
        path = folder / f"{name}.npz"
        spec.load().save(path)
        task = {"lam": spec.lam, "observed": spec.observed_only}
    return task | {"name": name, "data": str(path), "tol": TOLERANCES[name]}


def compare(task: dict[str, Any], states: list[State], repeat: int) -> list[str]:
    """Return a row of the table."""
    runs: list[list[dict[str, Any]]] = [[], []]
    for _ in range(repeat):
        for state, its in zip(states, runs, strict=True):
            its.append(state.run(task))
    old, new = (min(its, key=lambda run: run["cpu"]) for its in runs)
    difference = abs(new["objective"] - old["objective"]) / abs(old["objective"])
    return [
        task["name"], f"{task['tol']:g}", f"{old['cpu']:.2f}", f"{new['cpu']:.2f}",
        f"{new['cpu'] / old['cpu']:.2f}", f"{old['passes']:.1f}", f"{new['passes']:.1f}",
        f"{new['objective']:.7g}", f"{difference:.0e}",
    ]  # fmt: skip


HEADER = ["problem", "gap", "s before", "s now", "ratio", "passes before", "passes now",
          "objective", "differ by"]  # fmt: skip


def main() -> None:
    """Install both, run all, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="a commit, or a folder with its files")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--problems", default=",".join(TOLERANCES))
    parser.add_argument("--threads", default="", help="also compare the bits of so many threads")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proxqn-states-") as name:
        folder = Path(name)
        states = [State("before", folder / "before"), State("now", folder / "now")]
        install(sources(args.before, folder), states[0].site)
        install(REPOSITORY, states[1].site)
        rows = []
        for problem in args.problems.split(","):
            task = prepare(problem, folder)
            rows.append(compare(task, states, args.repeat))
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
            if args.threads:
                digests = {states[1].run(task, int(n))["digest"] for n in args.threads.split(",")}
                said = "the same bits" if len(digests) == 1 else "DIFFERENT BITS"
                print(f"{problem}: {said} for {args.threads} threads", flush=True)
        print(markdown(HEADER, rows))


if __name__ == "__main__":
    main()
