"""Which weights a chain has, where neither all nor those that occur are wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["WeightPairs"]


@final
@dataclass(frozen=True, eq=False)
class WeightPairs:
    """The pairs of a feature and a label, and of two labels, that have a weight.

    Attributes
    ----------
    classes : array of shape (n_labels,)
        The labels, sorted.
    states : csr_array of shape (n_features, n_labels), or None
        The pairs of features and labels that are stored, whatever their values; None for all.
    transitions : bool array of shape (n_labels, n_labels)
        True for a label (row) followed by another (column).
    """

    classes: NDArray[Any]
    states: sp.csr_array | None
    transitions: NDArray[np.bool_]

    def labels_of(
        self, columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
        """Return the labels of some features, as where they start and their numbers."""
        if self.states is None:
            return None
        chosen = self.states[columns]
        chosen.sort_indices()
        return chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32)
