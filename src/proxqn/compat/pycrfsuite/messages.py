"""The lines that a training sends: the fit in the form of CRFsuite's log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.compat.learning import TrainingSet
from proxqn.compat.pycrfsuite.parameters import Parameters
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.io.crfsuite import CRFsuiteModel
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher

Send = Callable[[str], None]


def features(send: Send, parameters: Parameters, holdout: int) -> None:
    """Say what weights are to be made."""
    if holdout >= 0:
        send(f"Holdout group: {holdout + 1}\n")
        send("\n")
    send("Feature generation\n")
    send("type: CRF1d\n")
    send(f"feature.minfreq: {parameters['feature.minfreq']:f}\n")
    for name in ("feature.possible_states", "feature.possible_transitions"):
        send(f"{name}: {int(parameters[name])}\n")
    for percent in range(0, 101, 2):
        send("." if percent % 10 else str(percent // 10))
    send("\n")


def made(send: Send, n_weights: int, seconds: float) -> None:
    """Say how many they are."""
    send(f"Number of features: {n_weights}\n")
    send(f"Seconds required: {seconds:.3f}\n")
    send("\n")


def settings(send: Send, training: TrainingSet) -> None:
    """Say what is minimised."""
    chosen, estimator = training.settings, training.settings.estimator()
    send("Proximal quasi-Newton optimization\n")
    send(f"c1: {chosen.lam:f}\n")
    send(f"c2: {chosen.c2:f}\n")
    send(f"max_iterations: {estimator.max_iter}\n")
    send(f"tol: {estimator.tol:g}\n")
    send("\n")


def optimized(send: Send, status: str, seconds: float) -> None:
    """Say why the fit ended."""
    send(f"{status}\n")
    send(f"Total seconds required for training: {seconds:.3f}\n")
    send("\n")


def stored(send: Send, model: CRFsuiteModel, training: TrainingSet, seconds: float) -> None:
    """Say what was written."""
    n_active = model.state.nnz + model.transitions.nnz
    n_labels = len(model.labels)
    send(f"Number of active features: {n_active} ({training.n_weights})\n")
    send(f"Number of active attributes: {len(model.attributes)} ({training.n_attributes})\n")
    send(f"Number of active labels: {n_labels} ({n_labels})\n")
    for what in ("labels", "attributes"):
        send(f"Writing {what}\n")
    for what in ("transitions", "attributes"):
        send(f"Writing feature references for {what}\n")
    send(f"Seconds required: {seconds:.3f}\n")
    send("\n")


@final
class IterationLog(ModelWatcher):
    """Sends each iteration, and how the model of it labels the holdout."""

    def __init__(self, send: Send, holdout: Any, inner: Any) -> None:
        self._send = send
        self._holdout = holdout  # X, y; or None
        self._inner = inner  # a callback of the user's own
        self._scores: list[str] = []
        self._seconds = 0.0

    def look(self, row: Row, model: Callable[[], Any]) -> None:
        """Label the holdout."""
        if isinstance(self._inner, ModelWatcher):
            self._inner.look(row, model)
        if self._holdout is not None:
            X, y = self._holdout
            self._scores = list(score_lines(y, [found.tolist() for found in model().predict(X)]))

    def __call__(self, row: Row) -> bool | None:
        """Send the iteration."""
        send = self._send
        send(f"***** Iteration #{row.iteration} *****\n")
        send(f"Loss: {row.objective:f}\n")
        send(f"Active features: {row.nnz}\n")
        send(f"Line search trials: {row.trials}\n")
        send(f"Line search step: {row.step:f}\n")
        send(f"Seconds required for this iteration: {row.seconds - self._seconds:.3f}\n")
        for name, error in (("Gap", row.gap), ("Estimate", row.estimate)):
            if math.isfinite(error):
                send(f"{name}: {error:f}\n")
        for line in self._scores:
            send(line)
        send("\n")
        self._seconds = row.seconds
        stop: bool | None = None if self._inner is None else self._inner(row)
        return stop


@final
class WeightsLog(Watcher):
    """The same for a callback that looks at weights; nobody then makes models of them."""

    def __init__(self, log: IterationLog, inner: Watcher) -> None:
        self._log, self._inner = log, inner

    def see(self, iterate: Iterate) -> float | None:
        """Show the weights."""
        return self._inner.see(iterate)

    def __call__(self, row: Row) -> bool | None:
        """Send the iteration."""
        return self._log(row)


def iteration_log(send: Send, holdout: Any, inner: Any) -> IterationLog | WeightsLog:
    """Return what sends each iteration and calls the user's callback."""
    log = IterationLog(send, holdout, inner)
    return WeightsLog(log, inner) if isinstance(inner, Watcher) else log


def score_lines(
    y_true: list[list[str]], y_pred: list[list[str]], labels: Sequence[str] = ()
) -> Iterator[str]:
    """Yield CRFsuite's lines on how well sequences were labelled, these labels first."""
    flat_true = np.array([label for y in y_true for label in y], dtype=str)
    flat_pred = np.array([label for y in y_pred for label in y], dtype=str)
    labels = list(dict.fromkeys([*labels, *flat_true.tolist(), *flat_pred.tolist()]))
    right = flat_true == flat_pred
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    sums = np.zeros(3)
    for label in labels:
        counts = [int(found.sum()) for found in _of(label, right, flat_true, flat_pred)]
        match, model, ref = counts
        scores = [match / model if model else 0.0, match / ref if ref else 0.0]
        scores.append(2 * scores[0] * scores[1] / sum(scores) if match else 0.0)
        sums += scores
        shown = ", ".join(f"{s:.4f}" for s in scores) if model or ref else "******, ******, ******"
        yield f"    {label}: ({match}, {model}, {ref}) ({shown})\n"
    means = ", ".join(f"{s:f}" for s in sums / max(len(labels), 1))
    yield f"Macro-average precision, recall, F1: ({means})\n"
    yield _share("Item", int(right.sum()), len(right))
    whole = sum(list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True))
    yield _share("Instance", whole, len(y_true))


def _of(
    label: str, right: NDArray[np.bool_], y_true: NDArray[Any], y_pred: NDArray[Any]
) -> tuple[NDArray[np.bool_], ...]:
    return right & (y_true == label), y_pred == label, y_true == label


def _share(what: str, right: int, of: int) -> str:
    return f"{what} accuracy: {right} / {of} ({right / max(of, 1):.4f})\n"


@final
class Watch:
    """Seconds since it was last asked."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def __call__(self) -> float:
        """Return them, and begin anew."""
        now = time.perf_counter()
        seconds, self._start = now - self._start, now
        return seconds
