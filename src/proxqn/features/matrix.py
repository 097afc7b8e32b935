"""Feature-indexed sparse data: for each feature, the rows where it is active.

The paper's inverted structure (section 2.3): a partial derivative touches only the rows of its own
feature. One type serves every model. Features that never occur take no memory, so the number of
columns of the input is free; a feature whose values are all 1 stores no values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.dense import DenseIndexed
from proxqn.features.mixed_features import MixedFeatures
from proxqn.problem.sparse import Floats, Ints

LARGE = 64.0  # of a value; columns that have mostly larger ones are divided (``column_sizes.py``)
_RARE = 64  # entries: a column with fewer is not listed by slot
_MOST = 1 << 16  # columns listed: their numbers have two bytes
_DENSE = 32  # a column with an entry in so many slots is dense
_VALUES = 8  # lists are for data where at most one in so many entries has a value


@final
@dataclass(frozen=True)
class TokenLists:
    """For each slot its frequent columns of ones, for sweeps (``cpp/products/list_sums.hpp``)."""

    start: Ints  # [n_lists + 1]
    places: NDArray[np.uint16]  # among the columns
    columns: NDArray[np.int32]  # ascending
    slot_list: NDArray[np.int32] | None = None  # [n_slots] -1 for none; without: slot s has list s

    def restrict(
        self, old_slots: NDArray[np.int32], new_slots: NDArray[np.int32], n_slots: int
    ) -> TokenLists:
        """Return the lists of some slots at their new places."""
        slot_list = np.full(n_slots, -1, dtype=np.int32)
        slot_list[new_slots] = old_slots if self.slot_list is None else self.slot_list[old_slots]
        return replace(self, slot_list=slot_list)


@final
@dataclass(frozen=True)
class FeatureIndexed:
    """Columns of a sparse matrix without empty ones, shaped as in ``cpp/products/features.hpp``.

    Dense columns come before them, if there are any: ``start``, ``slots``, ``value_start``,
    ``values`` and ``lists`` are of the others.
    """

    columns: Ints  # [n_columns] original number of each column that is not empty; ascending
    start: Ints  # [n_columns + 1]
    slots: NDArray[np.int32]  # [n_entries] ascending within a column
    value_start: Ints  # [n_columns] into values, -1 for a column of ones
    values: NDArray[np.float64]
    n_features: int  # columns of the original matrix
    lists: TokenLists | None = None
    dense: DenseIndexed | None = None

    @property
    def n_dense(self) -> int:
        """How many of the columns are dense: the first."""
        return 0 if self.dense is None else self.dense.n_columns

    @property
    def n_columns(self) -> int:
        """The number of features that occur at all."""
        return len(self.columns)

    @property
    def n_entries(self) -> int:
        """The number of stored entries of sparse columns."""
        return len(self.slots)

    def places(self, features: NDArray[np.integer[Any]]) -> Ints:
        """Return the numbers that original columns have here, -1 for those that never occur.

        Examples
        --------
        >>> X = sp.csr_array(np.array([[0.0, 2.0, 0.0, 1.0]]))
        >>> FeatureIndexed.from_csr(X, np.array([0], dtype=np.int32)).places(np.array([3, 2, 1]))
        array([ 1, -1,  0])
        """
        order = np.argsort(self.columns, kind="stable")  # dense ones may come from anywhere
        ordered = self.columns[order]
        found = np.searchsorted(ordered, features)
        known = found < len(ordered)
        known[known] = ordered[found[known]] == features[known]
        place = np.full(len(features), -1, dtype=np.int64)
        place[known] = order[found[known]]
        return place

    def with_dense(self, columns: Ints, dense: DenseIndexed) -> FeatureIndexed:
        """Return the same with dense columns of these original numbers before the others."""
        return replace(self, columns=np.concatenate([columns, self.columns]), dense=dense)

    def without_dense(self) -> FeatureIndexed:
        """Return the same with all columns sparse, for kernels that read no others: a copy."""
        if self.dense is None:
            return self
        slots = np.flatnonzero(self.dense.slot_row >= 0).astype(np.int32)
        values = self.dense.values[self.dense.slot_row[slots]]
        size, n_dense = len(slots), self.n_dense
        real = self.value_start >= 0
        return replace(
            self,
            start=np.concatenate([np.arange(n_dense) * size, n_dense * size + self.start]),
            slots=np.concatenate([np.tile(slots, n_dense), self.slots]),
            value_start=np.concatenate(
                [np.arange(n_dense) * size, np.where(real, self.value_start + values.size, -1)]
            ),
            values=np.concatenate([values.T.ravel().astype(np.float64), self.values]),
            lists=None,
            dense=None,
        )

    def squares(self) -> NDArray[np.float64]:
        """Return the sum of squared values of each column."""
        counts = np.diff(self.start)
        sums = counts.astype(np.float64)
        real = (self.value_start >= 0) & (counts > 0)
        if real.any():
            # Column by column: in one running sum, a large one would leave nothing of those after.
            with np.errstate(over="ignore"):
                sums[real] = np.add.reduceat(np.square(self.values), self.value_start[real])
        return sums if self.dense is None else np.concatenate([self.dense.squares, sums])

    def typical_squares(self) -> NDArray[np.float64]:
        """Return the same, but of a few outliers no more than they would have as large values.

        Where a score is far out, nothing is curved.
        """
        counts = np.diff(self.start).astype(np.float64)
        if self.dense is not None:
            counts = np.concatenate([np.full(self.n_dense, float(len(self.dense.values))), counts])
        return np.minimum(self.squares(), np.maximum(counts, 1.0) * LARGE**2)

    def column_extent(self) -> tuple[Floats, Floats, Floats]:
        """Return of each column the largest ``|x|``, ``Σ|x|`` and how many entries it has."""
        counts = np.diff(self.start).astype(np.float64)
        largest, sums = np.ones(len(counts)), counts.copy()
        real = (self.value_start >= 0) & (counts > 0)
        if real.any():
            sizes = np.abs(self.values)
            largest[real] = np.maximum.reduceat(sizes, self.value_start[real])
            sums[real] = np.add.reduceat(sizes, self.value_start[real])
        if self.dense is None:
            return largest, sums, counts
        of_dense = self.dense.extent()
        rest = largest, sums, counts
        both = [np.concatenate(pair) for pair in zip(of_dense, rest, strict=True)]
        return both[0], both[1], both[2]

    def column_values(self, column: int) -> NDArray[np.floating[Any]]:
        """Return the values of a column's entries."""
        if column < self.n_dense:
            assert self.dense is not None
            rows = self.dense.slot_row[self.dense.slot_row >= 0]
            found: NDArray[np.floating[Any]] = self.dense.values[rows, column]
            return found
        at = column - self.n_dense
        n_entries, first = int(self.start[at + 1] - self.start[at]), int(self.value_start[at])
        return self.values[first : first + n_entries] if first >= 0 else np.ones(n_entries)

    def kernel(self, kernels: ModuleType) -> Any:
        """Bind it to the kernels of its products, or to their reference."""
        x = self.lists
        lists = None if x is None else (x.start, x.places, x.columns, x.slot_list)
        sparse = kernels.Features(self.start, self.slots, self.value_start, self.values, lists)
        if self.dense is None:
            return sparse
        dense = kernels.DenseFeatures(self.dense.values, self.dense.slot_row)
        return MixedFeatures(dense, sparse, self.n_dense, len(self.value_start))

    @classmethod
    def from_csr(
        cls, X: sp.csr_array, row_slot: NDArray[np.int32], n_slots: int | None = None
    ) -> FeatureIndexed:
        """Index a CSR matrix by feature, row i standing in slot ``row_slot[i]``.

        Entries that stand twice are added up: a column has a slot once. With ``n_slots`` there are
        lists by slot, too, where the data are sparse.

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
        listed = _listed(counts, real, n_slots or 0)
        place = None
        if len(listed):
            place = np.full(len(columns), -1, dtype=np.int32)
            place[listed] = np.arange(len(listed))
        list_start = np.empty((n_slots or 0) + 1, dtype=np.int64)
        places = np.empty(counts[listed].sum() + 1, dtype=np.uint16)  # room for one more
        _kernels.transpose(
            X.indptr, entry_column, order, row_slot, start, slots, entry, place, list_start, places
        )
        value_start = np.full(len(columns), -1, dtype=np.int64)
        values = np.empty(0)
        if entry is not None:
            sizes = np.where(real, counts, 0)
            value_start[real] = (np.cumsum(sizes) - sizes)[real]
            values = X.data[entry[np.repeat(real, counts)]].astype(np.float64)
        lists = None if place is None else TokenLists(list_start, places, listed)
        return cls(columns, start, slots, value_start, values, X.shape[1], lists)


def _listed(counts: Ints, real: NDArray[np.bool_], n_slots: int) -> NDArray[np.int32]:
    """Return the columns of ones to be listed by slot, given all columns' entries.

    None of dense data, nor where values are many: beside lists their columns go one by one.
    """
    dense = counts[counts * _DENSE > n_slots].sum() > counts.sum() / 2
    if dense or counts[real].sum() > counts.sum() / _VALUES:
        return np.empty(0, dtype=np.int32)
    counts = np.where(real, 0, counts)
    least = _RARE if len(counts) <= _MOST else max(_RARE, np.partition(counts, -_MOST)[-_MOST] + 1)
    return np.flatnonzero(counts >= least).astype(np.int32)


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
