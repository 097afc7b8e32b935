"""The joint model on a label tree (the paper's hierarchical classification).

``P(y|x) ∝ exp(Σ_{k ∈ Path(y)} w_k·x)`` over the leaves y, and ``ℓ = -Σ_i log P(y_i|x_i)``. With a
flat tree this is multinomial logistic regression. The weights are numbered feature by feature:
coordinate ``c·K + k`` is the weight of node k and the c-th feature that occurs in the data. The
root is on every path, so its weights change nothing; their derivatives are exactly 0 and they never
enter a working set.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.matrix import FeatureIndexed
from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep, union
from proxqn.problem.stepwise import BlockOracle, BlockSteps, SampleOracle, SampleSteps

_LANES = 8  # samples side by side in the kernels


@final
class TreeOracle(Oracle, SampleOracle, BlockOracle):
    """Minus the log-likelihood of the tree model.

    Memory: the data twice (by row and by feature), the nonzero node scores, and one array of
    residuals, nodes x samples (85 MB at the paper's size); nothing of length d. What each step
    costs stands in ``cpp/tree.hpp``.

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_features)
        Canonical, finite; any numeric dtype.
    leaves : array of shape (n_samples,)
        True leaves, as numbers from ``hierarchy.leaf_index``.
    hierarchy : Hierarchy
        The tree.
    sample_weight : array of shape (n_samples,), optional
        Factors of the samples' losses.
    n_jobs : int
        Threads; the result does not depend on it.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.tree.reference`` for the readable NumPy truth.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak"]})
    >>> oracle = TreeOracle(sp.csr_array(np.eye(3)), tree.leaf_index(["cat", "dog", "oak"]), tree)
    >>> oracle.n_parameters  # 6 nodes, the root among them, and 3 features
    18
    >>> round(oracle.value_at(0.0), 4)  # three samples, three leaves: 3 log 3
    3.2958
    """

    def __init__(
        self,
        X: sp.csr_array,
        leaves: NDArray[np.integer[Any]],
        hierarchy: Hierarchy,
        *,
        sample_weight: Floats | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        n_samples = X.shape[0]
        self.hierarchy = hierarchy
        self.n_jobs = n_jobs
        self.data = FeatureIndexed.from_csr(X, np.arange(n_samples, dtype=np.int32))
        self._leaves = np.asarray(leaves, dtype=np.int32)
        self._weights = sample_weight
        self._features = kernels.Features(
            self.data.start, self.data.slots, self.data.value_start, self.data.values
        )
        self._tree = kernels.Tree(
            hierarchy.parent,
            hierarchy.depth,
            hierarchy.leaf_start,
            hierarchy.leaf_stop,
            hierarchy.leaf_nodes,
            np.asarray(X.indptr, dtype=np.int64),
            np.searchsorted(self.data.columns, X.indices).astype(np.int32),
            np.asarray(X.data, dtype=np.float64),
            self._leaves,
            sample_weight,
            self.data.n_columns,
        )
        stride = -(-n_samples // _LANES) * _LANES
        self._residuals = np.zeros((len(hierarchy), stride))  # weight · (P(k) - 1[k on path of y])
        self._losses = np.zeros(n_samples)
        self.reset()

    @property
    def n_coordinates(self) -> int:
        """Numbers in use: all nodes of every feature that occurs."""
        return self.data.n_columns * len(self.hierarchy)

    @property
    def n_parameters(self) -> int:
        """d: all nodes x all features, the root's included as in the paper."""
        return self.data.n_features * len(self.hierarchy)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return len(self._losses)

    def reset(self) -> None:
        """Go to w = 0."""
        self._w = SparseVector.empty()
        self.move(SparseVector.empty())

    def move(self, direction: SparseVector) -> None:
        """Compute node scores and their changes: the data entries of the features in w and d."""
        coordinates = union(self._w.coordinates, direction.coordinates)
        w, d = np.zeros(len(coordinates)), np.zeros(len(coordinates))
        w[np.searchsorted(coordinates, self._w.coordinates)] = self._w.values
        d[np.searchsorted(coordinates, direction.coordinates)] = direction.values
        self._tree.move(coordinates, w, d, self.n_jobs)
        self._moving = (coordinates, w, d)

    def value_at(self, step: float) -> float:
        """Run the upward pass: an exponential for every nonzero node score."""
        self._tree.forward(step, self._losses, self.n_jobs)
        losses = self._losses if self._weights is None else self._weights * self._losses
        return float(losses.sum())

    def accept(self, step: float) -> None:
        """Run the downward pass and write the residuals: nodes x samples."""
        self._tree.backward(step, self._residuals, self.n_jobs)
        coordinates, w, d = self._moving
        self._w = SparseVector(coordinates, w + step * d).nonzero()
        self._moving = (coordinates, w + step * d, np.zeros_like(d))

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum the node's residuals over the rows of each coordinate's feature."""
        out = np.empty(len(coordinates))
        self._features.gradient(coordinates, self._residuals, out, self.n_jobs)
        return out

    def sweep(self, level: float) -> Sweep:
        """Stream over all data entries times nodes, tile by tile; keep what exceeds the level."""
        coordinates, gradient, largest = self._features.sweep(
            self._residuals, level, None, None, self.n_jobs
        )
        return Sweep(SparseVector(coordinates, gradient), largest)

    def sample_losses(self) -> tuple[Floats, Floats | None]:
        """Return -log P(y_i|x_i) of the last forward pass."""
        return self._losses, self._weights

    @property
    def pass_cost(self) -> float:
        """About four operations a node and sample: residuals are written for all of them."""
        return 4.0 * self._residuals.size

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of samples whose path holds the node."""
        tree = self.hierarchy
        column, node = np.divmod(coordinates, len(tree))
        ends = np.concatenate([[0], np.cumsum(np.bincount(self._leaves, minlength=tree.n_leaves))])
        share = (ends[tree.leaf_stop] - ends[tree.leaf_start] + 1.0) / (self.n_samples + 2.0)
        factor = 1.0 if self._weights is None else float(self._weights.mean())
        by_node: Floats = factor * share * (1.0 - share)
        return self.data.squares()[column] * by_node[node]

    def samples(self) -> SampleSteps:
        """Return a stepper over single samples, for stochastic gradient descent."""
        from proxqn.losses.tree.sample_steps import TreeSamples

        return TreeSamples(self.data, self._leaves, self.hierarchy, sample_weight=self._weights)

    def blocks(self) -> BlockSteps:
        """Return a stepper over features, for blockwise coordinate descent."""
        from proxqn.losses.tree.block_steps import TreeBlocks

        return TreeBlocks(self.data, self._leaves, self.hierarchy, sample_weight=self._weights)

    def pack(self, coef: sp.csr_array) -> SparseVector:
        """Turn coefficients (nodes x features) into a weight vector; unknown features go."""
        entries = sp.coo_array(coef)
        column = np.searchsorted(self.data.columns, entries.col)
        known = column < self.data.n_columns
        known[known] = self.data.columns[column[known]] == entries.col[known]
        coordinates = column[known].astype(np.int64) * len(self.hierarchy) + entries.row[known]
        order = np.argsort(coordinates)
        return SparseVector(coordinates[order], entries.data[known][order].astype(np.float64))

    def unpack(self, w: SparseVector) -> sp.csr_array:
        """Return the coefficients, nodes x features, sparse."""
        column, node = np.divmod(w.coordinates, len(self.hierarchy))
        return sp.coo_array(
            (w.values, (node, self.data.columns[column])),
            shape=(len(self.hierarchy), self.data.n_features),
        ).tocsr()
