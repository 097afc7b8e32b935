"""Columns that have a value nearly everywhere, as of embeddings and measurements.

They stay as they came: rows of float32 or float64 in one array that is shared with the caller and
never copied as a whole. A layout says only which row stands in which slot, so that a sample of the
sequences is some other numbers of rows (``cpp/products/dense_block.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.problem.sparse import Floats, Ints

_SHARE = 4  # a column is dense if at least one in so many rows has a value that is not 1
_ROWS = 4096  # looked at together


@final
@dataclass(frozen=True)
class DenseColumns:
    """Some columns of a matrix, row by row; the matrix beside them has them empty."""

    values: NDArray[np.floating[Any]]  # [n_rows, n_columns] float32 or float64, in C order
    columns: Ints  # [n_columns] their numbers in the whole matrix, ascending

    @classmethod
    def of(cls, values: NDArray[Any], columns: Ints) -> DenseColumns:
        """Take an array of numbers as it is where the kernels can read it, else a copy."""
        exact = np.float32 if values.dtype.itemsize < 4 or values.dtype.kind == "b" else np.float64
        dtype = values.dtype if values.dtype in (np.float32, np.float64) else exact
        return cls(np.ascontiguousarray(values, dtype=dtype), columns)

    def take(self, rows: NDArray[np.bool_]) -> DenseColumns:
        """Return some of the rows."""
        return DenseColumns(self.values[rows], self.columns)

    def at(self, row_slot: NDArray[np.int32], n_slots: int) -> DenseIndexed:
        """Let row i stand in slot ``row_slot[i]``."""
        slot_row = np.full(n_slots, -1, dtype=np.int32)
        slot_row[row_slot] = np.arange(len(row_slot), dtype=np.int32)
        return DenseIndexed(self.values, slot_row)


@final
@dataclass(frozen=True, eq=False)
class DenseIndexed:
    """The rows of dense columns, and where they stand."""

    values: NDArray[np.floating[Any]]  # [n_rows, n_columns] in C order
    slot_row: NDArray[np.int32]  # [n_slots] -1 where there is none

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @cached_property
    def squares(self) -> Floats:
        """The sum of squared values of each column, over the rows that stand somewhere.

        Of a column of zeros it is 1: solvers divide by it, and its weights never move.
        """
        return np.where(self.sums > 0.0, self.sums, 1.0)

    @cached_property
    def sums(self) -> Floats:
        """The same, 0 of a column of zeros, and where squares are too small for a number."""
        found: Floats = _kernels.DenseFeatures(self.values, self.slot_row).squares()
        return found

    def extent(self) -> tuple[Floats, Floats, Floats]:
        """Return of each column the largest ``|x|``, ``Σ|x|`` and the number of rows."""
        largest, sums = np.zeros(self.n_columns), np.zeros(self.n_columns)
        for first in range(0, len(self.values), _ROWS):
            sizes = np.abs(self.values[first : first + _ROWS])
            largest = np.maximum(largest, sizes.max(axis=0, initial=0.0))
            sums += sizes.sum(axis=0, dtype=np.float64)
        return largest, sums, np.full(self.n_columns, float(len(self.values)))

    def restrict(
        self, old_slots: NDArray[np.int32], new_slots: NDArray[np.int32], n_slots: int
    ) -> DenseIndexed:
        """Return the same of some slots, at their new places; no value is copied."""
        slot_row = np.full(n_slots, -1, dtype=np.int32)
        slot_row[new_slots] = self.slot_row[old_slots]
        return replace(self, slot_row=slot_row)


Split = tuple[sp.csr_array, DenseColumns | None]


def split(X: sp.csr_array | NDArray[Any], known: DenseColumns | None = None) -> Split:
    """Return a matrix without its dense columns, which are empty then, and these.

    Nothing is looked for where dense columns are known already.

    An array most of whose columns are dense is taken whole and not copied. Columns of ones are
    never dense: sparse kernels have better ways with them; and where most entries are of sparse
    columns, as in text with a few numbers, all stay sparse.

    Examples
    --------
    >>> sparse, dense = split(np.array([[0.5, 1.0], [0.25, 0.0]]))
    >>> sparse.nnz, dense.columns, dense.values.shape
    (0, array([0, 1]), (2, 2))
    >>> sparse, dense = split(np.array([[0.5, 0.0, 1.0], [0.25, 0.0, 0.0], [0.1, 1.0, 0.0]]))
    >>> sparse.nnz, dense.columns
    (2, array([0]))
    >>> split(np.eye(8))[1] is None
    True
    """
    if known is not None:
        return sp.csr_array(X), known
    counts, n_entries = _real_counts(X)
    chosen = np.flatnonzero(counts * _SHARE >= max(X.shape[0], 1))
    if 2 * counts[chosen].sum() < max(n_entries, 1):
        return X if sp.issparse(X) else sp.csr_array(X), None
    if not sp.issparse(X) and 2 * len(chosen) >= X.shape[1]:
        dense = DenseColumns.of(X, np.arange(X.shape[1]))
        return sp.csr_array(X.shape, dtype=dense.values.dtype), dense
    if not sp.issparse(X):
        dense = DenseColumns.of(X[:, chosen], chosen)
        rest = X.copy()
        rest[:, chosen] = 0
        return sp.csr_array(rest), dense
    dense = DenseColumns.of(X[:, chosen].toarray(), chosen)
    kept = np.ones(X.shape[1], dtype=bool)
    kept[chosen] = False
    return _only(X, kept), dense


def joined(blocks: list[sp.csr_array | NDArray[Any]]) -> Split:
    """Return matrices with the same rows side by side; arrays are dense as a whole.

    Examples
    --------
    >>> sparse, dense = joined([sp.csr_array(np.eye(2)), np.array([[0.5], [0.0]])])
    >>> sparse.toarray().tolist(), dense.columns
    ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], array([2]))
    """
    firsts = np.cumsum([0, *(block.shape[1] for block in blocks)])
    arrays = [
        DenseColumns.of(block, np.arange(first, first + block.shape[1]))
        for first, block in zip(firsts, blocks, strict=False)
        if not sp.issparse(block) and block.shape[1]
    ]
    n_rows = blocks[0].shape[0]
    parts = [
        block if sp.issparse(block) else sp.csr_array((n_rows, block.shape[1]), dtype=block.dtype)
        for block in blocks
    ]
    sparse = sp.csr_array(sp.hstack(parts, format="csr"))
    if len(arrays) <= 1:
        return sparse, arrays[0] if arrays else None
    values = np.concatenate([part.values for part in arrays], axis=1)
    return sparse, DenseColumns(values, np.concatenate([part.columns for part in arrays]))


def _real_counts(X: sp.csr_array | NDArray[Any]) -> tuple[Ints, int]:
    """Count each column's values that are neither 0 nor 1, and all that are not 0.

    Of sparse data only if these could be enough for dense columns.
    """
    if sp.issparse(X):
        real = X.data != 1
        if 2 * np.count_nonzero(real) < X.nnz or X.shape[1] > X.nnz:
            return np.zeros(0, dtype=np.int64), X.nnz
        return np.bincount(X.indices[real], minlength=X.shape[1]), X.nnz
    counts, n_entries = np.zeros(X.shape[1], dtype=np.int64), 0
    for first in range(0, len(X), _ROWS):
        rows = X[first : first + _ROWS]
        present = np.count_nonzero(rows, axis=0)
        counts += present - np.count_nonzero(rows == 1, axis=0)
        n_entries += int(present.sum())
    return counts, n_entries


def _only(X: sp.csr_array, kept: NDArray[np.bool_]) -> sp.csr_array:
    """Return a matrix with the other columns empty."""
    entries = kept[X.indices]
    start = np.concatenate([[0], np.cumsum(entries)])[X.indptr]
    return sp.csr_array((X.data[entries], X.indices[entries], start), shape=X.shape)
