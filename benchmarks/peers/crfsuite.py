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

import argparse
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from numpy.typing import NDArray
from scipy import sparse

from .memory import peak_bytes
from .problem import Problem
from .run import Iteration, PeerRun

# A record of the model file's feature chunk (crf1d_model.c). The file is read beside
# Tagger.info() because the latter rounds weights to six decimals and so loses small ones.
FEATURE_RECORD = np.dtype([("kind", "<u4"), ("src", "<u4"), ("dst", "<u4"), ("weight", "<f8")])
OFFSET_FIELD = 28  # where the file's header keeps the offset of the feature chunk
CHUNK_HEADER = np.dtype([("name", "S4"), ("size", "<u4"), ("n", "<u4")])
STATE, TRANSITION = 0, 1  # kinds of feature


class TargetReached(Exception):  # noqa: N818 - a way to leave CRFsuite's loop, not an error
    """The logged objective fell to the target."""


class RecordingTrainer(pycrfsuite.Trainer):  # type: ignore[misc]
    """A trainer that times its iterations and can leave once a target is reached."""

    history: list[Iteration]
    setup_seconds: float = 0.0
    stop: str = ""
    target: float = -np.inf
    started: float = 0.0

    def record(self, model_path: Path, target: float | None) -> None:
        """Train, keeping one `Iteration` a log entry; weights only if no target stops it."""
        self.history, self.stop = [], ""
        self.target = -np.inf if target is None else target
        self.started = time.perf_counter()
        self.train(str(model_path))

    def message(self, message: str) -> None:
        """Receive a piece of CRFsuite's log."""
        event = self.logparser.feed(message)
        elapsed = time.perf_counter() - self.started
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
    options = _options(lam, max_iterations, observed_only=observed_only) | dict(params or {})
    trainer = RecordingTrainer("lbfgs", options)
    started = time.perf_counter()
    _feed(trainer, problem)
    prepare_seconds = time.perf_counter() - started
    prepare_peak = peak_bytes()
    shape = (problem.n_labels, problem.X.shape[1])
    del problem
    with tempfile.TemporaryDirectory(prefix="proxqn-crfsuite-") as folder:
        model_path = Path(folder, "model.crfsuite")
        timed = _train_timed(trainer, model_path, target)
        # The kernel keeps this counter loosely: it was seen to fall by a few hundred kB.
        timed["train_peak_bytes"] = max(timed["train_peak_bytes"], prepare_peak)
        coef, transitions = _read_weights(model_path, *shape)
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


def _options(lam: float, max_iterations: int | None, *, observed_only: bool) -> dict[str, Any]:
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


def _feed(trainer: RecordingTrainer, problem: Problem) -> None:
    """Give CRFsuite the data, a sequence at a time: no Python object outlives its sequence."""
    X, is_binary = problem.X, problem.is_binary
    attributes = [b"%d" % j for j in range(X.shape[1])]  # bytes: CRFsuite need not encode them
    labels = [str(k) for k in range(problem.n_labels)]
    ends = np.cumsum(problem.lengths)
    for first, last in zip(ends - problem.lengths, ends, strict=True):
        items: list[Any] = []
        for begin, end in zip(X.indptr[first:last], X.indptr[first + 1 : last + 1], strict=True):
            names = [attributes[j] for j in X.indices[begin:end].tolist()]
            values = X.data[begin:end]
            items.append(names if is_binary else dict(zip(names, values.tolist(), strict=True)))
        trainer.append(items, [labels[k] for k in problem.y[first:last].tolist()])


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


def _read_weights(
    model_path: Path, n_labels: int, n_features: int
) -> tuple[sparse.csr_array[Any, tuple[int, int]], NDArray[np.float64]]:
    """Return label × feature and from × to weights, exact, in the caller's label order."""
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(model_path)):
        info = tagger.info()
    label_of = _names_by_id(info.labels)
    feature_of = _names_by_id(info.attributes)
    records = _read_records(model_path.read_bytes())
    state, bigram = records[records["kind"] == STATE], records[records["kind"] == TRANSITION]
    rows, columns = label_of[state["dst"]], feature_of[state["src"]]
    coef = sparse.coo_array((state["weight"], (rows, columns)), shape=(n_labels, n_features))
    transitions = np.zeros((n_labels, n_labels))
    transitions[label_of[bigram["src"]], label_of[bigram["dst"]]] = bigram["weight"]
    return coef.tocsr(), transitions


def _names_by_id(ids: Mapping[str, str]) -> NDArray[np.int64]:
    """Return our number (the name CRFsuite was given) at the place of CRFsuite's number."""
    numbers = np.zeros(len(ids), dtype=np.int64)
    for name, crfsuite_id in ids.items():
        numbers[int(crfsuite_id)] = int(name)
    return numbers


def _read_records(model: bytes) -> NDArray[np.void]:
    """Return the feature records (`FEATURE_RECORD`) of a model file."""
    offset = int(np.frombuffer(model, "<u4", count=1, offset=OFFSET_FIELD)[0])
    chunk = np.frombuffer(model, CHUNK_HEADER, count=1, offset=offset)[0]
    if chunk["name"] != b"FEAT":
        raise ValueError(f"expected the feature chunk 'FEAT' at {offset}, found {chunk['name']!r}")
    start = offset + CHUNK_HEADER.itemsize
    return np.frombuffer(model, FEATURE_RECORD, count=int(chunk["n"]), offset=start)


def main() -> None:
    """Read a problem file, train, write the run."""
    parser = argparse.ArgumentParser(description="Train python-crfsuite on a saved problem.")
    parser.add_argument("problem", type=Path, help="npz file written by Problem.save")
    parser.add_argument("run", type=Path, help="JSON file to write; the weights go beside it")
    parser.add_argument("--lam", type=float, required=True)
    parser.add_argument("--max-iterations", type=int)
    parser.add_argument("--target", type=float, help="stop at this logged objective")
    parser.add_argument("--observed-only", action="store_true")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
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
