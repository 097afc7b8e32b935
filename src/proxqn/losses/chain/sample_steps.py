"""Stochastic steps on a linear-chain CRF: one sequence at a time (``cpp/rivals/sgd.hpp``)."""

from __future__ import annotations

from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.weights import SplitWeights
from proxqn.losses.stepping.row_index import RowIndexed
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem.sparse import Ints, SparseVector
from proxqn.problem.stepwise import SampleSteps


@final
class ChainSamples(SampleSteps):
    """A second copy of the data, by token, and two dense numbers a weight.

    Parameters
    ----------
    data : ChainData
        The sequences.
    """

    def __init__(self, data: ChainData) -> None:
        layout, n_labels = data.layout, data.n_labels
        features = data.features.without_dense()
        slot_token = np.zeros(layout.stride, dtype=np.int32)
        slot_token[layout.token_slot] = np.arange(layout.n_tokens, dtype=np.int32)
        rows = RowIndexed.from_features(features, slot_token, layout.n_tokens)
        self._data, self._states = data, WeightRows(features.n_columns, n_labels)
        self._received = np.zeros_like(self._states.array)
        self._transitions = np.zeros((n_labels, n_labels))
        self._kernel = _kernels.ChainSamples(
            np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
            rows.start,
            rows.columns,
            rows.values,
            data.weights,
            self._states.array,
            self._received,
            None if data.pairs is None else self._states.mask(*data.pairs),
            n_labels,
            data.labels[layout.token_slot],
            None if data.admitted.all() else data.admitted.astype(np.float64),
            int(layout.lengths.max()),
        )

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        start = self._data.split(weights)
        self._states.put(start.states)
        self._kernel.restart()
        self._kernel.put_transitions(start.transitions)

    def descend(self, order: Ints, *, rate: float, lam: float, l2: float = 0.0) -> None:
        """Run forward-backward on each sequence and step on its features and all transitions."""
        self._kernel.descend(order, rate, lam, l2)

    def weights(self) -> SparseVector:
        """Return the weights, all penalties brought up to date."""
        self._kernel.settle()
        self._kernel.get_transitions(self._transitions)
        return SplitWeights(self._states.take(), self._transitions).joined(self._data.n_states)

    def loss(self, order: Ints) -> float:
        """Run forward on each sequence."""
        return float(self._kernel.loss(order))
