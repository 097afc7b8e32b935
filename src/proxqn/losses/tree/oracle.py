"""The joint model on a label tree (the paper's hierarchical classification).

``P(y|x) ∝ exp(Σ_{k ∈ Path(y)} w_k·x)`` over the leaves y, and ``ℓ = -Σ_i log P(y_i|x_i)``. With a
flat tree this is multinomial logistic regression. The weights are numbered feature by feature:
coordinate ``c·K + k`` is the weight of node k and the c-th feature that occurs in the data. The
root is on every path, so its weights change nothing; their derivatives are exactly 0 and they never
enter a working set.
"""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features import column_sizes
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.tree.data import TreeData
from proxqn.losses.tree.point import TreeLine, TreeMemory
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import BlockSteps, SampleSteps, StochasticOffer
from proxqn.problem.units import Rescaled

_ENTRY_COST = 50.0  # multiply-adds, in time: scores and derivatives of a tenth of the nodes


@final
class TreeOracle(Oracle):
    """Minus the log-likelihood of the tree model.

    Memory: the data twice (by row and by feature), the nonzero node scores, and one array of
    residuals, nodes x samples (85 MB at the paper's size); nothing of length d. What each step
    costs stands in ``cpp/tree/forward_backward.hpp``.

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
    >>> round(oracle.at(SparseVector.empty()).value, 4)  # three samples, three leaves: 3 log 3
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
        self.n_jobs, self._kernels = n_jobs, kernels
        self._take(TreeData.from_csr(X, leaves, hierarchy, sample_weight))

    def _take(self, samples: TreeData) -> None:
        self._samples = samples
        self._memory = TreeMemory(samples, self.n_jobs, self._kernels)

    @property
    def hierarchy(self) -> Hierarchy:
        """The tree."""
        return self._samples.hierarchy

    @property
    def data(self) -> FeatureIndexed:
        """The features that occur, and where."""
        return self._samples.by_feature

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
        return len(self._samples)

    def at(self, w: SparseVector) -> Point:
        """Run the upward and the downward pass. The points of before are spent."""
        line = TreeLine(self._memory, None, SparseVector.empty(), w)
        line.value(1.0)
        return line.accept(1.0)

    def restrict(self, samples: Ints, factor: float = 1.0) -> TreeOracle:
        """Return the loss on some samples, each multiplied by ``factor``, with memory of its own.

        Examples
        --------
        >>> tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak"]})
        >>> leaves = tree.leaf_index(["cat", "dog", "oak"])
        >>> part = TreeOracle(sp.csr_array(np.eye(3)), leaves, tree).restrict(np.array([0, 2]), 1.5)
        >>> part.n_coordinates, round(part.at(SparseVector.empty()).value, 4)
        (18, 3.2958)
        """
        part = copy.copy(self)
        part._take(self._samples.restricted(samples, factor, self._kernels, self.n_jobs))
        return part

    def rescaled(self, start: SparseVector) -> Rescaled | None:
        """Return the same loss with all columns of one size."""
        found = self._samples.rescaled()
        if found is None:
            return None
        data, units = found
        part = copy.copy(self)
        part._take(data)
        return Rescaled(part, units)

    def pass_cost(self) -> float:
        """Four operations a node and sample, and the time of fifty for each entry of the data.

        Residuals are written for all nodes; an entry's weights and residuals lie anywhere.
        """
        return 4.0 * self._memory.residuals.size + _ENTRY_COST * len(self._samples.columns)

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of samples whose path holds the node."""
        tree, samples = self.hierarchy, self._samples
        column, node = np.divmod(coordinates, len(tree))
        counts = np.bincount(samples.leaves, minlength=tree.n_leaves)
        ends = np.concatenate([[0], np.cumsum(counts)])
        share = (ends[tree.leaf_stop] - ends[tree.leaf_start] + 1.0) / (self.n_samples + 2.0)
        factor = 1.0 if samples.weights is None else float(samples.weights.mean())
        by_node: Floats = factor * share * (1.0 - share)
        return self.data.typical_squares()[column] * by_node[node]

    def samples(self) -> SampleSteps:
        """Return a stepper over single samples, for stochastic gradient descent."""
        from proxqn.losses.tree.sample_steps import TreeSamples

        data = self._samples
        return TreeSamples(self.data, data.leaves, self.hierarchy, sample_weight=data.weights)

    def stochastic(self, penalty: Penalty) -> StochasticOffer | None:
        """Return what stochastic steps with remembered gradients would cost."""
        from proxqn.losses.tree.saga_steps import offer

        compiled = self._kernels is _kernels and not column_sizes.wide(self.data)
        return offer(self._samples, penalty, self.n_jobs) if compiled else None

    def blocks(self) -> BlockSteps:
        """Return a stepper over features, for blockwise coordinate descent."""
        from proxqn.losses.tree.block_steps import TreeBlocks

        data = self._samples
        return TreeBlocks(self.data, data.leaves, self.hierarchy, sample_weight=data.weights)

    def pack(self, coef: sp.csr_array) -> SparseVector:
        """Turn coefficients (nodes x features) into a weight vector; unknown features go."""
        entries = sp.coo_array(coef)
        column = self.data.places(entries.col)
        known = column >= 0
        coordinates = column[known] * len(self.hierarchy) + entries.row[known]
        order = np.argsort(coordinates)
        return SparseVector(coordinates[order], entries.data[known][order].astype(np.float64))

    def unpack(self, w: SparseVector) -> sp.csr_array:
        """Return the coefficients, nodes x features, sparse."""
        column, node = np.divmod(w.coordinates, len(self.hierarchy))
        return sp.coo_array(
            (w.values, (node, self.data.columns[column])),
            shape=(len(self.hierarchy), self.data.n_features),
        ).tocsr()
