"""Samples in fixed blocks, and their entries in the order in which stochastic steps walk them."""

from __future__ import annotations

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.matrix import FeatureIndexed
from proxqn.problem.sparse import Floats, Ints

_MOST_SAMPLES = 32  # in a block
_LEAST_BLOCKS = 2048  # fewer steps an epoch would show


@final
class SampleBlocks:
    """Neighbouring samples together, with some columns of their data, numbered anew.

    A block is what is visited at a time: large enough to keep threads busy where there are many
    samples. Blocks are fixed by the data, so that results do not depend on the number of threads.

    Parameters
    ----------
    data : FeatureIndexed
        Slot s being row ``slot_row[s]``.
    row_start : array of shape (n_samples + 1,)
        The rows of each sample.
    weights : array of shape (n_samples,), optional
        Factors of the losses.
    kept : array
        The columns.
    least_rows : int
        A block has about as many rows or more: that many rows of weights belong to no column, and
        are stepped on with every block.

    Attributes
    ----------
    kernel : SagaBlocks
        The compiled blocks.
    """

    def __init__(
        self,
        data: FeatureIndexed,
        slot_row: NDArray[np.int32],
        row_start: Ints,
        weights: Floats | None,
        kept: Ints,
        least_rows: int = 1,
    ) -> None:
        n_samples, self.n_rows = len(row_start) - 1, int(row_start[-1])
        size = _block_size(n_samples, self.n_rows, least_rows)
        self.start = np.append(np.arange(0, n_samples, size), n_samples).astype(np.int64)
        self._lengths, self._weights = np.diff(row_start), weights
        self.kernel = _kernels.SagaBlocks(
            data.start,
            data.slots,
            data.value_start,
            data.values,
            kept,
            slot_row,
            self.start,
            row_start,
            weights,
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def total_weight(self) -> float:
        """The sum of the factors of all rows' losses."""
        lengths = self._lengths
        return float(lengths.sum() if self._weights is None else self._weights @ lengths)


def _block_size(n_samples: int, n_rows: int, least_rows: int) -> int:
    for_rows = math.ceil(least_rows * n_samples / n_rows)
    return min(max(n_samples // _LEAST_BLOCKS, for_rows), _MOST_SAMPLES)
