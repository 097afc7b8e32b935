"""What people train every day, CRFsuite beside us, in one run.

    python -m benchmarks.everyday [--problems "tweets 0.1,…"] [--seconds 60] [--out FILE]

Each trainer has a process of its own and one thread; seconds are of the processor. Of every problem
two things are shown. *The solver*: CRFsuite's time to its own last objective (it is given
``--seconds``, and no rule of its own ends it) divided by ours to the same, and the same for 1 %
above the best objective known. *The whole fit*: dicts in, model out, both with default settings,
CRFsuite with the 100 iterations of sklearn-crfsuite's tutorial. Problems nobody looked at while the
solver was tuned come first, the worst of them at the top.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import REPOSITORY
from benchmarks.everyday.problems import BY_NAME, PROBLEMS, Problem
from benchmarks.peers.isolated import ONE_THREAD
from benchmarks.tables import markdown

OUT = REPOSITORY / "out" / "everyday.json"
CLOSE = 0.01  # above the best objective known
HEADER = [
    "problem", "to their last", "to 1 %", "whole fit", "theirs, s", "ours, s", "objective",
    "accuracy", "true error", "warned",
]  # fmt: skip


def run(problem: Problem, trainer: str, seconds: float) -> dict[str, Any]:
    """Run one trainer in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.everyday.trainer", trainer, problem.name]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], cwd=REPOSITORY, env=os.environ | ONE_THREAD,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{trainer} on {problem.name}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def time_to(path: list[list[float]], objective: float) -> float:
    """Return the seconds until a path is at or below an objective; infinite if it never is."""
    return next((seconds for seconds, value in path if value <= objective), math.inf)


def figures(found: dict[str, Any]) -> dict[str, float]:
    """Return the ratios of a problem, CRFsuite's time divided by ours."""
    ours, theirs = found["proxqn"], found["crfsuite"]
    best = min(value for one in (ours, theirs) for _, value in one["path"])
    last = min(value for _, value in theirs["path"])
    near = best * (1.0 + CLOSE)
    their_last, their_near = time_to(theirs["path"], last), time_to(theirs["path"], near)
    if math.isinf(their_near):
        their_near = theirs["path"][-1][0]  # at least
    return {
        "last": their_last / time_to(ours["path"], last),
        "near": their_near / time_to(ours["path"], near),
        "whole": theirs["whole"] / ours["whole"],
        "objective": ours["objective"] / theirs["objective"] - 1.0,
        "accuracy": ours["accuracy"] - theirs["accuracy"],
        "error": ours["objective"] / best - 1.0,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the rows, the unseen and the worst first, and medians."""
    numbers = {name: figures(one) for name, one in found.items()}
    order = sorted(numbers, key=lambda name: (not BY_NAME[name].unseen, numbers[name]["last"]))
    rows = []
    for name in order:
        one, of = found[name], numbers[name]
        rows.append([
            name + (" *" if BY_NAME[name].unseen else ""),
            f"{of['last']:.1f}", f"{of['near']:.1f}", f"{of['whole']:.1f}",
            f"{one['crfsuite']['whole']:.1f}", f"{one['proxqn']['whole']:.2f}",
            f"{of['objective']:+.1e}", f"{of['accuracy']:+.4f}", f"{of['error']:.0e}",
            "yes" if one["proxqn"]["warned"] else "",
        ])  # fmt: skip
    unseen = [name for name in order if BY_NAME[name].unseen]
    for title, names in (("median, unseen", unseen), ("median, all", order)):
        if names:
            middles = [median(numbers[n][key] for n in names) for key in ("last", "near", "whole")]
            shown = [f"**{middle:.1f}**" for middle in middles]
            rows.append([title, *shown, *[""] * (len(HEADER) - 4)])
    return markdown(HEADER, rows)


def main() -> None:
    """Run what is asked for, keep it, print the table of all that is kept."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.everyday",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--problems", help=", ".join(BY_NAME))
    parser.add_argument("--seconds", type=float, default=60.0, help="of each long run")
    parser.add_argument("--ours-only", action="store_true", help="keep CRFsuite's earlier runs")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    chosen = [BY_NAME[n] for n in args.problems.split(",")] if args.problems else list(PROBLEMS)
    found: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for problem in chosen:
        kept = found.get(problem.name, {})
        again = ("proxqn",) if args.ours_only and "crfsuite" in kept else ("proxqn", "crfsuite")
        found[problem.name] = kept | {name: run(problem, name, args.seconds) for name in again}
        print(problem.name, figures(found[problem.name]), file=sys.stderr, flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(found) + "\n")
    print(table({name: one for name, one in found.items() if name in BY_NAME}))


if __name__ == "__main__":
    main()
