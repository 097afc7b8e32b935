"""A CRF written out: the feature vector φ(y, x_i) of every labeling of every sample.

The paper's theory speaks of the matrix Φ with one column ``φ(y, x_i) - E φ(y, x_i)`` for each
sample and labeling (its Theorem 3). There are exponentially many, so this is for tiny problems, to
check what the theory says, and what the oracles compute, against the definition.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn import Hierarchy
from proxqn.problem import Floats, Ints

_ALL = slice(None)
_RANK = 1e-9  # singular values below this fraction of the largest count as zero


@final
@dataclass(frozen=True)
class Labelings:
    """All labelings of N samples under d weights, numbered as in the oracle."""

    phi: tuple[Floats, ...]  # one array [labelings, d] a sample
    true: tuple[int, ...]  # the row of the true labeling

    @classmethod
    def of_chain(
        cls,
        X: Floats,
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        n_labels: int,
    ) -> Labelings:
        """Enumerate ``n_labels^T`` labelings of each sequence; every column of X must occur.

        Coordinate ``c·L + y`` counts feature c under label y, coordinate ``C·L + a·L + b`` the pair
        of neighbours a, b, as in :class:`~proxqn.losses.chain.oracle.ChainOracle`.
        """
        L, C = n_labels, X.shape[1]
        phi, true = [], []
        for end, length in zip(np.cumsum(lengths), lengths, strict=True):
            rows, known = X[end - length : end], labels[end - length : end]
            ys = np.array(list(itertools.product(range(L), repeat=int(length))))
            at = ys[:, :, None] == np.arange(L)  # [labelings, T, L]
            unigrams = np.einsum("ntl,tc->ncl", at, rows).reshape(len(ys), C * L)
            pairs = np.einsum("nta,ntb->nab", at[:, :-1] * 1.0, at[:, 1:] * 1.0)
            phi.append(np.hstack([unigrams, pairs.reshape(len(ys), L * L)]))
            true.append(int(np.flatnonzero((ys == known).all(axis=1))[0]))
        return cls(tuple(phi), tuple(true))

    @classmethod
    def of_tree(
        cls, X: Floats, leaves: NDArray[np.integer[Any]], hierarchy: Hierarchy
    ) -> Labelings:
        """Enumerate the leaves; coordinate ``c·K + k`` is feature c if node k is on the path."""
        member = np.zeros((hierarchy.n_leaves, len(hierarchy)))  # [leaves, nodes]
        for leaf, node in enumerate(hierarchy.leaf_nodes):
            while node >= 0:
                member[leaf, node] = 1.0
                node = hierarchy.parent[node]
        phi = tuple(np.einsum("yk,c->yck", member, row).reshape(len(member), -1) for row in X)
        return cls(phi, tuple(int(leaf) for leaf in leaves))

    @property
    def n_coordinates(self) -> int:
        """The number d of weights."""
        return int(self.phi[0].shape[1])

    @property
    def n_columns(self) -> int:
        """The number of columns of Φ: labelings, summed over the samples."""
        return sum(len(phi) for phi in self.phi)

    def matrix(self) -> Floats:
        """Return Φ at w = 0, where every labeling is equally likely [d, columns]."""
        return np.vstack([phi - phi.mean(axis=0) for phi in self.phi]).T

    def gradient(self, w: Floats) -> Floats:
        """Return ``Σ_i (E φ - φ(y_i))``."""
        terms = [
            _probabilities(phi @ w) @ phi - phi[true]
            for phi, true in zip(self.phi, self.true, strict=True)
        ]
        total: Floats = np.sum(terms, axis=0)
        return total

    def hessian(self, w: Floats, block: Ints | slice = _ALL) -> Floats:
        """Return ``Φ D Φᵀ``, the covariances of φ summed over the samples, on some coordinates."""
        rows = []
        for phi in self.phi:
            p, part = _probabilities(phi @ w), phi[:, block]
            rows.append(np.sqrt(p)[:, None] * (part - p @ part))
        stacked = np.vstack(rows)
        return stacked.T @ stacked

    def lipschitz(self) -> float:
        """Return a Lipschitz constant of ℓ that holds for all w.

        ``∇ℓ = Σ_i (E φ_i - φ_i(y_i))`` lies within ``Σ_i max_y ‖φ_i(y) - φ_i(y_i)‖``.
        """
        return float(
            sum(
                np.linalg.norm(phi - phi[true], axis=1).max()
                for phi, true in zip(self.phi, self.true, strict=True)
            )
        )


@final
@dataclass(frozen=True)
class Split:
    """A matrix's column space and what is orthogonal to it, as orthonormal bases."""

    space: Floats  # [d, rank]
    rest: Floats  # [d, d - rank]
    smallest: float  # the smallest singular value counted, and the largest not counted,
    left_out: float  # both as fractions of the largest

    @property
    def rank(self) -> int:
        """The dimension of the column space."""
        return int(self.space.shape[1])


def split(matrix: Floats) -> Split:
    """Return the column space of a matrix [d, n], and its orthogonal complement."""
    d = len(matrix)
    if matrix.shape[1] > d:  # the same column space in d columns
        _, R = np.linalg.qr(matrix.T)
        matrix = R.T
    left, values, _ = np.linalg.svd(matrix, full_matrices=True)
    values = np.concatenate([values, np.zeros(d - len(values))]) / values[0]
    rank = int((values > _RANK).sum())
    left_out = float(values[rank]) if rank < d else 0.0
    return Split(left[:, :rank], left[:, rank:], float(values[rank - 1]), left_out)


def _probabilities(scores: Floats) -> Floats:
    p = np.exp(scores - scores.max())
    total: Floats = p / p.sum()
    return total
