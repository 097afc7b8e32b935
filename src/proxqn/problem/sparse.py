"""Vectors and matrices with few entries: what passes between a loss and a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@final
@dataclass(frozen=True)
class SparseVector:
    """Values on a few of many coordinates; zero elsewhere. Coordinates ascend.

    Examples
    --------
    >>> w = SparseVector(np.array([1, 4]), np.array([1.0, 2.0]))
    >>> w.plus(SparseVector(np.array([0, 4]), np.array([3.0, 4.0])), -0.5)
    SparseVector(coordinates=array([0, 1]), values=array([-1.5,  1. ]))
    """

    coordinates: Ints
    values: Floats

    @classmethod
    def empty(cls) -> SparseVector:
        """Return the zero vector."""
        return cls(np.empty(0, np.int64), np.empty(0))

    @classmethod
    def of_dense(cls, w: Floats) -> SparseVector:
        """Return the entries of a dense vector that are not zero."""
        coordinates = np.flatnonzero(w)
        return cls(coordinates, w[coordinates])

    def dense(self, n: int) -> Floats:
        """Return it as an array of n numbers."""
        w = np.zeros(n)
        w[self.coordinates] = self.values
        return w

    def nonzero(self) -> SparseVector:
        """Drop coordinates whose value is zero."""
        keep = self.values != 0.0
        return self if keep.all() else SparseVector(self.coordinates[keep], self.values[keep])

    def including(self, coordinates: Ints, values_of: Callable[[Ints], Floats]) -> SparseVector:
        """Return it with all of these, ascending; what it lacks is asked for."""
        at = np.searchsorted(self.coordinates, coordinates)
        lacking = np.append(self.coordinates, -1)[at] != coordinates
        if not lacking.any():
            return self
        new, at = coordinates[lacking], at[lacking]
        return SparseVector(
            np.insert(self.coordinates, at, new), np.insert(self.values, at, values_of(new))
        )

    def on(self, coordinates: Ints) -> Floats:
        """Return the values on these, ascending; zero where it has none."""
        at = np.searchsorted(self.coordinates, coordinates)
        known = np.append(self.coordinates, -1)[at] == coordinates
        return np.where(known, np.append(self.values, 0.0)[at], 0.0)

    def plus(self, other: SparseVector, step: float = 1.0) -> SparseVector:
        """Return ``self + step·other`` without zeros."""
        coordinates = union(self.coordinates, other.coordinates)
        values = self.on(coordinates) + step * other.on(coordinates)
        return SparseVector(coordinates, values).nonzero()


def union(one: Ints, other: Ints) -> Ints:
    """Return the coordinates in either of two ascending arrays, ascending."""
    both = np.concatenate([one, other])
    both.sort(kind="stable")  # finds the two runs and merges them
    return both[np.diff(both, prepend=-1) > 0]


@final
@dataclass(frozen=True)
class Sweep:
    """The gradient wherever it exceeds a level, and its largest absolute entry anywhere."""

    gradient: SparseVector
    largest: float


@final
@dataclass(frozen=True)
class SparseColumns:
    """A sparse matrix by columns. An entry may stand twice; then it is the sum."""

    start: Ints  # [n + 1]
    row: NDArray[np.int32]  # [entries]
    value: NDArray[np.float32]  # [entries]
    n_rows: int
    multiplicity: float = 1.0  # rows that one here stands for, in the mean: equal ones are one
    known: float = 1.0  # of the whole, times what rows met at random stand for: above 1 if exact
