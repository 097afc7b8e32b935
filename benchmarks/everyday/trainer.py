"""One trainer on one problem, in a process of its own: figures as a line of JSON.

    python -m benchmarks.everyday.trainer {proxqn,crfsuite} PROBLEM --seconds 60

First the whole fit with default settings, from dicts to a model, and the labels of what was held
back; then a long run for the path of the objective.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.everyday.corpora import Corpus
from benchmarks.everyday.problems import BY_NAME, Problem

USUAL_ITERATIONS = 100  # of sklearn-crfsuite's tutorial
SWITCHES = ("all_possible_states", "all_possible_transitions")


def accuracy(predicted: Any, given: list[list[str]]) -> float:
    """Return the share of tokens with the right label."""
    found = np.array(list(chain.from_iterable(map(list, predicted))))
    return float(np.mean(found == np.array(list(chain.from_iterable(given)))))


def ours(problem: Problem, train: Corpus, test: Corpus, seconds: float) -> dict[str, Any]:
    """Fit with proxqn."""
    from proxqn.compat import CRF
    from proxqn.features.encoding import SequenceEncoder
    from proxqn.losses.chain.oracle import ChainOracle, Pairs
    from proxqn.minimization import minimize
    from proxqn.run.watch import Iterate, Watcher

    class Watch(Watcher):
        path: list[tuple[float, float]]

        def see(self, iterate: Iterate) -> None:
            self.path.append((iterate.cpu_seconds, iterate.row.objective))

        def __call__(self, row: Any) -> bool:
            return self.path[-1][0] > seconds

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.process_time()
        model = CRF(c1=problem.c1, c2=problem.c2, **dict.fromkeys(SWITCHES, problem.all_pairs))
        model.fit(train.X, train.y)
        whole = time.process_time() - began
    right = accuracy(model.predict(test.X), test.y)
    encoded = SequenceEncoder().fit_transform(train.X)
    classes, y = np.unique(list(chain.from_iterable(train.y)), return_inverse=True)
    oracle = ChainOracle(
        encoded.X,
        y,
        encoded.lengths,
        n_labels=len(classes),
        pairs=Pairs.ALL if problem.all_pairs else Pairs.OBSERVED,
    )
    watch = Watch()
    watch.path = []
    long = minimize(
        oracle,
        problem.c1,
        l2=2.0 * problem.c2,
        tol=1e-7,
        stop="gap",
        max_iter=100_000,
        callback=watch,
    )
    return {
        "tokens": len(y), "labels": len(classes), "features": encoded.X.shape[1],
        "whole": whole, "accuracy": right, "objective": float(model.crf_.objective_),
        "warned": sorted({str(w.message) for w in caught}), "path": watch.path,
        "bound": float(long.fun - long.gap), "nonzeros": int(long.nnz),
        "iterations": int(model.crf_.n_iter_),
    }  # fmt: skip


def theirs(problem: Problem, train: Corpus, test: Corpus, seconds: float) -> dict[str, Any]:
    """Train CRFsuite, as sklearn-crfsuite does."""
    import pycrfsuite

    class Out(Exception):  # noqa: N818 - a way to leave CRFsuite's loop, not an error
        pass

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        path: list[tuple[float, float]]
        began = until = 0.0

        def message(self, message: str) -> None:
            if self.logparser.feed(message) == "iteration":
                now = time.process_time() - self.began
                self.path.append((now, self.logparser.last_iteration["loss"]))
                if now > self.until:
                    raise Out

    def trainer(until: float, **more: Any) -> Any:
        made = Trainer("lbfgs", {
            "c1": problem.c1, "c2": problem.c2,
            "feature.possible_states": int(problem.all_pairs),
            "feature.possible_transitions": int(problem.all_pairs), **more,
        })  # fmt: skip
        for x, y in zip(train.X, train.y, strict=True):
            made.append(x, y)
        made.path, made.began, made.until = [], time.process_time(), until
        return made

    with tempfile.TemporaryDirectory(prefix="proxqn-everyday-") as folder:
        model = str(Path(folder, "model"))
        began = time.process_time()
        usual = trainer(1e9, max_iterations=USUAL_ITERATIONS)
        usual.train(model)
        whole = time.process_time() - began
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        right = accuracy([tagger.tag(x) for x in test.X], test.y)
        long = trainer(seconds, max_iterations=1_000_000, delta=1e-12, epsilon=1e-9)
        with contextlib.suppress(Out):
            long.train(str(Path(folder, "other")))
    return {
        "whole": whole, "accuracy": right, "objective": usual.path[-1][1],
        "iterations": len(usual.path), "path": long.path,
    }  # fmt: skip


def main() -> None:
    """Run the trainer of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trainer", choices=("proxqn", "crfsuite"))
    parser.add_argument("problem", choices=tuple(BY_NAME))
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    problem = BY_NAME[args.problem]
    train, test = problem.load().split()
    run = ours if args.trainer == "proxqn" else theirs
    print(json.dumps(run(problem, train, test, args.seconds)))


if __name__ == "__main__":
    main()
