"""Columns whose values are far from 1 in size, such as timestamps, and what they are divided by.

Only such are touched: text, counts and measurements of usual size stay as they are, to the bit. The
size is that of typical values, not of the largest: one outlier among ones must not make the ones
vanish, for the weight of their column is found from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.dense import DenseIndexed
from proxqn.features.matrix import LARGE, FeatureIndexed
from proxqn.problem.sparse import Floats, Ints
from proxqn.problem.units import power_of_two

_SUSPECT = 4.0  # a root mean square above it may be that of an outlier among ones
_OUTLYING = 256.0  # times the typical value
_RANGE = 2.0**40  # beyond, what others curve is lost in the rounding of the largest's square
_WIDE = 2.0**22  # single precision has no more digits


def typical(values: NDArray[Any]) -> float:
    """Return the size of typical values: the upper quartile of those that are not zero.

    A quarter of them may be outliers; half may be next to nothing.

    Examples
    --------
    >>> typical(np.array([0.0, 3.0, -3.0])), typical(np.append(np.ones(400), 1e9))
    (3.0, 1.0)
    """
    sizes = np.abs(values[values != 0], dtype=np.float64)
    if not len(sizes):
        return 0.0
    at = 3 * (len(sizes) - 1) // 4
    return float(np.partition(sizes, at)[at])


@final
@dataclass(frozen=True)
class Sizes:
    """Of columns: what to divide each by, and which have outliers.

    Unresolved is a column whose values are so far apart that next to the largest the others vanish.
    """

    unit: Floats  # powers of two
    outlying: NDArray[np.bool_]
    resolved: bool = True

    @classmethod
    def usual(cls, n: int) -> Self:
        """Return those of n columns that need nothing."""
        return cls(np.ones(n), np.zeros(n, dtype=bool))


def of_features(features: FeatureIndexed) -> Sizes | None:
    """Return the sizes of columns; None where all are usual and none has an outlier."""
    counts, squares = np.diff(features.start).astype(np.float64), features.squares()
    if features.dense is not None:
        n_rows = float(np.count_nonzero(features.dense.slot_row >= 0))
        counts = np.concatenate([np.full(features.n_dense, n_rows), counts])
        squares[: features.n_dense] = features.dense.sums
    return _sizes(squares, counts, features.column_values)


def of_matrix(X: sp.csr_array) -> Sizes | None:
    """Return the same of a sparse matrix without empty columns."""
    by_column: Any = sp.csc_array(X)
    start, data = by_column.indptr, by_column.data
    with np.errstate(over="ignore"):
        squares = np.add.reduceat(np.square(data), start[:-1]) if len(data) else np.empty(0)
    return _sizes(squares, np.diff(start), lambda j: data[start[j] : start[j + 1]])


def _sizes(
    squares: Floats, counts: Ints | Floats, values_of: Callable[[int], NDArray[Any]]
) -> Sizes | None:
    mean = np.sqrt(squares / np.maximum(counts, 1))
    unit, outlying, resolved = np.ones(len(mean)), np.zeros(len(mean), dtype=bool), True
    odd = np.flatnonzero(~((mean >= 1.0 / LARGE) & (mean <= _SUSPECT)))
    for j in odd.tolist():
        values = values_of(j)
        size, largest = typical(values), float(np.abs(values).max(initial=0.0))
        if size > 0.0:
            resolved &= largest <= _RANGE * size
            outlying[j] = largest > _OUTLYING * size
            size = max(size, largest / _RANGE)
            unit[j] = 1.0 if 1.0 / LARGE <= size <= LARGE else power_of_two(size)
    usual = not outlying.any() and (unit == 1.0).all()
    return None if usual else Sizes(unit, outlying, resolved)


def divided(features: FeatureIndexed, sizes: Floats) -> FeatureIndexed:
    """Return the features with each column divided by a power of two: exact."""
    exponents = _exponents(sizes)
    of_sparse, real = exponents[features.n_dense :], features.value_start >= 0
    values = np.ldexp(features.values, -np.repeat(of_sparse[real], np.diff(features.start)[real]))
    dense = features.dense
    if dense is not None and exponents[: features.n_dense].any():
        rows = np.ldexp(dense.values, -exponents[: features.n_dense])
        dense = DenseIndexed(np.ascontiguousarray(rows), dense.slot_row)
    return replace(features, values=values, dense=dense)


def divided_matrix(X: sp.csr_array, sizes: Floats) -> sp.csr_array:
    """Return a sparse matrix with each column divided by a power of two."""
    return sp.csr_array(
        (np.ldexp(X.data, -_exponents(sizes)[X.indices]), X.indices, X.indptr), X.shape
    )


def wide(features: FeatureIndexed) -> bool:
    """Whether some column is too long, as a vector, for products in single precision."""
    return not longest(features) <= _WIDE


def longest(features: FeatureIndexed) -> float:
    """Return the norm of the longest column; infinite where squares are out of range."""
    return float(np.sqrt(features.squares()).max(initial=0.0))


def _exponents(sizes: Floats) -> NDArray[np.intc]:
    return (np.frexp(sizes)[1] - 1).astype(np.intc)
