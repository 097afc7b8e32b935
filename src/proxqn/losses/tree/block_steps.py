"""Blocks of the tree model: all nodes of a feature (``cpp/rivals/tree_blocks.hpp``)."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.stepping.block_rows import BlockRows
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule, BlockSteps


@final
class TreeBlocks(BlockSteps):
    """Dense weights (1 GB of address space at the paper's size) and two arrays samples x nodes."""

    def __init__(
        self,
        data: FeatureIndexed,
        leaves: NDArray[np.int32],
        hierarchy: Hierarchy,
        *,
        sample_weight: Floats | None,
    ) -> None:
        n = len(leaves)
        self._rows = WeightRows(data.n_columns, len(hierarchy))
        self._blocks = BlockRows(self._rows)
        self._losses = np.zeros(n)
        self._sample_weight = sample_weight
        self._kernel = _kernels.TreeBlocks(
            data.start,
            data.slots,
            data.value_start,
            data.values,
            np.arange(n, dtype=np.int32),
            sample_weight,
            self._rows.array,
            np.zeros((n, self._rows.width)),
            np.zeros((n, self._rows.width)),
            self._losses,
            hierarchy.parent,
            hierarchy.leaf_nodes,
            leaves,
        )

    @property
    def sizes(self) -> Ints:
        """One block a feature."""
        return np.full(len(self._rows.array), self._rows.size)

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        self._blocks.put(weights)
        self._kernel.restart()

    def descend(self, blocks: Ints, rule: BlockRule, *, budget: int) -> BlockPass:
        """Move blocks in turn."""
        return self._blocks.descend(self._kernel, blocks, rule, budget)

    def weights(self) -> SparseVector:
        """Return the weights."""
        return self._blocks.take()

    def loss(self) -> float:
        """Sum the losses of the last forward inferences."""
        weight = 1.0 if self._sample_weight is None else self._sample_weight
        return float((weight * self._losses).sum())
