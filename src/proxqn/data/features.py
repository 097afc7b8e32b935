"""Feature-indexed sparse data: for each feature, the rows where it is active.

The paper's inverted structure (section 2.3): a partial derivative touches only the rows of its own
feature. One type serves every model. Features that never occur take no memory, so the number of
columns of the input is free; a feature whose values are all 1 stores no values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.problem import Ints


@final
@dataclass(frozen=True)
class FeatureIndexed:
    """Columns of a sparse matrix, without the empty ones; shapes as in ``cpp/features.hpp``."""

    columns: Ints  # [n_columns] original number of each column that is not empty, ascending
    start: Ints  # [n_columns + 1]
    slots: NDArray[np.int32]  # [n_entries] ascending within a column
    value_start: Ints  # [n_columns] into values, -1 for a column of ones
    values: NDArray[np.float64]
    n_features: int  # columns of the original matrix

    @property
    def n_columns(self) -> int:
        """The number of features that occur at all."""
        return len(self.columns)

    @property
    def n_entries(self) -> int:
        """The number of stored entries."""
        return len(self.slots)

    def squares(self) -> NDArray[np.float64]:
        """Return the sum of squared values of each column."""
        sums = np.diff(self.start).astype(np.float64)
        real = self.value_start >= 0
        if real.any():
            ends = np.concatenate([[0.0], np.cumsum(np.square(self.values))])
            first = self.value_start[real]
            sums[real] = ends[first + np.diff(self.start)[real]] - ends[first]
        return sums

    @classmethod
    def from_csr(cls, X: sp.csr_array, row_slot: NDArray[np.int32]) -> FeatureIndexed:
        """Index a CSR matrix by feature, row i standing in slot ``row_slot[i]``.

        Entries that stand twice are added up: a column has a slot once.

        Examples
        --------
        >>> X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]]))
        >>> data = FeatureIndexed.from_csr(X, np.array([0, 1], dtype=np.int32))
        >>> data.columns, data.slots, data.values
        (array([0, 2]), array([0, 1, 0], dtype=int32), array([2.]))
        """
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        columns, entry_column, counts = _compact(X.indices, X.shape[1])
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        slots = np.empty(len(entry_column), dtype=np.int32)
        real = _columns_with_values(X.data, entry_column, len(columns))
        entry = np.empty(len(entry_column), dtype=X.indptr.dtype) if real.any() else None
        order = np.argsort(row_slot, kind="stable")
        _kernels.transpose(X.indptr, entry_column, order, row_slot, start, slots, entry)
        value_start = np.full(len(columns), -1, dtype=np.int64)
        values = np.empty(0)
        if entry is not None:
            sizes = np.where(real, counts, 0)
            value_start[real] = (np.cumsum(sizes) - sizes)[real]
            values = X.data[entry[np.repeat(real, counts)]].astype(np.float64)
        return cls(columns, start, slots, value_start, values, X.shape[1])


def _compact(indices: NDArray[np.int32], n_features: int) -> tuple[Ints, NDArray[np.int32], Ints]:
    """Renumber the columns that occur; time and memory in entries, not in features."""
    if n_features > 4 * len(indices) + 1024:
        found, inverse, often = np.unique(indices, return_inverse=True, return_counts=True)
        return found.astype(np.int64), inverse.astype(np.int32), often
    counts = np.bincount(indices, minlength=n_features).astype(np.int64)
    columns = np.flatnonzero(counts).astype(np.int64)
    if len(columns) == n_features:
        return columns, np.ascontiguousarray(indices, dtype=np.int32), counts
    number = (np.cumsum(counts > 0) - 1).astype(np.int32)
    return columns, number[indices], counts[columns]


def _columns_with_values(
    data: NDArray[np.generic], entry_column: NDArray[np.int32], n_columns: int
) -> NDArray[np.bool_]:
    real = np.zeros(n_columns, dtype=bool)
    real[entry_column[data != 1]] = True
    return real
