"""Samples in fixed blocks, and their entries in the order in which stochastic steps walk them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.stepping.row_index import RowIndexed
from proxqn.problem.sparse import Floats, Ints

_MOST_SAMPLES = 32  # in a block
_LEAST_BLOCKS = 2048  # fewer steps an epoch would show


@final
@dataclass(frozen=True)
class SampleBlocks:
    """Neighbouring samples together; shapes as in ``cpp/stochastic/blocks.hpp``.

    A block is what is visited at a time: large enough to keep threads busy where there are many
    samples. Blocks are fixed by the data, so that results do not depend on the number of threads.
    """

    block_start: Ints  # [n_blocks + 1] into samples
    row_start: Ints  # [n_samples + 1] into rows
    rows: RowIndexed
    list_start: Ints  # [n_blocks + 1] the columns of each block, ascending
    list_column: NDArray[np.int32]
    list_entry: Ints  # [n_lists + 1]
    list_row: NDArray[np.int32]  # of each entry, counted from the block's first
    list_value: Floats | None  # None where all are 1
    weights: Floats | None  # [n_samples]
    n_columns: int

    @classmethod
    def of_rows(
        cls,
        data: FeatureIndexed,
        slot_row: NDArray[np.int32],
        row_start: Ints,
        weights: Floats | None,
        kept: Ints,
        least_rows: int = 1,
    ) -> SampleBlocks:
        """Cut samples into blocks, slot s of the data being row ``slot_row[s]``.

        Only the columns ``kept`` of the data have weights; they are numbered anew. A block has
        about ``least_rows`` rows or more: that many rows of weights belong to no column, and are
        stepped on with every block.
        """
        n_samples, n_rows = len(row_start) - 1, int(row_start[-1])
        size = _block_size(n_samples, n_rows, least_rows)
        block_start = np.append(np.arange(0, n_samples, size), n_samples).astype(np.int64)
        first_row = row_start[block_start]
        row_block = np.repeat(np.arange(len(first_row) - 1, dtype=np.int32), np.diff(first_row))
        rows = RowIndexed.from_features(data, slot_row, n_rows, kept)
        by_block = _by_block(rows, row_block, len(kept))
        columns, entries = by_block.indices, by_block.data
        begins = np.append(True, columns[1:] != columns[:-1])
        begins[by_block.indptr[:-1][np.diff(by_block.indptr) > 0]] = True
        list_entry = np.append(np.flatnonzero(begins), len(columns)).astype(np.int64)
        entry_row = np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(rows.start))[entries]
        return cls(
            block_start,
            row_start,
            rows,
            np.searchsorted(list_entry[:-1], by_block.indptr).astype(np.int64),
            columns[list_entry[:-1]].astype(np.int32),
            list_entry,
            (entry_row - first_row[row_block[entry_row]]).astype(np.int32),
            None if rows.values is None else rows.values[entries],
            weights,
            len(kept),
        )

    @property
    def n_blocks(self) -> int:
        """How many there are."""
        return len(self.block_start) - 1

    @property
    def row_weights(self) -> Floats:
        """The factor of each row's loss."""
        lengths = np.diff(self.row_start)
        return np.repeat(np.ones(len(lengths)) if self.weights is None else self.weights, lengths)

    def compiled(self) -> Any:
        """Return them for a kernel, which keeps these arrays alive."""
        return _kernels.SagaBlocks(
            self.block_start,
            self.row_start,
            self.rows.start,
            self.rows.columns,
            self.rows.values,
            self.list_start,
            self.list_column,
            self.list_entry,
            self.list_row,
            self.list_value,
            self.weights,
        )

    def blocks_of_columns(self) -> Floats:
        """Return n_c, the number of blocks that have a column."""
        return np.bincount(self.list_column, minlength=self.n_columns).astype(np.float64)

    def row_sums(self, factors: Floats) -> Floats:
        """Return ``Σ_c |x_tc| factor_c`` of each row."""
        terms = factors[self.rows.columns]
        if self.rows.values is not None:
            terms = terms * np.abs(self.rows.values)
        return _sums(terms, self.rows.start)

    def column_sums(self, factors: Floats) -> Floats:
        """Return ``Σ_t |x_tc| factor_t`` of each column of each block, over the block's rows."""
        blocks = np.repeat(np.arange(self.n_blocks), np.diff(self.list_start))
        first_row = self.row_start[self.block_start]
        terms = factors[self.list_row + np.repeat(first_row[blocks], np.diff(self.list_entry))]
        if self.list_value is not None:
            terms = terms * np.abs(self.list_value)
        return _sums(terms, self.list_entry)


def _sums(terms: Floats, start: Ints) -> Floats:
    """Return the sums of stretches, some of which may be empty."""
    ends = np.concatenate([[0.0], np.cumsum(terms)])
    found: Floats = ends[start[1:]] - ends[start[:-1]]
    return found


def _block_size(n_samples: int, n_rows: int, least_rows: int) -> int:
    for_rows = math.ceil(least_rows * n_samples / n_rows)
    return min(max(n_samples // _LEAST_BLOCKS, for_rows), _MOST_SAMPLES)


def _by_block(rows: RowIndexed, row_block: NDArray[np.int32], n_columns: int) -> Any:
    """Return each block's entries, as numbers, ordered by column."""
    number = np.arange(len(rows.columns), dtype=np.int32)
    shape = len(rows.start) - 1, n_columns
    by_column = sp.csr_array((number, rows.columns, rows.start), shape=shape).tocsc()
    blocks = row_block[by_column.indices]
    shape = int(row_block[-1]) + 1, n_columns
    return sp.csc_array((by_column.data, blocks, by_column.indptr), shape=shape).tocsr()
