"""Dense weights in rows of one feature each, as the sample and block kernels keep them."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.aligned_array import aligned_zeros
from proxqn.problem.sparse import Floats, Ints, SparseVector

_LANES = 8  # a row is padded to whole vectors


@final
class WeightRows:
    """An array ``[n_columns, width]``; coordinate ``c·size + y`` is entry ``[c, y]``.

    Memory is taken row by row as weights leave zero, where the system hands out zeroed pages
    lazily.

    Examples
    --------
    >>> rows = WeightRows(n_columns=2, size=3)
    >>> rows.put(SparseVector(np.array([1, 5]), np.array([0.5, -1.0])))
    >>> rows.array.shape, rows.take().coordinates
    ((2, 8), array([1, 5]))
    """

    def __init__(self, n_columns: int, size: int) -> None:
        self.size = size
        self.array: Floats = aligned_zeros((n_columns, -(-size // _LANES) * _LANES))

    @property
    def width(self) -> int:
        """Entries of a row, padding included."""
        return int(self.array.shape[1])

    def put(self, weights: SparseVector) -> None:
        """Set these weights and no others."""
        self.array.ravel()[np.flatnonzero(self.array)] = 0.0  # writes to no page still untouched
        column, label = np.divmod(weights.coordinates, self.size)
        self.array[column, label] = weights.values

    def take(self, columns: Ints | None = None) -> SparseVector:
        """Return the weights that are not zero, of all columns or of these (ascending)."""
        array = self.array if columns is None else self.array[columns]
        flat = np.flatnonzero(array)
        column, label = np.divmod(flat, self.width)
        values = array.ravel()[flat]
        column = column if columns is None else columns[column]
        return SparseVector(column * self.size + label, values)

    def mask(self, start: Ints, labels: NDArray[np.int32]) -> Floats:
        """Return 1 where column c has one of ``labels[start[c]:start[c+1]]``, else 0."""
        admitted = np.zeros_like(self.array)
        admitted[np.repeat(np.arange(len(self.array)), np.diff(start)), labels] = 1.0
        return admitted
