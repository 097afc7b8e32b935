"""Blocks of a linear-chain CRF: all labels of a feature; all transitions (``cpp/bcd.hpp``)."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.chain.sample_steps import join, split
from proxqn.losses.stepping.block_rows import BlockRows
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem import Floats, Ints, SparseVector
from proxqn.problem.stepwise import BlockPass, BlockRule, BlockSteps


@final
class ChainBlocks(BlockSteps):
    """Scores, forward variables and marginals of every token, by token; the data are shared.

    Parameters
    ----------
    labels, pairs, admitted
        As in :class:`~proxqn.losses.chain.sample_steps.ChainSamples`.
    """

    def __init__(
        self,
        layout: SequenceLayout,
        data: FeatureIndexed,
        labels: NDArray[np.int32],
        *,
        n_labels: int,
        pairs: tuple[Ints, NDArray[np.int32]] | None,
        admitted: NDArray[np.bool_],
        sample_weight: Floats | None,
    ) -> None:
        self._unigrams = WeightRows(data.n_columns, n_labels)
        self._blocks = BlockRows(self._unigrams)
        self._transitions = np.zeros((n_labels, n_labels))
        self._losses = np.zeros(layout.n_sequences)
        self._sample_weight = sample_weight
        rows = (layout.stride, self._unigrams.width)
        sequence = np.zeros(layout.stride, dtype=np.int32)
        sequence[layout.token_slot] = np.repeat(np.arange(layout.n_sequences), layout.lengths)
        self._kernel = _kernels.ChainBlocks(
            data.start,
            data.slots,
            data.value_start,
            data.values,
            sequence,
            sample_weight,
            None if pairs is None else self._unigrams.mask(*pairs),
            self._unigrams.array,
            np.zeros(rows),
            np.zeros(rows),
            self._losses,
            n_labels,
            np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
            layout.token_slot,
            labels[layout.token_slot],
            labels,
            None if admitted.all() else admitted.astype(np.float64),
        )

    @property
    def sizes(self) -> Ints:
        """One block a feature, and one of all transitions."""
        n_labels = len(self._transitions)
        return np.append(np.full(len(self._unigrams.array), n_labels), n_labels**2)

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        unigrams, self._transitions = split(weights, self._unigrams, len(self._transitions))
        self._blocks.put(unigrams)
        self._kernel.put_transitions(self._transitions)
        self._kernel.restart()

    def descend(self, blocks: Ints, rule: BlockRule, *, budget: int) -> BlockPass:
        """Move blocks in turn."""
        return self._blocks.descend(self._kernel, blocks, rule, budget)

    def weights(self) -> SparseVector:
        """Return the weights."""
        self._kernel.get_transitions(self._transitions)
        return join(self._blocks.take(), self._unigrams, self._transitions)

    def loss(self) -> float:
        """Sum the losses of the last forward inferences."""
        weight = 1.0 if self._sample_weight is None else self._sample_weight
        return float((weight * self._losses).sum())
