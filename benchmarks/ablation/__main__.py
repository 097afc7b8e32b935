"""The solver without each of its ideas, on all problems: runs, kept as data.

    python -m benchmarks.ablation [--quick] [--jobs 16] [--total 380] [--seconds 20]
                                  [--seeds 0,1] [--ideas draws,…] [--cases ocr-100,…]
                                  [--out FILE]
    python -m benchmarks.ablation.page [--runs FILE] [--out docs/ablation.md]

Every run is a process of its own on one thread, and ends at a gap of 1e-4 of the objective, after
300 iterations or ``--seconds`` of the processor. A round makes all runs with one seed, the most
telling ideas first; ``--total`` seconds after the start everything is cut off, so that less time
means fewer repetitions. What FILE holds already is not run again. Data are read from PROXQN_DATA,
or ``shared/data`` beside the repository. The second command writes the page.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ablation import ideas, problems
from benchmarks.ablation.one_run import Task, attempt
from benchmarks.data import REPOSITORY, MissingDataError
from benchmarks.versions import fingerprint_of_sources, machine

RUNS = REPOSITORY / "out" / "ablation.json"
NOISE = 1  # seeds more with everything on: how far two runs differ by luck
PRELOADED = ["benchmarks.ablation.one_run", "benchmarks.versions"]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def tasks(args: argparse.Namespace, cases: list[str], folder: Path) -> list[Task]:
    """Return all runs, the most important first."""
    chosen = args.ideas.split(",") if args.ideas else [idea.name for idea in ideas.IDEAS]
    found = []
    for seed in map(int, args.seeds.split(",")):
        full = [("full", seed)] + [("full", seed + k) for k in range(1, NOISE + 1)]
        for name, its_seed in [*full, *((name, seed) for name in chosen)]:
            found += [Task(name, case, its_seed, folder, args.seconds) for case in cases]
    return list(dict.fromkeys(found))


def prepared(pool: Any, cases: list[str], folder: Path) -> list[str]:
    """Encode the data of the cases at once, and return those cases whose data are there."""
    data = sorted({problems.CASES[case].data for case in cases} - {""})
    waiting = {name: pool.apply_async(problems.prepare, (name, folder)) for name in data}
    missing = set()
    for name, result in waiting.items():
        try:
            result.get()
        except MissingDataError as error:
            say(f"{name} is left out: {error}")
            missing.add(name)
    return [case for case in cases if problems.CASES[case].data not in missing]


def finished(pool: Any, waiting: list[Task], until: float) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Yield results as they come, until the time is over."""
    results = pool.imap_unordered(attempt, waiting)
    for _ in waiting:
        try:
            yield results.next(timeout=max(until - time.monotonic(), 0.0))
        except multiprocessing.TimeoutError:
            say("the time is over: what runs now is given up")
            return


def keep(path: Path, found: dict[str, Any]) -> None:
    """Write the results whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    beside.replace(path)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="two small problems, a minute or two")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--total", type=float, default=7200.0, help="seconds until all is cut off")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a run's processor, at most")
    parser.add_argument("--seeds", default="0", help="a round of all runs for each")
    parser.add_argument("--ideas", help=", ".join(ideas.BY_NAME))
    parser.add_argument("--cases", help=", ".join(problems.CASES))
    parser.add_argument("--out", type=Path, default=RUNS)
    return parser.parse_args()


def main() -> None:
    """Encode the data, run what is not there yet, keep the figures."""
    args, began = parse(), time.monotonic()
    for name in THREADS:  # read by the libraries of the processes to come
        os.environ[name] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    found = json.loads(args.out.read_text()) if args.out.exists() else {"runs": {}}
    found |= {"machine": machine(), "sources": fingerprint_of_sources()}
    found |= {"jobs": args.jobs, "seconds": args.seconds}
    default = problems.QUICK if args.quick else problems.FULL
    cases = args.cases.split(",") if args.cases else [case.name for case in default]
    with (
        tempfile.TemporaryDirectory(prefix="proxqn-ablation-") as folder,
        context.Pool(args.jobs, maxtasksperchild=1) as pool,
    ):
        cases = prepared(pool, cases, Path(folder))
        say(f"data of {len(cases)} problems encoded after {time.monotonic() - began:.0f} s")
        waiting = [t for t in tasks(args, cases, Path(folder)) if t.key not in found["runs"]]
        report = partial(_report, n=len(waiting), began=began)
        for k, (task, result) in enumerate(finished(pool, waiting, began + args.total), 1):
            found["runs"][task.key] = result
            if k % 50 == 0 or "error" in result:
                report(k, task, result)
                keep(args.out, found)
        pool.terminate()
    keep(args.out, found)
    say(f"{len(found['runs'])} runs in {args.out} after {time.monotonic() - began:.0f} s")


def _report(k: int, task: Task, result: dict[str, Any], *, n: int, began: float) -> None:
    trouble = f": {result['error']}" if "error" in result else ""
    say(f"{k} of {n} after {time.monotonic() - began:.0f} s, {task.key}{trouble}")


if __name__ == "__main__":
    main()
