"""The prediction kernels in plain NumPy: their specification, and the truth of their tests.

Every name and signature is that of ``proxqn._kernels``. One token at a time, no thought of speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.problem.sparse import Floats, Ints


class Tagger:
    """Scores and best paths under sparse weights."""

    def __init__(
        self,
        row: NDArray[np.int32],
        start: Ints,
        label: NDArray[np.int32],
        value: Floats,
        transitions: Floats,
        first: Floats,
        last: Floats,
    ) -> None:
        self.row, self.transitions, self.first, self.last = row, transitions, first, last
        self.weights = np.zeros((len(start) - 1, len(transitions)))  # [row, label]
        self.weights[np.repeat(np.arange(len(start) - 1), np.diff(start)), label] = value

    def tag(
        self,
        indptr: Ints,
        indices: NDArray[np.int32],
        data: Floats,
        lengths: Ints,
        path: NDArray[np.int32],
        n_jobs: int,
    ) -> None:
        """best_t(y) = x_t(y) + max_y' (best_{t-1}(y') + Λ(y',y)); ties go to the smaller label."""
        self._tag_rows(indptr, self.row[indices], data, lengths, path)

    def tag_used(
        self,
        indptr: Ints,
        indices: NDArray[np.int32],
        data: Floats | None,
        lengths: Ints,
        path: NDArray[np.int32],
        n_jobs: int,
    ) -> None:
        """Do the same where column j has row j + 1 of weights; all values are 1 without data."""
        values = np.ones(len(indices)) if data is None else data
        self._tag_rows(indptr, indices + 1, values, lengths, path)

    def _tag_rows(
        self,
        indptr: Ints,
        rows: NDArray[np.int32],
        data: Floats,
        lengths: Ints,
        path: NDArray[np.int32],
    ) -> None:
        token = 0
        for length in lengths:
            x = np.array([self._scores(indptr, rows, data, token + t) for t in range(length)])
            x[0] += self.first
            x[-1] += self.last
            best, back = x[0], []
            for scores in x[1:]:
                candidates = best[:, None] + self.transitions
                back.append(candidates.argmax(axis=0))
                best = candidates.max(axis=0) + scores
            labels = [best.argmax()]
            for came_from in reversed(back):
                labels.append(came_from[labels[-1]])
            path[token : token + length] = labels[::-1]
            token += length

    def marginals(
        self,
        indptr: Ints,
        indices: NDArray[np.int32],
        data: Floats,
        lengths: Ints,
        out: Floats,
        n_jobs: int,
    ) -> None:
        """P(y_t = y) = exp(log α_t(y) + log β_t(y) - log Z)."""
        self._marginals(indptr, self.row[indices], data, lengths, out)

    def marginals_used(
        self,
        indptr: Ints,
        indices: NDArray[np.int32],
        data: Floats | None,
        lengths: Ints,
        out: Floats,
        n_jobs: int,
    ) -> None:
        """Do the same where column j has row j + 1 of weights; all values are 1 without data."""
        values = np.ones(len(indices)) if data is None else data
        self._marginals(indptr, indices + 1, values, lengths, out)

    def _marginals(
        self,
        indptr: Ints,
        rows: NDArray[np.int32],
        data: Floats,
        lengths: Ints,
        out: Floats,
    ) -> None:
        token = 0
        for length in lengths:
            x = np.array([self._scores(indptr, rows, data, token + t) for t in range(length)])
            x[0] += self.first
            x[-1] += self.last
            alpha, beta = x.copy(), np.zeros_like(x)
            for t in range(1, length):
                alpha[t] += logsumexp(alpha[t - 1][:, None] + self.transitions, axis=0)
            for t in range(length - 2, -1, -1):
                beta[t] = logsumexp(self.transitions + x[t + 1] + beta[t + 1], axis=1)
            out[token : token + length] = np.exp(alpha + beta - logsumexp(alpha[-1]))
            token += length

    def slot_scores(
        self,
        indptr: Ints,
        indices: NDArray[np.int32],
        data: Floats,
        token: Ints,
        out: Floats,
        n_jobs: int,
    ) -> None:
        """out[y, slot] = Σ_f x_f(token of the slot) Θ[y, f]; slots without a token are left."""
        for slot in np.flatnonzero(token >= 0):
            out[:, slot] = self._scores(indptr, self.row[indices], data, token[slot])

    def _scores(self, indptr: Ints, rows: NDArray[np.int32], data: Floats, token: int) -> Floats:
        scores = np.zeros(len(self.transitions))
        for e in range(indptr[token], indptr[token + 1]):  # in this order, to the last bit
            scores += data[e] * self.weights[rows[e]]
        return scores


def rows_of_slots(array: Floats, token: Ints, out: Floats) -> None:
    """out[token of the slot] = array[:, slot]."""
    for slot in np.flatnonzero(token >= 0):
        out[token[slot]] = array[:, slot]
