"""A chain's one long vector as an estimator has it: coefficients, and transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.sparse import Floats, SparseVector


def pack(data: ChainData, coef: sp.csr_array, transitions: Floats) -> SparseVector:
    """Turn coefficients (labels x features) and transitions into a weight vector.

    What has no weight is left out: features that do not occur, pairs not admitted.
    """
    n_labels, n_columns = data.n_labels, data.features.n_columns
    entries = sp.coo_array(coef)
    column = data.features.places(entries.col)
    known = column >= 0
    states = column[known] * n_labels + entries.row[known]
    values = entries.data[known]
    if data.pairs is not None:
        start, pair_labels = data.pairs
        own = np.repeat(np.arange(n_columns), np.diff(start))
        admitted = np.isin(states, own * n_labels + pair_labels)
        states, values = states[admitted], values[admitted]
    order = np.argsort(states)
    found = SparseVector(states[order].astype(np.int64), values[order].astype(np.float64))
    return SplitWeights(found, np.where(data.admitted, transitions, 0.0)).joined(data.n_states)


def unpack(data: ChainData, w: SparseVector) -> tuple[sp.csr_array, Floats]:
    """Return coefficients (labels x features, sparse) and transitions (labels x labels)."""
    weights = data.split(w)
    column, label = np.divmod(weights.states.coordinates, data.n_labels)
    shape = data.n_labels, data.features.n_features
    short = max(shape) <= np.iinfo(np.int32).max
    kind: Any = np.int32 if short else np.int64  # scipy keeps what comes
    place: Any = label.astype(kind), data.features.columns[column].astype(kind)
    coef = sp.coo_array((weights.states.values, place), shape=shape).tocsr()
    return coef, weights.transitions
