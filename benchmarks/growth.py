"""How our time grows with tokens, labels and λ, and what a second thread brings.

    python -m benchmarks.growth [--quick] [--part tokens|labels|lam|threads] [--out DIR]

Every point is a process of its own, to a duality gap of 1e-4.

Tokens: the same sequences k times with k λ, so that the objective is k times what it was, the
solution is exactly the same and only the data grow. (More *different* sequences with λ in
proportion are another problem: the gradient's noise grows as √n, λ as n, so that small samples have
λ below the noise and far more nonzero weights.) Labels: λ at five standard deviations of a noise
feature's derivative, which falls as 1/√labels.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.data import REPOSITORY
from benchmarks.generated import Shape, generate
from benchmarks.peers.isolated import run_isolated, run_saved
from benchmarks.peers.problem import Problem
from benchmarks.peers.run import PeerRun
from benchmarks.problems import MANY, MANY_LAM, ocr
from benchmarks.tables import markdown, seconds
from benchmarks.versions import fingerprint_of_sources, machine
from scipy import sparse

from benchmarks import ceilings

TOL = 1e-4
BASE = replace(MANY, n_sequences=6250)  # 125,000 tokens
BASE_LAM = 25.0
QUICK_BASE = Shape(1000, 20, 10, n_words=500, n_noise=500, noise_per_token=5)
QUICK_LAM = 20.0
LABELS = Shape(400, 50, 10, n_words=1000, n_noise=1000, noise_per_token=10)
SAME_SOLUTION = 2 * TOL  # two objectives, each within a gap of TOL of the optimum
THREAD_RUNS = 7
Row = dict[str, Any]


def solve(problem: Problem, lam: float, n_jobs: int = 1) -> PeerRun:
    """Run our solver alone."""
    flags = ["--lam", repr(lam), "--tol", repr(TOL), "--n-jobs", str(n_jobs)]
    return run_isolated("ours", problem, flags)


def row(what: str, value: float, run: PeerRun) -> Row:
    """Return the figures of a run."""
    last = run.history[-1]
    return {
        what: value,
        "seconds": run.train_seconds,
        "CPU seconds": run.train_cpu_seconds,
        "CPU ms an iteration": 1e3 * run.train_cpu_seconds / max(last.number, 1),
        "preparation": run.prepare_seconds,
        "iterations": last.number,
        "forward passes": (last.calls or {}).get("forward"),
        "nonzeros": last.nonzeros,
        "peak MB": run.train_peak_bytes / 1e6,
    }


def repeated(problem: Problem, times: int) -> Problem:
    """Return the problem with every sequence so many times."""
    X: Any = sparse.vstack([problem.X] * times, format="csr")
    return Problem(X, np.tile(problem.y, times), np.tile(problem.lengths, times), problem.n_labels)


def tokens(*, quick: bool) -> list[Row]:
    """Return the growth with the number of tokens.

    Raises
    ------
    RuntimeError
        If the objective does not grow in proportion: then more than the data has changed.
    """
    base, base_lam = (QUICK_BASE, QUICK_LAM) if quick else (BASE, BASE_LAM)
    problem, rows, first = generate(base), [], None
    for times in (1, 2, 4) if quick else (1, 2, 4, 8, 16):
        run = solve(repeated(problem, times), times * base_lam)
        objective = run.history[-1].logged_objective / times
        first = first or objective
        if abs(objective / first - 1.0) > SAME_SOLUTION:
            raise RuntimeError(f"{times} copies: {objective} a copy, expected {first}")
        rows.append(row("tokens", times * base.n_tokens, run))
    return rows


def labels(*, quick: bool) -> list[Row]:
    """Return the growth with the number of labels, at 20,000 tokens."""
    often = LABELS.n_tokens * LABELS.noise_per_token / LABELS.n_noise  # a noise feature occurs
    rows = []
    for n in (10, 20, 40) if quick else (10, 25, 50, 100, 200):
        run = solve(generate(replace(LABELS, n_labels=n)), 5.0 * (often / n) ** 0.5)
        rows.append(row("labels", n, run))
    return rows


def lam(*, quick: bool) -> list[Row]:
    """Return the growth as λ falls, on OCR."""
    problem = ocr(1, 1000) if quick else ocr()
    values = (50.0, 20.0, 10.0) if quick else (1000.0, 500.0, 200.0, 100.0, 50.0, 25.0)
    return [row("λ", value, solve(problem, value)) for value in values]


def threads(*, quick: bool) -> list[Row]:
    """Return what threads bring on the many-sample problem; weights must be the same bits.

    Each number of threads runs in turn, and the fastest run of each counts: what differs between
    runs is what others do on the machine.

    Beside it stands the rate at which so many threads read and write memory, where no cache helps:
    what waits for memory gains no more than that does.
    """
    shape, lam = (BASE, BASE_LAM) if quick else (MANY, MANY_LAM)
    runs: dict[int, list[PeerRun]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="proxqn-threads-") as folder:
        path = Path(folder, "problem.npz")
        generate(shape).save(path)
        for _ in range(THREAD_RUNS):
            for n_jobs, same in runs.items():
                flags = ["--lam", repr(lam), "--tol", repr(TOL), "--n-jobs", str(n_jobs)]
                same.append(run_saved("ours", path, flags))
                if not np.array_equal(same[-1].coef.data, runs[1][0].coef.data):
                    raise RuntimeError(f"the weights of {n_jobs} threads differ from those of 1")
    fastest = {n: min(same, key=lambda run: run.train_seconds) for n, same in runs.items()}
    return [
        row("threads", n, run)
        | {
            "slowest": max(other.train_seconds for other in runs[n]),
            "times faster": fastest[1].train_seconds / run.train_seconds,
            "memory, GB/s": ceilings.streaming(n) / 1e9,
        }
        for n, run in fastest.items()
    ]


PARTS: dict[str, Callable[..., list[Row]]] = {
    "tokens": tokens,
    "labels": labels,
    "lam": lam,
    "threads": threads,
}


def exponent(rows: list[Row], what: str) -> float:
    """Return the slope of log seconds (CPU) over log size: 1 is linear."""
    sizes = np.log([entry[what] for entry in rows])
    return float(np.polyfit(sizes, np.log([entry["CPU seconds"] for entry in rows]), 1)[0])


def table(rows: list[Row]) -> str:
    """Return the figures as a markdown table."""
    cells = [
        [f"{v:,}" if isinstance(v, int) else seconds(v) for v in entry.values()] for entry in rows
    ]
    return markdown(list(rows[0]), cells)


def main() -> None:
    """Measure, print, and write ``growth.json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    results = REPOSITORY / "benchmarks" / "results"
    out = args.out or (results / "quick" if args.quick else results)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "growth.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for part in args.part or PARTS:
        rows = PARTS[part](quick=args.quick)
        stamp = {"machine": machine(), "sources": fingerprint_of_sources()}
        found[part] = {"rows": rows, **stamp}
        print(table(rows))
        if part in ("tokens", "labels"):
            print(f"\nCPU time grows as {part} to the power {exponent(rows, part):.2f}")
        print(flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
