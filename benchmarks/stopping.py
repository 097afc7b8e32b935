"""Where a fit with default settings stops, and how far its estimates are from the truth.

    python -m benchmarks.stopping [--cases wnut-net,…] [--held-out] [--tol 1e-4] [--seconds 120]
                                  [--out FILE]

Each problem is solved three times: by default, closely (``tol`` a hundredth), and until nothing
more is gained, which tells the optimum. A row says when the default run stopped, when it first was
within 1e-4 of the optimum, how far it was at the end, and on how many tokens its labels are those
of the optimum. The estimates of the first two runs, at looks where the error is below 1e-2, are
divided by the true error. Problems that nobody looked at while the rule was made are told apart
(``HELD_OUT``).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ablation.problems import CASES, prepare
from benchmarks.data import REPOSITORY, MissingDataError
from benchmarks.generated import Shape, generate
from benchmarks.peers.problem import Problem

from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.inference.tagger import Tagger
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.minimization import minimize
from proxqn.problem import Oracle, SparseVector
from proxqn.run.trace import Row, Trace

RESULTS = REPOSITORY / "benchmarks" / "results" / "stopping.json"
FIRST = 1e-4  # of the optimum: where a fit is as good as anybody needs it
COUNTED = 1e-2  # estimates at larger errors do not count
BEST_TOL = 1e-9  # of the run that tells the optimum
NOISE = 3.0  # times what that run may be off: smaller errors are not told


@dataclass(frozen=True)
class Case:
    """A loss and its penalty."""

    name: str
    lam: float
    l2: float
    oracle: Callable[[Path], Oracle]
    data: Callable[[Path], Problem] | None  # of a chain: to label it


def _made(name: str, shape: Shape, pairs: Pairs, seed: int, lam: float, l2: float = 0.0) -> Case:
    def data(folder: Path) -> Problem:
        return generate(shape, seed)

    def oracle(folder: Path) -> Oracle:
        p = data(folder)
        return ChainOracle(p.X, p.y, p.lengths, n_labels=p.n_labels, pairs=pairs)

    return Case(name, lam, l2, oracle, data)


def _known(name: str) -> Case:
    case = CASES[name]

    def oracle(folder: Path) -> Oracle:
        prepare(case.data, folder)
        return case.oracle(folder)

    def data(folder: Path) -> Problem:
        return Problem.load(folder / f"{case.data}.npz")

    return Case(name, case.lam, case.l2, oracle, data if case.data else None)


_TEXT = Shape(400, 18, 9, n_words=4000, n_noise=3000, noise_per_token=3)
_MANY = Shape(150, 25, 40, n_words=2500, n_noise=1500, noise_per_token=2)
_LONG = Shape(12, 600, 6, n_words=3000, n_noise=4000, noise_per_token=4)
_SHORT = Shape(3000, 3, 5, n_words=2000, n_noise=1000, noise_per_token=2)

TUNED = tuple(_known(name) for name in CASES)
HELD_OUT = (
    _made("text-1", _TEXT, Pairs.OBSERVED, 11, 1.0),
    _made("text-0.2", _TEXT, Pairs.OBSERVED, 12, 0.2),
    _made("text-net", _TEXT, Pairs.OBSERVED, 13, 0.1, 0.2),
    _made("text-all-0.5", _TEXT, Pairs.ALL, 14, 0.5),
    _made("many-1", _MANY, Pairs.OBSERVED, 15, 1.0),
    _made("many-all-net", _MANY, Pairs.ALL, 16, 0.3, 0.1),
    _made("long-2", _LONG, Pairs.ALL, 17, 2.0),
    _made("short-0.5", _SHORT, Pairs.ALL, 18, 0.5),
)
ALL = {case.name: case for case in TUNED + HELD_OUT}


@dataclass(frozen=True)
class Result:
    """What a problem's runs have shown; errors are shares of the optimum."""

    name: str
    status: str
    iterations: int
    first: int | None  # the iteration that first came within FIRST
    error: float
    estimate: float
    gap: float
    ratios: list[float]  # of estimates to true errors
    equal: float | None  # share of tokens labelled as at the optimum
    cpu: float
    share: float  # of the default run's seconds that looks and estimates took
    sure: float  # what the optimum may be off, at most about


def solve(case: Case, folder: Path, tol: float, seconds: float) -> Result:
    """Run one problem."""
    best, default, cpu, close = _runs(case, folder, tol, seconds)
    optimum = min(best.fun, close.fun, default.fun)
    sure = min(best.estimate, best.gap) / abs(optimum)
    ratios = [
        ratio
        for run in (default, close)
        for ratio in _ratios(run.trace, optimum, max(NOISE * sure, 1e-8))
    ]
    last = default.trace[-1].phase_seconds
    spent = sum(last.get(phase, 0.0) for phase in ("sweep", "estimate"))
    return Result(
        case.name,
        default.status.name,
        default.nit,
        _first(close.trace if _first(default.trace, optimum) is None else default.trace, optimum),
        default.fun / optimum - 1.0,
        default.estimate / optimum,
        default.gap / optimum,
        ratios,
        _equal(case, folder, default.weights, best.weights),
        cpu,
        spent / default.trace[-1].seconds,
        sure,
    )


def _runs(case: Case, folder: Path, tol: float, seconds: float) -> tuple[Any, Any, float, Any]:
    def run(tol: float) -> tuple[Any, float]:
        oracle, began = case.oracle(folder), time.process_time()
        until = began + seconds

        def late(row: Row) -> bool:
            return time.process_time() > until

        found = minimize(oracle, case.lam, l2=case.l2, tol=tol, max_iter=5000, callback=late)
        return found, time.process_time() - began

    (default, cpu), (close, _), (best, _) = run(tol), run(tol / 100.0), run(BEST_TOL)
    return best, default, cpu, close


def _first(trace: Trace, optimum: float) -> int | None:
    reached = (row.iteration for row in trace if row.objective - optimum <= FIRST * abs(optimum))
    return next(reached, None)


def _ratios(trace: Trace, optimum: float, least: float) -> Iterable[float]:
    for row in trace:
        error = row.objective / optimum - 1.0
        if math.isfinite(row.estimate) and least <= error <= COUNTED:
            yield row.estimate / (row.objective - optimum)


def _equal(case: Case, folder: Path, one: SparseVector, other: SparseVector) -> float | None:
    """Return the share of tokens on which two weight vectors' labellings agree."""
    oracle = case.oracle(folder)
    if case.data is None or not isinstance(oracle, ChainOracle):
        return None
    data = case.data(folder)
    labels = [
        Tagger(ChainWeights.from_oracle(oracle, w, data.X.shape[1])).best_labels(
            data.X, data.lengths, 1
        )
        for w in (one, other)
    ]
    return float(np.mean(labels[0] == labels[1]))


def table(results: list[Result]) -> str:
    """Return the rows as they stand in the documentation."""
    rows = [
        "| problem | stops after | first within 1e-4 | error | estimated | proved | labels equal "
        "| looks and estimates |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in results:
        equal = "–" if r.equal is None else f"{r.equal:.3%}"
        proved = f"{r.gap:.1e}" if math.isfinite(r.gap) else "–"
        rows.append(
            f"| {r.name} | {r.iterations} | {r.first} | {r.error:.1e} | {r.estimate:.1e} "
            f"| {proved} | {equal} | {r.share:.0%} |"
        )
    return "\n".join(rows)


def summary(title: str, results: list[Result]) -> str:
    """Return medians and worst cases."""
    ratios = np.array([ratio for r in results for ratio in r.ratios])
    good = np.mean((ratios >= 0.5) & (ratios <= 4.0)) if len(ratios) else math.nan
    late = [r.iterations / r.first for r in results if r.first]
    errors = [r.error for r in results]
    equal = [r.equal for r in results if r.equal is not None]
    return "\n".join([
        f"{title}: {len(results)} problems",
        f"  estimate ÷ true error at {len(ratios)} looks: {good:.0%} from 0.5 to 4; "
        f"median {np.median(ratios):.2f}, least {ratios.min(initial=math.inf):.2f}, "
        f"largest {ratios.max(initial=0.0):.2f}",
        f"  error where it stops: median {np.median(errors):.1e}, worst {max(errors):.1e}",
        f"  iterations ÷ those to 1e-4: median {np.median(late):.2f}, worst {max(late):.2f}",
        f"  labels equal: worst {min(equal):.3%}",
        f"  looks and estimates: median {np.median([r.share for r in results]):.0%}, "
        f"worst {max(r.share for r in results):.0%} of the seconds",
    ])  # fmt: skip


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stopping", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", help=", ".join(ALL))
    parser.add_argument("--held-out", action="store_true", help="those alone")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor, a run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    names = args.cases.split(",") if args.cases else [case.name for case in HELD_OUT]
    if not args.cases and not args.held_out:
        names += [case.name for case in TUNED]
    kept = json.loads(args.out.read_text()) if args.out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="proxqn-stopping-") as folder:
        for name in names:
            try:
                found = solve(ALL[name], Path(folder), args.tol, args.seconds)
            except MissingDataError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
            kept[name] = asdict(found)
            args.out.write_text(json.dumps(kept, indent=1) + "\n")
            print(table([found]).splitlines()[-1], file=sys.stderr, flush=True)
    for title, cases in (("held out", HELD_OUT), ("tuned on", TUNED)):
        results = [Result(**kept[case.name]) for case in cases if case.name in kept]
        if results:
            print(f"{summary(title, results)}\n\n{table(results)}\n")


if __name__ == "__main__":
    main()
