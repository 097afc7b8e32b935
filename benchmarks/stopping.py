"""Where a fit with default settings stops, and how far its estimates are from the truth.

    python -m benchmarks.stopping [--cases text-1,…] [--held-out | --looked-at] [--tol 1e-4]
                                  [--seconds 20] [--out FILE]

Each problem is solved three times: by default, closely (``tol`` a hundredth), and until nothing
more is gained, which tells the optimum. A row says when the default run stopped, when it first was
within 1e-4 of the optimum, how far it was at the end, and on how many tokens its labels are those
of the optimum; whether it warned; and how many iterations a proof of one per cent takes. The
estimates of the first two runs, at looks where the error is below 1e-2, are divided by the true
error. Problems that nobody looked at while the rules were made are told apart
(``benchmarks/stopping_problems.py``).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.data import REPOSITORY, MissingDataError
from benchmarks.stopping_problems import ALL, HELD_OUT, LOOKED_AT, Case

from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.inference.tagger import Tagger
from proxqn.losses.chain.oracle import ChainOracle
from proxqn.minimization import minimize
from proxqn.problem import SparseVector
from proxqn.run.trace import Row, Trace
from proxqn.solvers.standing import Stop

RESULTS = REPOSITORY / "benchmarks" / "results" / "stopping.json"
FIRST = 1e-4  # of the optimum: where a fit is as good as anybody needs it
COUNTED = 1e-2  # estimates at larger errors do not count
LEAST_LAM = 0.1  # below, proofs may take their time
PROOF = 1e-2  # how much is to be proved with stop="gap"
BEST_TOL = 1e-9  # of the run that tells the optimum
NOISE = 3.0  # times what that run may be off: smaller errors are not told


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
    warned: bool  # that it did not converge
    proof: int | None  # iterations until one per cent is proved, with stop="gap"
    lam: float


def solve(case: Case, folder: Path, tol: float, seconds: float) -> Result:
    """Run one problem."""
    lam = case.strength(folder)
    best, default, cpu, close, proof = _runs(case, folder, lam, tol, seconds)
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
        not default.success,
        proof.nit if proof.success else None,
        lam,
    )


def _runs(case: Case, folder: Path, lam: float, tol: float, seconds: float) -> Any:
    def run(tol: float, stop: Stop = "estimate") -> tuple[Any, float]:
        oracle, began = case.oracle(folder), time.process_time()
        until = began + seconds

        def late(row: Row) -> bool:
            return time.process_time() > until

        how = {"tol": tol, "max_iter": 1000 if tol >= 1e-4 else 5000, "stop": stop}
        found = minimize(oracle, lam, l2=case.l2, callback=late, **how)
        return found, time.process_time() - began

    (default, cpu), (close, _), (best, _) = run(tol), run(tol / 100.0), run(BEST_TOL)
    return best, default, cpu, close, run(PROOF, "gap")[0]


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
        "| problem | λ | stops after | first within 1e-4 | error | estimated ÷ true | proved "
        "| labels equal | looks and estimates | warned | to a proof of 1 % |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|",
    ]
    for r in results:
        equal = "–" if r.equal is None else f"{r.equal:.3%}"
        proved = f"{r.gap:.1e}" if math.isfinite(r.gap) else "–"
        rows.append(
            f"| {r.name} | {r.lam:.2g} | {r.iterations} | {r.first} | {r.error:.1e} "
            f"| {_range(r.ratios)} | {proved} | {equal} | {r.share:.0%} "
            f"| {'yes' if r.warned else 'no'} | {r.proof or 'no'} |"
        )
    return "\n".join(rows)


def _range(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f} ({len(ratios)})" if ratios else "–"


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
        f"  labels equal: worst {min(equal, default=1.0):.3%}; "
        f"warned: {sum(r.warned for r in results)}",
        f"  looks and estimates: median {np.median([r.share for r in results]):.0%}, "
        f"worst {max(r.share for r in results):.0%} of the seconds",
        f"  iterations to a proof of 1 %: {_proofs(results)}",
    ])  # fmt: skip


def _proofs(results: list[Result]) -> str:
    """Return median and largest of those with a λ that is not tiny; a proof that did not come."""
    counts = [math.inf if r.proof is None else r.proof for r in results if r.lam >= LEAST_LAM]
    if not counts:
        return "–"
    return f"median {np.median(counts):g}, worst {max(counts):g} where λ ≥ {LEAST_LAM:g}"


def main() -> None:
    """Run, print and keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stopping", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", help=", ".join(ALL))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--held-out", action="store_true", help="those alone")
    which.add_argument("--looked-at", action="store_true", help="the others alone")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the processor, a run")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    names = args.cases.split(",") if args.cases else list(ALL)
    if args.held_out or args.looked_at:
        names = [case.name for case in (HELD_OUT if args.held_out else LOOKED_AT)]
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
    for title, cases in (("held out", HELD_OUT), ("looked at", LOOKED_AT)):
        results = [Result(**kept[case.name]) for case in cases if case.name in kept]
        if results:
            print(f"{summary(title, results)}\n\n{table(results)}\n")


if __name__ == "__main__":
    main()
