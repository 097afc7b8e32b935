"""Run one trainer on one problem, and measure what it found ourselves.

The objective at the end is computed here from the trainer's weights, by our oracle, never taken
from its log; the log serves for the times in between. How far the two are apart at the end is part
of the record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.isolated import run_saved
from benchmarks.peers.problem import Problem
from benchmarks.peers.run import Iteration, PeerRun
from benchmarks.problems import Spec, sizes
from benchmarks.trainers import Limits, Trainer
from benchmarks.versions import machine, versions

from proxqn.losses.chain.oracle import ChainOracle, Pairs

KINDS = ("forward", "backward", "sweep", "draw")
MAX_LOG_DIFFERENCE = 1e-7  # relative; logs have six decimals


@dataclass(frozen=True)
class Record:
    """A run as it is kept: everything a table or figure needs, no weights."""

    problem: str
    trainer: str
    title: str
    lam: float
    flags: list[str]
    sizes: dict[str, int]
    n_parameters: int
    versions: dict[str, str]
    machine: dict[str, Any]
    stop: str
    prepare_seconds: float
    setup_seconds: float
    train_seconds: float
    train_cpu_seconds: float
    prepare_peak_bytes: int
    train_peak_bytes: int
    objective: float  # of the weights, by our oracle
    log_difference: float | None  # the log's last objective minus it, relative
    bound: float | None  # certified lower bound of the optimum
    nonzeros: int
    # One entry an iteration: number, seconds, objective, nonzeros, forward, backward, sweep, draw
    # (passes so far; None where the log does not say).
    history: dict[str, list[Any]] = field(default_factory=dict)
    problem_digest: str = ""


class Judge:
    """Computes objectives of weights for one problem."""

    def __init__(self, problem: Problem, spec: Spec) -> None:
        absent = np.setdiff1d(np.arange(problem.n_labels), problem.y)
        if len(absent):
            raise ValueError(
                f"{len(absent)} of the {problem.n_labels} labels of {spec.name} do not occur. "
                "CRFsuite leaves such labels out of its model and would solve another problem: "
                "give the problem only labels that occur."
            )
        self._spec = spec
        self.sizes = sizes(problem)
        self.oracle = ChainOracle(
            problem.X,
            problem.y,
            problem.lengths,
            n_labels=problem.n_labels,
            pairs=Pairs.OBSERVED if spec.observed_only else Pairs.ALL,
        )

    def objective(self, run: PeerRun) -> float:
        """Return λ‖w‖₁ + ℓ(w) of the run's weights.

        Raises
        ------
        ValueError
            If the run has weights that the problem does not have: it solved another problem.
        """
        found = int(np.count_nonzero(run.coef.data)) + int(np.count_nonzero(run.transitions))
        weights = self.oracle.pack(run.coef, run.transitions).nonzero()
        if len(weights.values) != found:
            raise ValueError(
                f"{run.peer} has {found} weights, {len(weights.values)} of which belong to "
                f"{self._spec.name}; expected the same problem."
            )
        penalty = self._spec.lam * float(np.abs(weights.values).sum())
        return self.oracle.at(weights).value + penalty


def measure(
    spec: Spec, problem_path: Path, judge: Judge, trainer: Trainer, limits: Limits
) -> Record:
    """Train in a process of its own and return the record."""
    flags = trainer.flags(spec, limits)
    run = run_saved(trainer.module, problem_path, flags)
    objective = judge.objective(run)
    difference = compare_with_log(run, objective)
    return Record(
        problem=spec.name,
        trainer=trainer.name,
        title=spec.title,
        lam=spec.lam,
        flags=flags,
        sizes=judge.sizes,
        n_parameters=judge.oracle.n_parameters,
        versions=versions(trainer),
        machine=machine(),
        stop=run.stop,
        prepare_seconds=run.prepare_seconds,
        setup_seconds=run.setup_seconds,
        train_seconds=run.train_seconds,
        train_cpu_seconds=run.train_cpu_seconds,
        prepare_peak_bytes=run.prepare_peak_bytes,
        train_peak_bytes=run.train_peak_bytes,
        objective=objective,
        log_difference=difference,
        bound=run.bound,
        nonzeros=int(np.count_nonzero(run.coef.data)) + int(np.count_nonzero(run.transitions)),
        history=_columns(run.history),
    )


def compare_with_log(run: PeerRun, objective: float) -> float | None:
    """Return the log's last objective minus that of the weights, relative to it.

    Raises
    ------
    ValueError
        If they differ by more than rounding: then the log is of another objective, and the times
        taken from it would mean nothing.
    """
    if not run.history:
        return None
    last = run.history[-1].logged_objective
    difference = (last - objective) / objective
    if abs(difference) > MAX_LOG_DIFFERENCE:
        raise ValueError(
            f"{run.peer} logged {last!r} at the end, but its weights have the objective "
            f"{objective!r}; expected the same to {MAX_LOG_DIFFERENCE:g}. It minimises another "
            "objective, and the times in its log are of no use."
        )
    return difference


def _columns(history: list[Iteration]) -> dict[str, list[Any]]:
    """Turn rows into columns, with passes as totals."""
    totals = [_passes(row) for row in history]
    if history and history[0].calls is None and history[0].evaluations is not None:
        # Every evaluation of CRFsuite is a forward pass, a backward pass and a full gradient; the
        # one at w = 0 comes before the first row.
        evaluations = 1 + np.cumsum([row.evaluations or 0 for row in history])
        totals = [dict.fromkeys(KINDS[:3], int(n)) | {"draw": 0} for n in evaluations]
    return {
        "iteration": [row.number for row in history],
        "seconds": [round(row.seconds, 5) for row in history],
        "objective": [row.logged_objective for row in history],
        "nonzeros": [row.nonzeros for row in history],
        **{kind: [total.get(kind) for total in totals] for kind in KINDS},
    }


def _passes(row: Iteration) -> dict[str, float]:
    return {kind: round(count, 3) for kind, count in (row.calls or {}).items()}
