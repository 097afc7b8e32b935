"""python-crfsuite: OWL-QN on the same objective (c1 = λ, c2 = 0, features and transitions).

As a program: ``python -m benchmarks.peers.crfsuite problem.npz run.json --lam 100``, where the
problem was written by `Problem.save` and the run is read by `PeerRun.load`.

How a run can end early: CRFsuite cannot be asked to stop and hand over its weights. An exception
from its log callback ends the training but no model is written, so after a stop at a target the
run is repeated with ``max_iterations`` set to the iteration that reached it. Training is
deterministic; only the first run is timed. Whoever knows the number of iterations beforehand
passes ``max_iterations`` and saves the repetition.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from .command_line import arguments
from .crfsuite_model import read_weights
from .memory import peak_bytes
from .named import named_sequences
from .problem import Problem
from .run import Iteration, PeerRun


class TargetReached(Exception):  # noqa: N818 - a way to leave CRFsuite's loop, not an error
    """The logged objective fell to the target."""


class RecordingTrainer(pycrfsuite.Trainer):  # type: ignore[misc]
    """A trainer that times its iterations and can leave once a target is reached."""

    history: list[Iteration]
    setup_seconds: float = 0.0
    stop: str = ""
    target: float = -np.inf
    started: float = 0.0
    cpu_started: float = 0.0

    def record(self, model_path: Path, target: float | None) -> None:
        """Train, keeping one `Iteration` a log entry; weights only if no target stops it."""
        self.history, self.stop = [], ""
        self.target = -np.inf if target is None else target
        self.started, self.cpu_started = time.perf_counter(), time.process_time()
        self.train(str(model_path))

    def message(self, message: str) -> None:
        """Receive a piece of CRFsuite's log."""
        event = self.logparser.feed(message)
        elapsed = time.process_time() - self.cpu_started
        if event == "featgen_end":
            self.setup_seconds = elapsed
        elif event == "iteration":
            self._on_iteration(self.logparser.last_iteration, elapsed)
        elif message.startswith("L-BFGS") and "optimization" not in message:
            self.stop = message.strip()  # "L-BFGS terminated with …", "… resulted in convergence"

    def _on_iteration(self, log: Mapping[str, Any], elapsed: float) -> None:
        row = Iteration(
            number=log["num"],
            seconds=elapsed,
            logged_objective=log["loss"],
            nonzeros=log["active_features"],
            evaluations=log["linesearch_trials"],
        )
        self.history.append(row)
        if row.logged_objective <= self.target:
            raise TargetReached


def train(
    problem: Problem,
    lam: float,
    *,
    max_iterations: int | None = None,
    target: float | None = None,
    observed_only: bool = False,
    params: Mapping[str, Any] | None = None,
) -> PeerRun:
    """Train CRFsuite on the problem and return its weights and its history.

    Parameters
    ----------
    problem : Problem
        The data. Hold no other reference to it to let its memory go before training starts.
    lam : float
        λ, CRFsuite's ``c1``.
    max_iterations : int, optional
        Stop after so many iterations; by default CRFsuite's own rules decide.
    target : float, optional
        Stop at the first iteration whose logged objective is at most this.
    observed_only : bool, default=False
        Weights only for (feature, label) and (label, label) pairs seen in the data.
    params : mapping, optional
        Other CRFsuite parameters, such as ``{"delta": 1e-9, "period": 50}``.
    """
    options = objective_options(lam, max_iterations, observed_only=observed_only) | dict(
        params or {}
    )
    trainer = RecordingTrainer("lbfgs", options)
    started = time.perf_counter()
    feed(trainer, problem)
    prepare_seconds = time.perf_counter() - started
    prepare_peak = peak_bytes()
    shape = (problem.n_labels, problem.X.shape[1])
    del problem
    with tempfile.TemporaryDirectory(prefix="proxqn-crfsuite-") as folder:
        model_path = Path(folder, "model.crfsuite")
        timed = _train_timed(trainer, model_path, target)
        # The kernel keeps this counter loosely: it was seen to fall by a few hundred kB.
        timed["train_peak_bytes"] = max(timed["train_peak_bytes"], prepare_peak)
        coef, transitions = read_weights(model_path, *shape)
    return PeerRun(
        peer=f"python-crfsuite {version('python-crfsuite')}",
        lam=lam,
        options=options,
        prepare_seconds=prepare_seconds,
        prepare_peak_bytes=prepare_peak,
        coef=coef,
        transitions=transitions,
        **timed,
    )


def objective_options(
    lam: float, max_iterations: int | None, *, observed_only: bool
) -> dict[str, Any]:
    """Return the parameters under which CRFsuite minimises exactly λ‖w‖₁ + ℓ(w)."""
    limit = {} if max_iterations is None else {"max_iterations": max_iterations}
    all_pairs = int(not observed_only)
    return {
        "c1": lam,
        "c2": 0,
        "feature.possible_states": all_pairs,
        "feature.possible_transitions": all_pairs,
        **limit,
    }


def feed(trainer: RecordingTrainer, problem: Problem) -> None:
    """Give CRFsuite the data, a sequence at a time: no Python object outlives its sequence."""
    binary = problem.is_binary
    for items, labels in named_sequences(problem):
        trainer.append([list(item) for item in items] if binary else items, labels)


def _train_timed(
    trainer: RecordingTrainer, model_path: Path, target: float | None
) -> dict[str, Any]:
    """Train, and return the fields of `PeerRun` that belong to the timed run."""
    try:
        trainer.record(model_path, target)
    except TargetReached:
        trainer.stop = f"stopped by us: logged objective at most {target!r}"
    timed = {
        "setup_seconds": trainer.setup_seconds,
        "train_seconds": time.perf_counter() - trainer.started,
        "train_cpu_seconds": time.process_time() - trainer.cpu_started,
        "train_peak_bytes": peak_bytes(),
        "stop": trainer.stop,
        "history": trainer.history,
    }
    if not model_path.exists():
        _repeat(trainer, model_path)
    return timed


def _repeat(trainer: RecordingTrainer, model_path: Path) -> None:
    """Train again to the last recorded iteration, for its weights."""
    last = trainer.history[-1]
    trainer.set("max_iterations", last.number)
    trainer.record(model_path, None)
    if trainer.history[-1].logged_objective != last.logged_objective:
        raise RuntimeError(
            f"CRFsuite's repetition logged {trainer.history[-1].logged_objective} at iteration "
            f"{last.number}, the timed run {last.logged_objective}; expected the same"
        )


def main() -> None:
    """Read a problem file, train, write the run."""
    args = arguments("python-crfsuite", with_target=True)
    run = train(
        Problem.load(args.problem),
        args.lam,
        max_iterations=args.max_iterations,
        target=args.target,
        observed_only=args.observed_only,
        params=dict(pair.split("=", 1) for pair in args.param),
    )
    run.save(args.run)


if __name__ == "__main__":
    main()
