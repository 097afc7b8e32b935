"""The same optimum as CRFsuite's: c1 = λ, c2 = 0, the same features, run to a tight stop.

OWL-QN takes thousands of iterations to get there, so part of the corpus is used.
"""

from __future__ import annotations

import time
import warnings
from itertools import chain, islice
from typing import Any

import numpy as np
from benchmarks.data import data_file
from benchmarks.given_weights import chain_with_weights
from benchmarks.peers.isolated import run_isolated
from benchmarks.peers.problem import Problem
from benchmarks.problems import TEMPLATES
from benchmarks.tables import markdown, seconds
from sklearn.exceptions import ConvergenceWarning

from proxqn import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns

LAM = 1.0
# CRFsuite ends once |pseudo-gradient| < epsilon |w|, or `period` iterations gain less than delta.
STOP = {"epsilon": 1e-7, "period": 100, "delta": 1e-8, "max_iterations": 30_000}


def measure(n_sentences: int = 1000, max_iter: int = 3000) -> dict[str, Any]:
    """Solve with both, and compare objectives and labels of all test sentences."""
    records = islice(read_columns(data_file("conll2000", "train.txt")), n_sentences)
    encoder = SequenceEncoder(Templates.from_file(TEMPLATES))
    train = encoder.fit_transform(records)
    test = encoder.transform(read_columns(data_file("conll2000", "test.txt")))
    y = np.array(list(chain.from_iterable(train.labels or [])))
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is among the results
        ours = ChainCRF(LAM, pairs="observed", tol=1e-6, stop="gap", max_iter=max_iter)
        ours.fit(train.X, y, train.lengths)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    flags = [flag for item in STOP.items() for flag in ("--param", "{}={}".format(*item))]
    problem = Problem.from_labels(train.X, y, train.lengths, ours.classes_)
    run = run_isolated("crfsuite", problem, ["--lam", str(LAM), "--observed-only", *flags])
    theirs = chain_with_weights(run.coef, run.transitions, ours.classes_)
    labels = [model.predict(test.X, test.lengths) for model in (ours, theirs)]
    their_objective = objective(theirs, train.X, y, train.lengths)
    return {
        "sentences": len(train.lengths),
        "tokens": len(y),
        "stop": STOP,
        "ours": {
            "objective": objective(ours, train.X, y, train.lengths),
            "gap": ours.gap_,
            "nonzeros": int(ours.result_.nnz),
            "iterations": ours.n_iter_,
            "wall_seconds": wall,
            "cpu_seconds": cpu,
        },
        "crfsuite": {
            "objective": their_objective,
            "logged_objective": run.history[-1].logged_objective,
            "nonzeros": int(run.coef.nnz + np.count_nonzero(run.transitions)),
            "iterations": run.history[-1].number,
            "wall_seconds": run.train_seconds,
            "cpu_seconds": run.train_cpu_seconds,
            "ended": run.stop,
        },
        "relative_difference": abs(their_objective - ours.objective_) / ours.objective_,
        "same_labels": float(np.mean(np.asarray(labels[0]) == np.asarray(labels[1]))),
        "test_tokens": test.X.shape[0],
    }


def objective(model: ChainCRF, X: Any, y: Any, lengths: Any) -> float:
    """Return the penalised loss of a model's weights, computed in one way for all."""
    norm = float(abs(model.coef_).sum() + abs(model.transitions_).sum())
    return LAM * norm - float(model.log_probability(X, y, lengths).sum())


def table(found: dict[str, Any]) -> str:
    """Return both solutions side by side, and how far apart they are."""
    rows = [
        [name, f"{one['objective']:.6f}", f"{one['nonzeros']:,}", f"{one['iterations']:,}",
         seconds(one["wall_seconds"]), seconds(one["cpu_seconds"])]
        for name, one in (("proxqn", found["ours"]), ("CRFsuite", found["crfsuite"]))
    ]  # fmt: skip
    header = [f"{found['sentences']:,} sentences, to a tight stop", "objective", "nonzeros",
              "iterations", "wall, s", "of a processor, s"]  # fmt: skip
    return (
        f"{markdown(header, rows)}\n\nobjectives differ by {found['relative_difference']:.1e} of "
        f"themselves; same label on {found['same_labels']:.4%} of {found['test_tokens']:,} tokens"
    )
