"""sklearn-crfsuite: CRFsuite behind scikit-learn's interface.

The engine is python-crfsuite's, so the iterations are too; what differs is the way in. Sequences
are passed lazily (the package only iterates over them), which spares it its usual lists of dicts.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sklearn_crfsuite

from .command_line import arguments
from .crfsuite import RecordingTrainer
from .crfsuite_model import read_weights
from .memory import peak_bytes
from .named import named_sequences
from .problem import Problem
from .run import PeerRun


class ObservedTrainer(RecordingTrainer):
    """Notes when the data are in and the training starts."""

    prepare_peak: int = 0
    cpu_started: float = 0.0

    def train(self, model: str, holdout: int = -1) -> None:
        """Train, as called by the estimator."""
        self.history, self.prepare_peak = [], peak_bytes()
        self.started, self.cpu_started = time.perf_counter(), time.process_time()
        super().train(model, holdout)


def train(
    problem: Problem, lam: float, *, max_iterations: int | None = None, observed_only: bool = False
) -> PeerRun:
    """Fit ``sklearn_crfsuite.CRF`` and return its weights and its history."""
    trainers: list[ObservedTrainer] = []

    def trainer(**settings: Any) -> ObservedTrainer:
        trainers.append(ObservedTrainer(**settings))
        return trainers[-1]

    options = {
        "c1": lam,
        "c2": 0.0,
        "all_possible_states": not observed_only,
        "all_possible_transitions": not observed_only,
        "max_iterations": max_iterations,
    }
    estimator = sklearn_crfsuite.CRF(algorithm="lbfgs", trainer_cls=trainer, **options)
    began = time.perf_counter()
    items = (items for items, _ in named_sequences(problem))
    labels = (labels for _, labels in named_sequences(problem))
    estimator.fit(items, labels)
    ended, (used,) = time.perf_counter(), trainers
    cpu_ended, peak = time.process_time(), peak_bytes()
    coef, transitions = read_weights(
        Path(estimator.modelfile.name), problem.n_labels, problem.X.shape[1]
    )
    return PeerRun(
        peer=f"sklearn-crfsuite {version('sklearn-crfsuite')}",
        lam=lam,
        options=options,
        prepare_seconds=used.started - began,
        setup_seconds=used.setup_seconds,
        train_seconds=ended - used.started,
        prepare_peak_bytes=used.prepare_peak,
        train_peak_bytes=max(peak, used.prepare_peak),
        stop=used.stop,
        history=used.history,
        coef=coef,
        transitions=transitions,
        train_cpu_seconds=cpu_ended - used.cpu_started,
    )


def main() -> None:
    """Read a problem file, train, write the run."""
    args = arguments("sklearn-crfsuite")
    run = train(
        Problem.load(args.problem),
        args.lam,
        max_iterations=args.max_iterations,
        observed_only=args.observed_only,
    )
    run.save(args.run)


if __name__ == "__main__":
    main()
