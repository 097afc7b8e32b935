"""The kernels in plain NumPy: their specification, and the truth they are tested against.

Every name and signature is that of ``proxqn._kernels``, so that an oracle can run on either. All in
the log domain, one sequence at a time, no thought of speed.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.losses.chain import draws_reference, forks_reference
from proxqn.problem.sparse import Floats, Ints


class Batches:
    """The slots of each sequence of a ``SequenceLayout``, with labels and weights."""

    def __init__(
        self,
        first: Ints,
        width: NDArray[np.int32],
        length: NDArray[np.int32],
        lane_length: NDArray[np.int32],
        lane_sequence: NDArray[np.int32],
        chunk: Ints,
        labels: NDArray[np.int32] | None,
        weights: Floats | None,
    ) -> None:
        self.sequences = [
            (int(lane_sequence[b, k]), first[b] + k + width[b] * np.arange(lane_length[b, k]))
            for b, k in zip(*np.nonzero(lane_length), strict=True)
        ]
        self.labels, self.weights = labels, weights


class Chain:
    """Forward, backward and Viterbi on the slots of sequences."""

    def __init__(self, batches: Batches, scores: Floats) -> None:
        self.sequences, self.scores = batches.sequences, scores
        self.labels, self.weights = batches.labels, batches.weights

    def forward(
        self,
        alpha: Floats,
        transitions: Floats,
        losses: Floats,
        n_jobs: int,
    ) -> None:
        """Log α_t(y) = x_t(y) + log Σ_y' exp(log α_{t-1}(y') + Λ(y',y)); losses = log Z - score."""
        x = self.scores
        for i, slots in self.sequences:
            alpha[:, slots[0]] = x[:, slots[0]]
            for before, now in itertools.pairwise(slots):
                joint = alpha[:, before, None] + transitions
                alpha[:, now] = x[:, now] + logsumexp(joint, axis=0)
            losses[i] = logsumexp(alpha[:, slots[-1]])
            if self.labels is not None:
                y = self.labels[slots]
                losses[i] -= x[y, slots].sum() + transitions[y[:-1], y[1:]].sum()

    def backward(
        self,
        alpha: Floats,
        transitions: Floats,
        pairs: Floats,
        n_jobs: int,
    ) -> None:
        """Turn log α into weight · (P(y_t = y) - 1[y]); sum the pair expectations."""
        pairs[:] = 0.0
        for i, slots in self.sequences:
            weight = 1.0 if self.weights is None else self.weights[i]
            log_z = logsumexp(alpha[:, slots[-1]])
            beta = np.zeros(len(transitions))
            for t in range(len(slots) - 1, -1, -1):
                now = slots[t]
                marginal = np.exp(alpha[:, now] + beta - log_z)
                if t > 0:
                    onward = transitions + self.scores[:, now] + beta
                    pairs += weight * np.exp(alpha[:, slots[t - 1], None] + onward - log_z)
                    beta = logsumexp(onward, axis=1)
                alpha[:, now] = weight * marginal
                if self.labels is not None:
                    alpha[self.labels[now], now] -= weight

    def evaluate(
        self,
        features: Features,
        coordinates: Ints,
        weights: Floats,
        alpha: Floats,
        transitions: Floats,
        losses: Floats,
        pairs: Floats,
        n_jobs: int,
        dense: tuple[DenseFeatures, Ints, Floats] | None = None,
    ) -> None:
        """Scores, forward and backward at once."""
        dirty = np.ones(len(alpha), np.uint8)
        features.scores(coordinates, weights, self.scores, dirty, n_jobs)
        if dense:
            dense[0].add_scores(*dense[1:], self.scores, dirty, n_jobs)
        self.forward(alpha, transitions, losses, n_jobs)
        self.backward(alpha, transitions, pairs, n_jobs)

    def draw(
        self, transitions: Floats, n_pairs: int, share: float, seed: int, n_jobs: int
    ) -> tuple[Any, ...]:
        """Draw pairs of labelings; return where they differ."""
        weights = np.ones(len(self.sequences)) if self.weights is None else self.weights
        return draws_reference.draw(
            self.sequences,
            self.scores,
            transitions,
            weights,
            n_pairs=n_pairs,
            share=share,
            seed=seed,
        )

    def fork(
        self,
        transitions: Floats,
        least: float,
        share: float,
        seed: int,
        n_jobs: int,
        traced: bool,
    ) -> tuple[Any, ...]:
        """Return where labels may part."""
        weights = np.ones(len(self.sequences)) if self.weights is None else self.weights
        return forks_reference.fork(
            self.sequences,
            self.scores,
            transitions,
            weights,
            least=least,
            share=share,
            seed=seed,
            traced=traced,
        )

    def viterbi(self, transitions: Floats, path: NDArray[np.int32], n_jobs: int) -> None:
        """Find the best labels of each sequence; ties go to the smaller label."""
        for _, slots in self.sequences:
            best = self.scores[:, slots[0]].copy()
            back = []
            for now in slots[1:]:
                candidates = best[:, None] + transitions
                back.append(candidates.argmax(axis=0))
                best = candidates.max(axis=0) + self.scores[:, now]
            path[slots[-1]] = best.argmax()
            for t in range(len(slots) - 2, -1, -1):
                path[slots[t]] = back[t][path[slots[t + 1]]]


class Features:
    """Products with feature-indexed data."""

    def __init__(
        self,
        start: Ints,
        slots: NDArray[np.int32],
        value_start: Ints,
        values: Floats,
        lists: object = None,  # the same data once more
    ) -> None:
        self.columns: list[tuple[NDArray[np.int32], Floats]] = []
        for c, first in enumerate(value_start):
            rows = slots[start[c] : start[c + 1]]
            x = values[first : first + len(rows)] if first >= 0 else np.ones(len(rows))
            self.columns.append((rows, x))

    def scores(
        self,
        coordinates: Ints,
        weights: Floats,
        out: Floats,
        dirty: NDArray[np.uint8],
        n_jobs: int,
    ) -> None:
        """scores[y, slot] = Σ_c w[c, y] x_c(slot)."""
        out[:] = 0.0
        self.add_scores(coordinates, weights, out, dirty, n_jobs)

    def add_scores(
        self,
        coordinates: Ints,
        weights: Floats,
        out: Floats,
        dirty: NDArray[np.uint8],
        n_jobs: int,
    ) -> None:
        """Add to what is there."""
        for coordinate, w in zip(coordinates, weights, strict=True):
            column, y = divmod(int(coordinate), len(out))
            rows, x = self.columns[column]
            out[y, rows] += w * x
        dirty[:] = 1

    def gradient(self, coordinates: Ints, residuals: Floats, out: Floats, n_jobs: int) -> None:
        """g[c, y] = Σ_slot residual[y, slot] x_c(slot)."""
        for i, coordinate in enumerate(coordinates):
            column, y = divmod(int(coordinate), len(residuals))
            rows, x = self.columns[column]
            out[i] = residuals[y, rows] @ x

    def sweep(
        self,
        residuals: Floats,
        threshold: float,
        pair_start: Ints | None,
        pair_labels: NDArray[np.int32] | None,
        n_jobs: int,
    ) -> tuple[Ints, Floats, float]:
        """Return all gradients above the threshold and the largest of all."""
        n_labels = len(residuals)
        g = np.array([residuals[:, rows] @ x for rows, x in self.columns]).reshape(-1, n_labels)
        if pair_start is not None and pair_labels is not None:
            admitted = np.zeros_like(g, dtype=bool)
            admitted[np.repeat(np.arange(len(g)), np.diff(pair_start)), pair_labels] = True
            g = np.where(admitted, g, 0.0)
        keep = np.flatnonzero(np.abs(g) > threshold)
        return keep, g.flat[keep], float(np.abs(g).max(initial=0.0))

    def restrict_slots(
        self, slot_map: NDArray[np.int32], n_jobs: int
    ) -> tuple[Ints, NDArray[np.int32], Ints, Floats]:
        """Return start, slots, value_start, values of the same columns on some of the slots."""
        kept = []
        for rows, x in self.columns:
            new = slot_map[rows]
            order = np.argsort(new)[np.count_nonzero(new < 0) :]  # by their new places
            kept.append((new[order], x[order]))
        counts = np.array([len(x) for _, x in kept], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        slots = np.concatenate([rows for rows, _ in kept] or [slot_map[:0]])
        values = np.concatenate([x for _, x in kept] or [np.empty(0)])
        return start, slots.astype(np.int32), start[:-1].copy(), values

    def drawn_columns(
        self,
        coordinates: Ints,
        label_pairs: Ints,
        n_labels: int,
        n_slots: int,
        tokens: tuple[NDArray[Any], ...],
        edges: tuple[NDArray[Any], ...],
        n_jobs: int,
    ) -> tuple[Ints, NDArray[np.int32], NDArray[np.float32]]:
        """Return x_c (1[first = y] - 1[second = y]) of the rows' tokens, for each coordinate.

        And after them 1[first = pair] - 1[second = pair] of their edges, for each label pair; all
        times the number of the token or edge.
        """
        slots, of_row, first, second, by = tokens
        edge_row, edge_first, edge_second, edge_by = edges
        counts: list[int] = [0]
        row: list[int] = []
        value: list[float] = []
        for coordinate in coordinates:
            column, y = divmod(int(coordinate), n_labels)
            for slot, x in zip(*self.columns[column], strict=True):
                for k in np.flatnonzero(slots == slot):
                    sign = int(first[k] == y) - int(second[k] == y)
                    if sign:
                        row.append(of_row[k])
                        value.append(sign * x * by[k])
            counts.append(len(row))
        for pair in label_pairs:
            for sign, found in ((1, edge_first), (-1, edge_second)):
                met = found == pair
                row.extend(edge_row[met])
                value.extend(sign * edge_by[met])
            counts.append(len(row))
        return (
            np.array(counts, dtype=np.int64),
            np.array(row, dtype=np.int32),
            np.array(value, dtype=np.float32),
        )

    def observed_pairs(
        self, labels: NDArray[np.int32], n_labels: int
    ) -> tuple[Ints, NDArray[np.int32]]:
        """Return the labels that occur with each column, as CSR-like (start, labels)."""
        seen = [np.unique(labels[rows]) for rows, _ in self.columns]
        start = np.concatenate([[0], np.cumsum([len(s) for s in seen])]).astype(np.int64)
        return start, np.concatenate([*seen, np.empty(0)]).astype(np.int32)


class DenseFeatures(Features):
    """The same with dense columns, of which every slot with a row has an entry."""

    def __init__(self, values: NDArray[np.floating[Any]], slot_row: NDArray[np.int32]) -> None:
        slots = np.flatnonzero(slot_row >= 0).astype(np.int32)
        self.columns = [(slots, x.astype(np.float64)) for x in values[slot_row[slots]].T]

    def drawn_columns(  # type: ignore[override]
        self,
        coordinates: Ints,
        n_labels: int,
        n_slots: int,
        tokens: tuple[NDArray[Any], ...],
        others: tuple[Ints, NDArray[np.int32], NDArray[np.float32]],
        n_jobs: int,
    ) -> tuple[Ints, NDArray[np.int32], NDArray[np.float32]]:
        """Return the columns of features, and others behind them."""
        none = np.zeros(0, dtype=np.int32)
        size = n_labels, n_slots
        edges = none, none, none, none
        pairs = none.astype(np.int64)
        own = super().drawn_columns(coordinates, pairs, *size, tokens, edges, n_jobs)
        start = np.concatenate([own[0], own[0][-1] + others[0][1:]])
        return start, np.concatenate([own[1], others[1]]), np.concatenate([own[2], others[2]])

    def squares(self) -> Floats:
        """Return the sum of squares of each column."""
        return np.array([x @ x for _, x in self.columns])

    def observed_pairs(
        self, labels: NDArray[np.int32], n_labels: int
    ) -> tuple[Ints, NDArray[np.int32]]:
        """Return the labels of slots where a column is not zero."""
        self.columns, every = [(rows[x != 0], x[x != 0]) for rows, x in self.columns], self.columns
        found = super().observed_pairs(labels, n_labels)
        self.columns = every
        return found
