"""Blocks of a linear-chain CRF: all labels of a feature; all transitions.

The steps are in ``cpp/rivals/block_descent.hpp``.
"""

from __future__ import annotations

from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.weights import SplitWeights
from proxqn.losses.stepping.block_rows import BlockRows
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.sparse import Ints, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule, BlockSteps


@final
class ChainBlocks(BlockSteps):
    """Scores, forward variables and marginals of every token, by token; the data are shared.

    Dense columns are not: they become sparse ones.

    Parameters
    ----------
    data : ChainData
        The sequences.
    """

    def __init__(self, data: ChainData) -> None:
        layout, n_labels = data.layout, data.n_labels
        features = data.features.without_dense()
        self._data, self._states = data, WeightRows(features.n_columns, n_labels)
        self._blocks = BlockRows(self._states)
        self._transitions = np.zeros((n_labels, n_labels))
        self._losses = np.zeros(layout.n_sequences)
        rows = (layout.stride, self._states.width)
        sequence = np.zeros(layout.stride, dtype=np.int32)
        sequence[layout.token_slot] = np.repeat(np.arange(layout.n_sequences), layout.lengths)
        self._kernel = _kernels.ChainBlocks(
            features.start,
            features.slots,
            features.value_start,
            features.values,
            sequence,
            data.weights,
            None if data.pairs is None else self._states.mask(*data.pairs),
            self._states.array,
            np.zeros(rows),
            np.zeros(rows),
            self._losses,
            n_labels,
            np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
            layout.token_slot,
            data.labels[layout.token_slot],
            data.labels,
            None if data.admitted.all() else data.admitted.astype(np.float64),
        )

    @property
    def sizes(self) -> Ints:
        """One block a feature, and one of all transitions."""
        n_labels = self._data.n_labels
        return np.append(np.full(len(self._states.array), n_labels), n_labels**2)

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        start = self._data.split(weights)
        self._blocks.put(start.states)
        self._kernel.put_transitions(start.transitions)
        self._kernel.restart()

    def descend(self, blocks: Ints, rule: BlockRule, *, budget: int) -> BlockPass:
        """Move blocks in turn."""
        return self._blocks.descend(self._kernel, blocks, rule, budget)

    def weights(self) -> SparseVector:
        """Return the weights."""
        self._kernel.get_transitions(self._transitions)
        return SplitWeights(self._blocks.take(), self._transitions).joined(self._data.n_states)

    def loss(self) -> float:
        """Sum the losses of the last forward inferences."""
        weight = 1.0 if self._data.weights is None else self._data.weights
        return float((weight * self._losses).sum())
