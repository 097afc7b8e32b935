"""Stochastic steps on a linear-chain CRF: one sequence at a time (``cpp/sgd.hpp``)."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.stepping.row_index import RowIndexed
from proxqn.losses.stepping.weight_rows import WeightRows
from proxqn.problem import Floats, Ints, SparseVector
from proxqn.problem.stepwise import SampleSteps


@final
class ChainSamples(SampleSteps):
    """A second copy of the data, by token, and two dense numbers a weight.

    Parameters
    ----------
    labels : array
        True labels by slot, as the chain oracle keeps them.
    pairs : tuple or None
        The labels admitted with each feature, as ``Features.observed_pairs`` returns them.
    admitted : array of shape (n_labels, n_labels)
        The label pairs that have a weight.
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
        slot_token = np.zeros(layout.stride, dtype=np.int32)
        slot_token[layout.token_slot] = np.arange(layout.n_tokens, dtype=np.int32)
        rows = RowIndexed.from_features(data, slot_token, layout.n_tokens)
        self._unigrams = WeightRows(data.n_columns, n_labels)
        self._received = np.zeros_like(self._unigrams.array)
        self._transitions = np.zeros((n_labels, n_labels))
        self._kernel = _kernels.ChainSamples(
            np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
            rows.start,
            rows.columns,
            rows.values,
            sample_weight,
            self._unigrams.array,
            self._received,
            None if pairs is None else self._unigrams.mask(*pairs),
            n_labels,
            labels[layout.token_slot],
            None if admitted.all() else admitted.astype(np.float64),
            int(layout.lengths.max()),
        )

    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``."""
        unigrams, self._transitions = split(weights, self._unigrams, len(self._transitions))
        self._unigrams.put(unigrams)
        self._kernel.restart()
        self._kernel.put_transitions(self._transitions)

    def descend(self, order: Ints, *, rate: float, lam: float, l2: float = 0.0) -> None:
        """Run forward-backward on each sequence and step on its features and all transitions."""
        self._kernel.descend(order, rate, lam, l2)

    def weights(self) -> SparseVector:
        """Return the weights, all penalties brought up to date."""
        self._kernel.settle()
        self._kernel.get_transitions(self._transitions)
        return join(self._unigrams.take(), self._unigrams, self._transitions)

    def loss(self, order: Ints) -> float:
        """Run forward on each sequence."""
        return float(self._kernel.loss(order))


def split(weights: SparseVector, rows: WeightRows, n_labels: int) -> tuple[SparseVector, Floats]:
    """Return the unigram weights and the transitions."""
    n_unigrams = len(rows.array) * rows.size
    at = np.searchsorted(weights.coordinates, n_unigrams)
    transitions = np.zeros((n_labels, n_labels))
    transitions.flat[weights.coordinates[at:] - n_unigrams] = weights.values[at:]
    return SparseVector(weights.coordinates[:at], weights.values[:at]), transitions


def join(unigrams: SparseVector, rows: WeightRows, transitions: Floats) -> SparseVector:
    """Return unigram weights and transitions as one vector, numbered as in the chain oracle."""
    pairs = np.flatnonzero(transitions)
    return SparseVector(
        np.concatenate([unigrams.coordinates, pairs + len(rows.array) * rows.size]),
        np.concatenate([unigrams.values, transitions.ravel()[pairs]]),
    )
