"""The kernels of ``cpp/lattice/`` in plain NumPy: specification and test truth.

Every name and signature is that of ``proxqn._kernels``. All in the log domain, one sequence at a
time; every row says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.losses.chain.reference import Batches as Batches
from proxqn.losses.chain.reference import Chain, Features
from proxqn.problem.sparse import Floats, Ints

__all__ = ["Chain", "Edges", "Features", "Lattice"]


class Edges:
    """Weights of (edge feature, label before, label)."""

    def __init__(
        self,
        start: Ints,
        patterns: NDArray[np.int32],
        value_start: Ints,
        values: Floats,
        row_start: Ints,
        rows: NDArray[np.int32],
        row_weights: Floats,
        pattern_start: Ints,
        pattern_columns: NDArray[np.int32],
        pattern_values: Floats,
        n_labels: int,
    ) -> None:
        self.columns = Features(start, patterns, value_start, values).columns
        self.rows = [rows[row_start[g] : row_start[g + 1]] for g in range(len(row_start) - 1)]
        self.row_weights, self.n_labels = row_weights, n_labels
        self.patterns = np.zeros((len(pattern_start) - 1, len(value_start)))  # dense
        number = np.repeat(np.arange(len(self.patterns)), np.diff(pattern_start))
        self.patterns[number, pattern_columns] = pattern_values

    def put(
        self,
        start: Ints,
        pair: NDArray[np.int32],
        value: Floats,
    ) -> None:
        """E_g = Σ_c x_c value_c, dense: [n_patterns, L, L]."""
        weights = np.zeros((len(start) - 1, self.n_labels**2))
        column = np.repeat(np.arange(len(weights)), np.diff(start))
        weights[column, pair] = value
        self.scores = (self.patterns @ weights).reshape(-1, self.n_labels, self.n_labels)

    def _expected(
        self, column: int, alpha: Floats, onward: Floats, transitions: Floats
    ) -> NDArray[np.float64]:
        """Σ x P(pair) over the tokens of a column, all pairs."""
        L = self.n_labels
        total = np.zeros((L, L))
        for g, x in zip(*self.columns[column], strict=True):
            for row in self.rows[g]:
                logs = alpha[row - 1, :L, None] + transitions + self.scores[g] + onward[row, :L]
                total += x * self.row_weights[row] * np.exp(logs)
        return total.ravel()

    def gradient(
        self,
        coordinates: Ints,
        alpha: Floats,
        onward: Floats,
        log_domain: NDArray[np.uint8],
        transitions: Floats,
        out: Floats,
        n_jobs: int,
    ) -> None:
        """Return expected counts on some coordinates."""
        for i, coordinate in enumerate(coordinates):
            column, pair = divmod(int(coordinate), self.n_labels**2)
            out[i] = self._expected(column, alpha, onward, transitions)[pair]

    def sweep(
        self,
        threshold: float,
        alpha: Floats,
        onward: Floats,
        log_domain: NDArray[np.uint8],
        transitions: Floats,
        observed: Ints,
        counts: Floats,
        admitted: Ints | None,
        n_jobs: int,
    ) -> tuple[Ints, Floats, float]:
        """Return expected minus observed counts above the threshold, and the largest of all."""
        n = len(self.columns)
        columns = [self._expected(c, alpha, onward, transitions) for c in range(n)]
        g = np.concatenate([*columns, np.empty(0)])
        g[observed] -= counts
        if admitted is not None:
            g[np.setdiff1d(np.arange(len(g)), admitted)] = 0.0
        keep = np.flatnonzero(np.abs(g) > threshold)
        return keep, g[keep], float(np.abs(g).max(initial=0.0))


class Lattice:
    """Forward, backward and Viterbi with transition scores of each step, and with twins."""

    def __init__(
        self,
        batches: Batches,
        scores: Floats,
        token_start: Ints,
        pattern: NDArray[np.int32],
        twin: Ints | None,
        allowed: NDArray[np.uint8] | None,
    ) -> None:
        self.sequences, self.scores = batches.sequences, scores
        self.labels, self.weights = batches.labels, batches.weights
        self.token_start, self.pattern, self.twin, self.allowed = (
            token_start,
            pattern,
            twin,
            allowed,
        )

    def _steps(self, edges: Edges, i: int, transitions: Floats) -> list[Floats]:
        """Λ + E of each step of a sequence; that into its first token is not used."""
        patterns = self.pattern[self.token_start[i] : self.token_start[i + 1]]
        return [transitions + (edges.scores[g] if g >= 0 else 0.0) for g in patterns]

    def _runs(self, i: int, x: Floats) -> list[tuple[int, float, Floats]]:
        """First row, sign and scores [L, T] of a sequence and of its twin."""
        runs = [(int(self.token_start[i]), 1.0, x)]
        if self.twin is not None and self.allowed is not None and self.twin[i] >= 0:
            first = int(self.twin[i])
            marks = self.allowed[first - len(self.pattern) :][: x.shape[1]].T
            runs.append((first, -1.0, np.where(marks, x, -np.inf)))
        return runs

    def forward(
        self,
        edges: Edges,
        alpha: Floats,
        log_domain: NDArray[np.uint8],
        transitions: Floats,
        losses: Floats,
        n_jobs: int,
    ) -> None:
        """Leave log α in rows; losses = log Z minus the true path's score, or minus the twin's."""
        L = len(self.scores)
        log_domain[:] = 1
        for i, slots in self.sequences:
            steps, x = self._steps(edges, i, transitions), self.scores[:, slots]
            runs = self._runs(i, x)
            losses[i] = 0.0
            for row, sign, run in runs:
                alpha[row, :L] = run[:, 0]
                for t in range(1, len(slots)):
                    joint = alpha[row + t - 1, :L, None] + steps[t]
                    alpha[row + t, :L] = run[:, t] + logsumexp(joint, axis=0)
                losses[i] += sign * logsumexp(alpha[row + len(slots) - 1, :L])
            if self.labels is not None and len(runs) == 1:
                y = self.labels[slots]
                losses[i] -= x[y, np.arange(len(y))].sum()
                losses[i] -= sum(steps[t][y[t - 1], y[t]] for t in range(1, len(y)))

    def backward(
        self,
        edges: Edges,
        alpha: Floats,
        onward: Floats,
        log_domain: NDArray[np.uint8],
        residuals: Floats,
        transitions: Floats,
        pairs: Floats,
        n_jobs: int,
    ) -> None:
        """Leave weight · (P - P(allowed) or true label) in residuals, log(x β / Z) in onward."""
        L = len(self.scores)
        pairs[:] = 0.0
        for i, slots in self.sequences:
            weight = 1.0 if self.weights is None else self.weights[i]
            steps, x = self._steps(edges, i, transitions), self.scores[:, slots]
            residuals[:, slots] = 0.0
            runs = self._runs(i, x)
            for row, sign, run in runs:
                log_z = logsumexp(alpha[row + len(slots) - 1, :L])
                beta = np.zeros(L)
                for t in range(len(slots) - 1, -1, -1):
                    p = np.exp(alpha[row + t, :L] + beta - log_z)
                    residuals[:, slots[t]] += weight * sign * p
                    onward[row + t, :L] = run[:, t] + beta - log_z
                    if t > 0:
                        ahead = steps[t] + onward[row + t, :L]
                        pairs += weight * sign * np.exp(alpha[row + t - 1, :L, None] + ahead)
                        beta = logsumexp(ahead, axis=1) + log_z
            if self.labels is not None and len(runs) == 1:
                residuals[self.labels[slots], slots] -= weight

    def viterbi(
        self, edges: Edges, transitions: Floats, path: NDArray[np.int32], n_jobs: int
    ) -> None:
        """Find the best labels of each sequence; ties go to the smaller label."""
        for i, slots in self.sequences:
            steps = self._steps(edges, i, transitions)
            best = self.scores[:, slots[0]].copy()
            back = []
            for t in range(1, len(slots)):
                candidates = best[:, None] + steps[t]
                back.append(candidates.argmax(axis=0))
                best = candidates.max(axis=0) + self.scores[:, slots[t]]
            path[slots[-1]] = best.argmax()
            for t in range(len(slots) - 2, -1, -1):
                path[slots[t]] = back[t][path[slots[t + 1]]]
