"""proxqn itself, in a process of its own like the others; the solver is a parameter.

As a program: ``python -m benchmarks.peers.ours problem.npz run.json --lam 100 --solver prox-qn``.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from proxqn import __version__
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.minimization import Solver, minimize
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher
from proxqn.solvers.prox_qn import ProxQN

from .command_line import parser
from .memory import peak_bytes
from .problem import Problem
from .run import Iteration, PeerRun

NO_LIMIT = 1_000_000
PAPER = "prox-qn-paper"


def train(
    problem: Problem,
    lam: float,
    *,
    solver: str = "prox-qn",
    tol: float = 1e-8,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    target: float | None = None,
    observed_only: bool = False,
    n_jobs: int = 1,
) -> PeerRun:
    """Minimise with one of our solvers and return the weights and the trace.

    Parameters
    ----------
    problem : Problem
        The data. Hold no other reference to it to let its memory go before training starts.
    lam : float
        λ.
    solver : str
        A name for ``proxqn.minimize``, or ``"prox-qn-paper"`` for the paper's settings.
    tol : float
        Relative duality gap to stop at.
    max_iterations, max_seconds, target : optional
        Stop earlier: after so many iterations or seconds, or at an objective.
    observed_only : bool
        Weights only for pairs seen in the data.
    n_jobs : int
        Threads.
    """
    began = time.perf_counter()
    oracle = ChainOracle(
        problem.X,
        problem.y,
        problem.lengths,
        n_labels=problem.n_labels,
        pairs=Pairs.OBSERVED if observed_only else Pairs.ALL,
        n_jobs=n_jobs,
    )
    prepared, prepare_peak = time.perf_counter(), peak_bytes()
    del problem
    began_cpu, watcher = time.process_time(), _Watcher(max_seconds, target)
    result = minimize(
        oracle,
        lam,
        solver=_solver(solver),
        tol=tol,
        stop="gap",
        max_iter=NO_LIMIT if max_iterations is None else max_iterations,
        callback=watcher,
    )
    ended, ended_cpu = time.perf_counter(), time.process_time()
    # A run that the watcher ends in single precision is measured once more in double.
    watcher.history[-1] = replace(watcher.history[-1], logged_objective=result.fun)
    peak = max(peak_bytes(), prepare_peak)
    coef, transitions = oracle.unpack(result.weights)
    return PeerRun(
        peer=f"proxqn {__version__} {solver}",
        lam=lam,
        options={"solver": solver, "tol": tol, "n_jobs": n_jobs},
        prepare_seconds=prepared - began,
        setup_seconds=0.0,
        train_seconds=ended - prepared,
        prepare_peak_bytes=prepare_peak,
        train_peak_bytes=peak,
        stop=str(result.message),
        history=watcher.history,
        coef=coef,
        transitions=transitions,
        train_cpu_seconds=ended_cpu - began_cpu,
        bound=_bound(result),
    )


def _solver(name: str) -> str | Solver:
    return ProxQN.paper() if name == PAPER else name


class _Watcher(Watcher):
    """Takes down iterations with their processor time; ends a run that is long or good enough."""

    def __init__(self, max_seconds: float | None, target: float | None) -> None:
        self.history: list[Iteration] = []
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._target = -math.inf if target is None else target

    def see(self, iterate: Iterate) -> None:
        row = iterate.row
        calls = {name: row.calls[name] for name in ("forward", "backward", "sweep", "draw")}
        self.history.append(
            Iteration(
                number=row.iteration,
                seconds=iterate.cpu_seconds,
                logged_objective=row.objective,
                nonzeros=row.nnz,
                evaluations=row.trials,
                calls=calls,
            )
        )

    def __call__(self, row: Row) -> bool:
        return row.seconds > self._max_seconds or row.objective <= self._target


def _bound(result: Any) -> float | None:
    bound = result.fun - result.gap
    return float(bound) if np.isfinite(bound) else None


def main() -> None:
    """Read a problem file, train, write the run."""
    options = parser("proxqn")
    options.add_argument("--solver", default="prox-qn")
    options.add_argument("--tol", type=float, default=1e-8)
    options.add_argument("--max-seconds", type=float)
    options.add_argument("--target", type=float, help="stop at this objective")
    options.add_argument("--n-jobs", type=int, default=1)
    args = options.parse_args()
    run = train(
        Problem.load(args.problem),
        args.lam,
        solver=args.solver,
        tol=args.tol,
        max_iterations=args.max_iterations,
        max_seconds=args.max_seconds,
        target=args.target,
        observed_only=args.observed_only,
        n_jobs=args.n_jobs,
    )
    run.save(args.run)


if __name__ == "__main__":
    main()
