"""Prediction with a fitted tree model, in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from proxqn.features.hierarchy import Hierarchy
from proxqn.problem import Floats, Ints

_BLOCK_CELLS = 2**21  # nodes x samples scored at a time: 16 MB, a few times over
_WIDE = 2**20  # columns; a product takes eight bytes for each, used or not


@final
@dataclass(frozen=True)
class TreeInference:
    """Node scores, summed down to the leaves and normalised."""

    coef: sp.csr_array  # [n_nodes, n_features]
    intercept: Floats  # [n_nodes]
    hierarchy: Hierarchy
    leaf_of_class: Ints  # [n_classes] the leaf number of each class

    def blocks(self, X: sp.csr_array) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their ``log P(leaf | x)``, samples x leaves in leaf order."""
        size = max(1, _BLOCK_CELLS // len(self.hierarchy))
        coef, X = (self.coef, X) if X.shape[1] <= _WIDE else _used_columns(self.coef, X)
        for start in range(0, X.shape[0], size):
            rows = slice(start, min(start + size, X.shape[0]))
            scores = (coef @ X[rows].T).toarray() + self.intercept[:, None]
            paths = self.hierarchy.downward(scores, axis=0)  # [n_leaves, block]
            yield rows, (paths - logsumexp(paths, axis=0)).T

    def log_probabilities(self, X: sp.csr_array) -> Floats:
        """Return ``log P(class | x)``, samples x classes."""
        out = np.empty((X.shape[0], len(self.leaf_of_class)))
        for rows, log_p in self.blocks(X):
            out[rows] = log_p[:, self.leaf_of_class]
        return out

    def node_marginals(self, X: sp.csr_array) -> Floats:
        """Return ``P(node on the path | x)``, samples x nodes."""
        out = np.empty((X.shape[0], len(self.hierarchy)))
        for rows, log_p in self.blocks(X):
            out[rows] = self.hierarchy.upward(np.exp(log_p))
        return out

    def best_classes(self, X: sp.csr_array, k: int) -> tuple[Ints, Floats]:
        """Return the k most probable classes, best first, and their log-probabilities."""
        best = np.empty((X.shape[0], k), dtype=np.int64)
        values = np.empty((X.shape[0], k))
        for rows, log_p in self.blocks(X):
            by_class = log_p[:, self.leaf_of_class]
            # Stable, so that of equal classes the first one wins.
            order = np.argsort(-by_class, axis=1, kind="stable")[:, :k]
            best[rows] = order
            values[rows] = np.take_along_axis(by_class, order, axis=1)
        return best, values

    def most_probable(self, X: sp.csr_array) -> Ints:
        """Return the most probable class of each sample."""
        best = np.empty(X.shape[0], dtype=np.int64)
        for rows, log_p in self.blocks(X):
            best[rows] = log_p[:, self.leaf_of_class].argmax(axis=1)
        return best


def _used_columns(coef: sp.csr_array, X: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
    """Return both with the columns alone that have a weight."""
    used = np.unique(coef.indices)
    place = np.searchsorted(used, X.indices)
    known = place < len(used)
    known[known] = used[place[known]] == X.indices[known]
    starts = np.concatenate([[0], np.cumsum(known)])[X.indptr]
    weights: Any = (coef.data, np.searchsorted(used, coef.indices), coef.indptr)
    values: Any = (X.data[known], place[known], starts)
    return (
        sp.csr_array(weights, shape=(coef.shape[0], len(used))),
        sp.csr_array(values, shape=(X.shape[0], len(used))),
    )
