"""What a fitted chain says about new sequences: best labels, marginals, probabilities.

Everything is done in blocks of whole sequences, so that memory does not grow with the corpus, and
on arrays made for the call alone, so that any number of threads may predict with one model. The
kernels release the GIL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.data.sequences import SequenceLayout
from proxqn.estimators.sequence_input import Tokens
from proxqn.oracles.chain import aligned_zeros, chain_kernel
from proxqn.problem import Floats

_BLOCK_TOKENS = 1 << 14


@final
@dataclass(frozen=True)
class ChainInference:
    """A chain's weights, ready to be applied."""

    weights: sp.csr_array  # [n_features, L]: the transposed coefficients
    transitions: Floats  # [L, L]
    n_jobs: int

    @classmethod
    def from_coefficients(
        cls, coef: sp.csr_array, transitions: Floats, n_jobs: int
    ) -> ChainInference:
        """Prepare ``coef`` (labels x features) for products with rows of features."""
        return cls(sp.csr_array(coef.T), np.ascontiguousarray(transitions), n_jobs)

    def best_labels(self, tokens: Tokens) -> NDArray[np.int32]:
        """Return the labels of each sequence's most probable labelling (Viterbi), one a token."""
        labels = np.empty(tokens.X.shape[0], dtype=np.int32)
        for rows, block in tokens.blocks(_BLOCK_TOKENS):
            layout, scores = self._scores(block)
            kernel = chain_kernel(_kernels, layout, scores, labels=None, weights=None)
            path = np.zeros(layout.stride, dtype=np.int32)
            kernel.viterbi(self.transitions, path, self.n_jobs)
            labels[rows] = path[layout.token_slot]
        return labels

    def marginals(self, tokens: Tokens) -> Floats:
        """Return ``P(y_t = y | x)``, shape (n_tokens, L)."""
        marginals = np.empty((tokens.X.shape[0], len(self.transitions)))
        for rows, block in tokens.blocks(_BLOCK_TOKENS):
            layout, scores = self._scores(block)
            kernel, alpha = self._forward(layout, scores, None)[:2]
            pairs = np.zeros_like(self.transitions)
            kernel.backward(alpha, None, 0.0, self.transitions, pairs, self.n_jobs)
            marginals[rows] = alpha[:, layout.token_slot].T
        return marginals

    def log_probabilities(self, tokens: Tokens, labels: NDArray[np.int32]) -> Floats:
        """Return ``log P(y_i | x_i)`` of each sequence with the given labels."""
        found = []
        for rows, block in tokens.blocks(_BLOCK_TOKENS):
            layout, scores = self._scores(block)
            slot_labels = np.zeros(layout.stride, dtype=np.int32)
            slot_labels[layout.token_slot] = labels[rows]
            found.append(-self._forward(layout, scores, slot_labels)[2])
        return np.concatenate(found)

    def _forward(
        self, layout: SequenceLayout, scores: Floats, labels: NDArray[np.int32] | None
    ) -> tuple[Any, Floats, Floats]:
        """Run the forward pass; return the kernel, its α, and log Z minus the labels' scores."""
        kernel = chain_kernel(_kernels, layout, scores, labels=labels, weights=None)
        alpha, losses = aligned_zeros(scores.shape), np.zeros(layout.n_sequences)
        kernel.forward(alpha, None, 0.0, self.transitions, losses, self.n_jobs)
        return kernel, alpha, losses

    def _scores(self, tokens: Tokens) -> tuple[SequenceLayout, Floats]:
        """Return Θ·x of every token and label in the kernels' layout."""
        layout = SequenceLayout.from_lengths(tokens.lengths)
        scores = aligned_zeros((len(self.transitions), layout.stride))
        scores[:, layout.token_slot] = (tokens.X @ self.weights).toarray().T
        return layout, scores
