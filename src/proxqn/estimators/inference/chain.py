"""What a fitted chain says about new sequences: best labels, marginals, probabilities.

Everything is done in blocks of whole sequences, so that memory does not grow with the corpus, and
on arrays made for the call alone, so that any number of threads may predict with one model. The
kernels release the GIL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.aligned_array import aligned_zeros
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.inference.constraints import Constraints
from proxqn.estimators.inference.n_best import best_paths
from proxqn.estimators.inference.tagger import Tagger, token_of_slot
from proxqn.estimators.input.tokens import Tokens
from proxqn.features.dense import DenseColumns
from proxqn.features.edge_patterns import EdgePatterns
from proxqn.features.layout import SequenceLayout
from proxqn.features.partial_labels import PartialLabels, Twins
from proxqn.losses.chain.scores import chain_kernel
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.problem import Floats, Ints

_BLOCK_TOKENS = 1 << 14


@final
class ChainInference:
    """A chain's weights, ready to be applied."""

    def __init__(self, weights: ChainWeights, n_jobs: int, tagger: Tagger | None = None) -> None:
        self._tagger = Tagger(weights) if tagger is None else tagger
        self._transitions = np.ascontiguousarray(weights.transitions)  # [L, L]
        self._start, self._end = weights.start, weights.end  # [L]
        self._edges = weights.edges  # [L², n_edge_features]
        self._coef = weights.coef
        self._n_jobs = n_jobs

    def best_labels(
        self,
        tokens: Tokens,
        constraints: Constraints | None = None,
        forced: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the labels of each sequence's most probable labelling (Viterbi), one a token.

        Of the labellings that keep to the constraints and have the forced labels (-1: free).
        """
        if self._is_plain(tokens) and constraints is None and forced is None:
            return self._tagger.best_labels(tokens.X, tokens.lengths, self._n_jobs)
        labels = np.empty(tokens.X.shape[0], dtype=np.int32)
        transitions = self._transitions
        if constraints is not None:
            barred, first, last = constraints.penalties(len(transitions))
            transitions = transitions + barred
        for block in self._blocks(tokens):
            if constraints is not None:
                block.scores[:, block.first_slots] += first[:, None]
                block.scores[:, block.last_slots] += last[:, None]
            if forced is not None:
                _force(block.scores, block.layout.token_slot, forced[block.rows])
            kernel = self._kernel(block, None)
            path = np.zeros(block.layout.stride, dtype=np.int32)
            kernel.viterbi(transitions, path, self._n_jobs)
            found = path[block.layout.token_slot]
            if constraints is not None or forced is not None:
                _check_possible(found, block, transitions)
            labels[block.rows] = found
        return labels

    def marginals(self, tokens: Tokens) -> Floats:
        """Return ``P(y_t = y | x)``, shape (n_tokens, L)."""
        if self._is_plain(tokens):
            return self._tagger.marginals(
                self._tagger.entries(tokens.X), tokens.lengths, self._n_jobs
            )
        marginals = np.empty((tokens.X.shape[0], len(self._transitions)))
        for block in self._blocks(tokens):
            kernel, alpha, _ = self._forward(block, None)
            pairs = np.zeros_like(self._transitions)
            kernel.backward(alpha, self._transitions, pairs, self._n_jobs)
            _kernels.rows_of_slots(alpha, block.token_of_slot, marginals)
        return marginals

    def log_probabilities(self, tokens: Tokens, labels: PartialLabels) -> Floats:
        """Return ``log P(y_i | x_i)`` of each sequence with the given labels."""
        return -np.concatenate(
            [self._forward(block, labels.cut(block.rows))[2] for block in self._blocks(tokens)]
        )

    def n_best(self, tokens: Tokens, n: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Yield each sequence's n best labellings [n, T] and their log-probabilities [n]."""
        for block in self._blocks(tokens):
            log_z = self._forward(block, None)[2]
            scores = block.scores[:, block.layout.token_slot].T  # [n_tokens, L]
            ends = np.cumsum(block.layout.lengths)
            for i, length in enumerate(block.layout.lengths):
                sequence = scores[ends[i] - length : ends[i]]
                steps = self._transitions
                if block.edges is not None:
                    steps = steps + block.edges.steps(ends[i] - length, ends[i], len(steps))
                labels, path_scores = best_paths(sequence, steps, n)
                yield labels, path_scores - log_z[i]

    def _is_plain(self, tokens: Tokens) -> bool:
        """Whether one sequence at a time will do, as no layout of many has to be made."""
        return tokens.dense is None and (tokens.edges is None or not self._edges.nnz)

    def _forward(self, block: _Block, labels: PartialLabels | None) -> tuple[Any, Floats, Floats]:
        """Run the forward pass; return the kernel, its α, and log Z minus the labels' scores."""
        kernel = self._kernel(block, labels)
        alpha, losses = aligned_zeros(block.scores.shape), np.zeros(block.layout.n_sequences)
        kernel.forward(alpha, self._transitions, losses, self._n_jobs)
        return kernel, alpha, losses

    def _kernel(self, block: _Block, labels: PartialLabels | None) -> Any:
        layout, slot_labels, twins = block.layout, None, None
        if labels is not None:
            slot_labels = np.zeros(layout.stride, dtype=np.int32)
            slot_labels[layout.token_slot] = np.maximum(labels.labels, 0)
            twins = None if labels.complete else Twins.of(labels, layout.lengths)
        if block.edges is None and twins is None:
            return chain_kernel(_kernels, layout, block.scores, labels=slot_labels, weights=None)
        edges = block.edges or _EdgeScores.none(layout.n_tokens, len(self._transitions))
        lattice = LatticeInference(
            _kernels, layout, edges.patterns, block.scores, labels=slot_labels, twins=twins
        )
        lattice.put(edges.weights)
        return lattice

    def _edge_scores(self, edges: sp.csr_array, lengths: Ints) -> _EdgeScores | None:
        """Compute what the edge features add to the label pairs of each pattern of tokens."""
        if not self._edges.nnz:
            return None
        patterns = EdgePatterns.from_csr(edges, lengths)
        weighted = sp.coo_array(self._edges)
        place = np.searchsorted(patterns.columns, weighted.col)
        known = place < len(patterns.columns)
        known[known] = patterns.columns[place[known]] == weighted.col[known]
        weights = sp.csr_array(
            (weighted.data[known], (place[known], weighted.row[known])),
            shape=(len(patterns.columns), self._edges.shape[0]),
        )
        return _EdgeScores(patterns, weights)

    def _blocks(self, tokens: Tokens) -> Iterator[_Block]:
        """Compute Θ·x of every token and label, block by block, in the kernels' layout."""
        entries = self._tagger.entries(tokens.X)
        dense = None if tokens.dense is None else _DenseScores.of(tokens.dense, self._coef)
        for rows, lengths in tokens.blocks(_BLOCK_TOKENS):
            layout = SequenceLayout.from_lengths(lengths)
            slots = token_of_slot(layout, rows.start)
            scores = self._tagger.slot_scores(entries, slots, self._n_jobs)
            if dense is not None:
                dense.add_to(scores, slots, self._n_jobs)
            edges = None if tokens.edges is None else self._edge_scores(tokens.edges[rows], lengths)
            block = _Block(rows, layout, slots, scores, edges)
            scores[:, block.first_slots] += self._start[:, None]
            scores[:, block.last_slots] += self._end[:, None]
            yield block


@final
@dataclass(frozen=True)
class _EdgeScores:
    """What the edge features of some tokens add to the transitions."""

    patterns: EdgePatterns
    weights: sp.csr_array  # [columns of the patterns, L²]

    @classmethod
    def none(cls, n_tokens: int, n_labels: int) -> Self:
        """Return an empty block."""
        return cls(EdgePatterns.none(n_tokens), sp.csr_array((0, n_labels**2)))

    def steps(self, first: int, last: int, n_labels: int) -> Floats:
        """Return the scores of the steps into some tokens, [T, L, L]."""
        pattern = self.patterns.token[first:last]
        steps = np.zeros((len(pattern), n_labels * n_labels))
        has = pattern >= 0
        steps[has] = (self.patterns.rows[pattern[has]] @ self.weights).toarray()
        return steps.reshape(-1, n_labels, n_labels)


@final
@dataclass(frozen=True)
class _DenseScores:
    """What the dense columns of some tokens add to the scores of labels."""

    values: NDArray[np.floating[Any]]  # [n_tokens, n_columns]
    coordinates: Ints  # column · L + label of each weight, ascending
    weights: Floats

    @classmethod
    def of(cls, dense: DenseColumns, coef: sp.csr_array) -> Self:
        """Take the weights of these columns."""
        own: Any = sp.coo_array(coef[:, dense.columns].tocsc())
        coordinates = own.col.astype(np.int64) * coef.shape[0] + own.row
        return cls(dense.values, coordinates, own.data.astype(np.float64))

    def add_to(self, scores: Floats, token_of_slot: Ints, n_jobs: int) -> None:
        """Add the scores of the tokens in these slots."""
        kernel = _kernels.DenseFeatures(self.values, token_of_slot.astype(np.int32))
        dirty = np.zeros(len(scores), dtype=np.uint8)
        kernel.add_scores(self.coordinates, self.weights, scores, dirty, n_jobs)


@final
@dataclass(frozen=True)
class _Block:
    """Some whole sequences and their scores."""

    rows: slice  # of all tokens
    layout: SequenceLayout
    token_of_slot: Ints  # [stride], of all tokens
    scores: Floats  # [L, stride]
    edges: _EdgeScores | None

    @property
    def first_slots(self) -> NDArray[np.int32]:
        """Slots of the sequences' first tokens."""
        tokens: Ints = np.cumsum(self.layout.lengths) - self.layout.lengths
        return self.layout.token_slot[tokens]

    @property
    def last_slots(self) -> NDArray[np.int32]:
        """Slots of the sequences' last tokens."""
        tokens: Ints = np.cumsum(self.layout.lengths) - 1
        return self.layout.token_slot[tokens]


def _force(scores: Floats, slots: NDArray[np.int32], forced: NDArray[np.int32]) -> None:
    """Leave only the forced label of a token possible."""
    fixed = forced >= 0
    kept = scores[forced[fixed], slots[fixed]]
    scores[:, slots[fixed]] = -np.inf
    scores[forced[fixed], slots[fixed]] = kept


def _check_possible(labels: NDArray[np.int32], block: _Block, transitions: Floats) -> None:
    """Refuse sequences for which no labelling was allowed."""
    layout = block.layout
    allowed = np.isfinite(block.scores[labels, layout.token_slot])
    first_tokens: Ints = np.cumsum(layout.lengths) - layout.lengths
    inside = np.ones(len(labels), dtype=bool)
    inside[first_tokens] = False
    later = np.flatnonzero(inside)
    allowed[later] &= np.isfinite(transitions[labels[later - 1], labels[later]])
    if not allowed.all():
        token = int(np.argmin(allowed))
        raise ValueError(
            f"no labelling of the sequence with token {block.rows.start + token} satisfies the "
            "constraints and the forced labels. Allow more, or force less."
        )
