"""The tree kernels in plain NumPy: their specification, and the truth they are tested against.

Names and signatures are those of ``proxqn._kernels``. Everything is dense, samples x nodes, and in
the log domain, as the paper writes the downward-upward algorithm (its appendix C.2; its softmax
over leaves lacks the exponentials).
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.losses.chain.reference import Features as Features
from proxqn.problem.sparse import Floats, Ints
from proxqn.random_numbers import SplitMix64

Int32s = NDArray[np.int32]
_MASK = (1 << 64) - 1
_SURE = 1e-10  # of leaves that differ: below, rounding is all there is


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
        self.parent = parent
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

    def draw(
        self, residuals: Floats, n_pairs: int, share: float, seed: int, n_jobs: int
    ) -> tuple[Int32s, Int32s, Int32s, Int32s, NDArray[np.float32], int]:
        """Draw pairs of different leaves: nodes that one path has alone, by row (``draws.hpp``)."""
        tokens: list[tuple[int, int, int, int]] = []
        scale: list[float] = []
        n_drawn = 0
        for i, leaf in enumerate(self.leaves):
            random = SplitMix64((seed + 0xD1342543DE82EF95 * (i + 1)) & _MASK)
            weight = 1.0 if self.weights is None else float(self.weights[i])
            if (share < 1.0 and random.uniform() >= share) or not weight > 0.0:
                continue
            p = residuals[self.leaf_nodes, i] / weight
            p[leaf] += 1.0
            p = np.maximum(p, 0.0)
            pairs, differ = _pairs(p, n_pairs, SplitMix64(random.state))
            n_drawn += pairs.total()
            for (y, z), count in sorted(pairs.items()):
                tokens.extend((i, len(scale), a, b) for a, b in self._apart(y, z))
                scale.append(np.sqrt(count * weight * differ / (2.0 * n_pairs * share)))
        columns = np.array(tokens, dtype=np.int32).reshape(-1, 4).T.copy()
        return *columns, np.array(scale, dtype=np.float32), n_drawn

    def _apart(self, y: int, z: int) -> list[tuple[int, int]]:
        """Return the nodes on one of two paths alone, from the leaves up; 0 where one is longer."""
        alone = []
        for leaf, other in ((y, z), (z, y)):
            k, climbed = int(self.leaf_nodes[leaf]), []
            while not self.member[k, other]:
                climbed.append(k)
                k = int(self.parent[k])
            alone.append(climbed)
        one, two = alone
        return list(itertools.zip_longest(one, two, fillvalue=0))


def _pairs(p: Floats, size: int, random: SplitMix64) -> tuple[Counter[tuple[int, int]], float]:
    """Draw leaves y ≠ z with P(y) P(z); return the pairs and the probability that they differ."""
    total = float(np.cumsum(p)[-1])
    sums = np.cumsum(p * (total - p))
    pairs: Counter[tuple[int, int]] = Counter()
    if not sums[-1] > _SURE:
        return pairs, 0.0
    u = random.uniform()
    for i in range(size):
        found = np.searchsorted(sums, (i + u) / size * sums[-1], side="right")
        y = min(int(found), len(p) - 1)
        others = np.where(np.arange(len(p)) == y, 0.0, p)
        at = np.searchsorted(np.cumsum(others), random.uniform() * (total - p[y]), side="right")
        z = min(int(at), int(np.flatnonzero(others)[-1]))
        pairs[min(y, z), max(y, z)] += 1
    return pairs, float(sums[-1])
