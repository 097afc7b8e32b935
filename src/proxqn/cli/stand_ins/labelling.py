"""What Wapiti and CRF++ write beside a label: scores of paths, which are not probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.cli.stand_ins.columns import RawSequence
from proxqn.estimators.inference.n_best import best_paths
from proxqn.io.pattern_chain import PLAIN, chain_of
from proxqn.io.pattern_model import PatternModel
from proxqn.io.readers import DataFileError
from proxqn.problem import Floats


class Path(NamedTuple):
    """A labelling of a sequence."""

    labels: list[int]  # numbers in the file's order
    score: float  # of the whole
    scores: list[float]  # a token


@final
class Labeller:
    """A model read from another program's file, at work on sequences of columns."""

    def __init__(self, model: PatternModel, path: str) -> None:
        self.crf = chain_of(model, path)
        self.labels = model.labels
        place = {label: i for i, label in enumerate(self.crf.classes_.tolist())}
        self._place = np.array([place[label] for label in model.labels])  # of the file's labels
        self._number = np.argsort(self._place)  # in the file, of our labels
        self._n_columns = None if model.templates is None else model.templates.n_columns
        self._has_plain_name = model.templates is None and PLAIN in model.names

    def encoded(self, batch: Sequence[RawSequence]) -> Any:
        """Make features of sequences."""
        rows = [sequence.features(self._n_columns) for sequence in batch]
        if self._has_plain_name:  # the data hold the features: each step has to ask for transitions
            for sequence, features in zip(batch, rows, strict=True):
                for i, row in enumerate(features[1:], 1):
                    if PLAIN not in row:
                        problem = f"expected {PLAIN!r} among the features, as in the other lines"
                        raise DataFileError(sequence.source, sequence.line + i, problem)
        encoder: Any = self.crf.encoder_
        return encoder.transform(rows)

    def best(self, encoded: Any, n: int, forced: Any = None) -> list[list[Path]]:
        """Return the n best labellings, with the sums of weights as scores."""
        if n == 1:
            found = self.crf.predict(encoded, forced=forced)
            labels = [[self._numbers(labels)] for labels in found]
        else:
            several = self.crf.predict_n_best(encoded, n=n)
            labels = [[self._numbers(labels) for labels, _ in paths] for paths in several]
        return self._scored(encoded, labels)

    def likeliest(
        self, encoded: Any, n: int, *, with_probability: bool
    ) -> list[list[tuple[list[int], float]]]:
        """Return the n best labellings, with their probabilities if those are asked for."""
        if n == 1 and not with_probability:
            labels = self.crf.predict(encoded)
            return [[(self._numbers(labels).tolist(), 1.0)] for labels in labels]
        if n == 1:
            labels = self.crf.predict(encoded)
            p = np.exp(self.crf.log_probability(encoded, [part.tolist() for part in labels]))
            return [
                [(self._numbers(part).tolist(), q)]
                for part, q in zip(labels, p.tolist(), strict=True)
            ]
        several = self.crf.predict_n_best(encoded, n=n)
        return [[(self._numbers(part).tolist(), p) for part, p in paths] for paths in several]

    def scale(self, factor: float) -> None:
        """Multiply all weights."""
        crf = self.crf
        crf.coef_, crf.edge_coef_ = crf.coef_ * factor, crf.edge_coef_ * factor
        crf.transitions_ = crf.transitions_ * factor

    def probabilities(self, encoded: Any) -> list[Floats]:
        """Return the probability of each label at each token, columns in the file's order."""
        return [rows[:, self._place] for rows in self.crf.predict_marginals(encoded)]

    def most_probable(self, encoded: Any, n: int, forced: Any = None) -> list[list[Path]]:
        """Return the n best labellings by the product of their tokens' probabilities."""
        found = []
        for s, rows in enumerate(self.probabilities(encoded)):
            if forced is not None:
                for t, label in enumerate(forced[s]):
                    if label is not None:
                        rows[t, np.arange(len(self.labels)) != self.labels.index(label)] = 0.0
            with np.errstate(divide="ignore"):
                logs = np.log(rows)
            paths, _ = best_paths(logs, np.zeros((len(self.labels),) * 2), n)
            each = [rows[np.arange(len(rows)), path] for path in paths]
            found.append(
                [
                    Path(path.tolist(), float(np.prod(p)), p.tolist())
                    for path, p in zip(paths, each, strict=True)
                ]
            )
        return found

    def _numbers(self, labels: Any) -> NDArray[np.int64]:
        numbers: NDArray[np.int64] = self._number[np.searchsorted(self.crf.classes_, labels)]
        return numbers

    def _scored(self, encoded: Any, labels: list[list[NDArray[np.int64]]]) -> list[list[Path]]:
        """Add up the weights along each path, token by token."""
        most = max(map(len, labels), default=0)
        scores = []
        for k in range(most):
            ours = [self._place[paths[min(k, len(paths) - 1)]] for paths in labels]
            scores.append(_token_scores(self.crf, encoded, ours))
        return [
            [Path(path.tolist(), sum(scores[k][s]), scores[k][s]) for k, path in enumerate(paths)]
            for s, paths in enumerate(labels)
        ]


def _token_scores(crf: Any, encoded: Any, labels: list[NDArray[np.int64]]) -> list[list[float]]:
    """Return what each token, with the step into it, adds to the score of its sequence."""
    flat, lengths = np.concatenate(labels), encoded.lengths
    before = np.roll(flat, 1)
    firsts = np.cumsum(lengths) - lengths
    inside = np.ones(len(flat), bool)
    inside[firsts] = False
    scores = _added(crf.coef_, encoded.X, flat)
    scores[inside] += crf.transitions_[before[inside], flat[inside]]
    if encoded.edges is not None and crf.edge_coef_.nnz:
        pairs = before * len(crf.classes_) + flat
        scores[inside] += _added(crf.edge_coef_, encoded.edges, pairs)[inside]
    return [part.tolist() for part in np.split(scores, np.cumsum(lengths)[:-1])]


def _added(weights: Any, X: Any, rows: NDArray[np.int64]) -> Floats:
    """Return Σ_j weights[rows[t], j] · X[t, j] of each token t, from the entries that are there."""
    weights, X = sp.csr_array(weights), sp.csr_array(X)
    weights.sort_indices()
    n = weights.shape[1]
    keys = np.repeat(np.arange(weights.shape[0]) * n, np.diff(weights.indptr)) + weights.indices
    token = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    wanted = rows[token] * n + X.indices
    if not len(keys):
        return np.zeros(X.shape[0])
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    values = np.where(keys[at] == wanted, weights.data[at], 0.0) * X.data
    sums: Floats = np.bincount(token, values, minlength=X.shape[0]).astype(np.float64)
    return sums
