"""The tree kernels in plain NumPy: their specification, and the truth they are tested against.

Names and signatures are those of ``proxqn._kernels``. Everything is dense, samples x nodes, and in
the log domain, as the paper writes the downward-upward algorithm (its appendix C.2; its softmax
over leaves lacks the exponentials).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.losses.chain.reference import Features as Features
from proxqn.problem.sparse import Floats, Ints

Int32s = NDArray[np.int32]


class Tree:
    """Downward scores, softmax over leaves, upward marginals."""

    def __init__(
        self,
        parent: Int32s,
        depth: Int32s,
        leaf_start: Int32s,
        leaf_stop: Int32s,
        leaf_nodes: Int32s,
        start: Ints,
        columns: Int32s,
        values: Floats,
        leaves: Int32s,
        weights: Floats | None,
        n_columns: int,
    ) -> None:
        self.X = sp.csr_array((values, columns, start), shape=(len(leaves), n_columns))
        self.leaf_nodes, self.leaves, self.weights = leaf_nodes, leaves, weights
        # member[k, y] = 1[k ∈ Path(y)], nodes x leaves
        leaf = np.arange(len(leaf_nodes))
        self.member = ((leaf_start[:, None] <= leaf) & (leaf < leaf_stop[:, None])).astype(float)

    def move(self, coordinates: Ints, w: Floats, d: Floats, n_jobs: int) -> None:
        """Compute s_k = w_k·x and its change along d, samples x nodes."""
        n_nodes = len(self.member)
        column, node = np.divmod(coordinates, n_nodes)
        shape = (self.X.shape[1], n_nodes)
        self.scores = (self.X @ sp.csr_array((w, (column, node)), shape=shape)).toarray()
        self.change = (self.X @ sp.csr_array((d, (column, node)), shape=shape)).toarray()

    def forward(self, step: float, losses: Floats, n_jobs: int) -> None:
        """Set losses to log Σ_y exp(path score of y) - path score of the true leaf."""
        paths = (self.scores + step * self.change) @ self.member  # samples x leaves
        losses[:] = logsumexp(paths, axis=1) - paths[np.arange(len(paths)), self.leaves]

    def backward(self, step: float, residuals: Floats, n_jobs: int) -> None:
        """residuals[k, i] = weight_i · (P(k ∈ path | x_i) - 1[k ∈ Path(y_i)]); moves the scores."""
        self.scores = self.scores + step * self.change
        self.change = np.zeros_like(self.change)
        paths = self.scores @ self.member
        p = np.exp(paths - logsumexp(paths, axis=1, keepdims=True))
        p[np.arange(len(p)), self.leaves] -= 1.0
        if self.weights is not None:
            p *= self.weights[:, None]
        residuals[:] = 0.0
        residuals[1:, : len(p)] = self.member[1:] @ p.T  # the root's would be rounding around 0
