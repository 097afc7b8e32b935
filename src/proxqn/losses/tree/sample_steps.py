"""Stochastic steps on the tree model: one sample at a time (``cpp/rivals/tree_sgd.hpp``)."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.stepping.row_index import RowIndexed
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import SampleSteps


@final
class TreeSamples(SampleSteps):
    """Two dense numbers a weight: at the paper's size (122 million weights) 2 GB.

    A sample's gradient is not zero at any node of its features, so the method cannot do with less.
    """

    def __init__(
        self,
        data: FeatureIndexed,
        leaves: NDArray[np.int32],
        hierarchy: Hierarchy,
        *,
        sample_weight: Floats | None,
    ) -> None:
        n = len(leaves)
        rows = RowIndexed.from_features(data, np.arange(n, dtype=np.int32), n)
        self._rows = WeightRows(data.n_columns, len(hierarchy))
        self._received = np.zeros_like(self._rows.array)
        self._kernel = _kernels.TreeSamples(
            np.arange(n + 1, dtype=np.int64),
            rows.start,
            rows.columns,
            rows.values,
            sample_weight,
            self._rows.array,
            self._received,
            hierarchy.parent,
            hierarchy.leaf_nodes,
            leaves,
        )

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        self._rows.put(weights)
        self._kernel.restart()

    def descend(self, order: Ints, *, rate: float, lam: float, l2: float = 0.0) -> None:
        """Run the downward-upward pass on each sample and step on all nodes of its features."""
        self._kernel.descend(order, rate, lam, l2)

    def weights(self) -> SparseVector:
        """Return the weights, all penalties brought up to date."""
        self._kernel.settle()
        return self._rows.take()

    def loss(self, order: Ints) -> float:
        """Run the downward pass on each sample."""
        return float(self._kernel.loss(order))
