"""A change of variables, ``u_j = c_j w_j``: the same problem with columns of one size.

A weight of a column of timestamps is a billionth of others, and its derivative a billion times as
large; no step length suits both. Divided by their sizes c_j, columns are alike; with λ_j, ridge and
bounds changed along, the objective is that of the user to the last bit (all c_j are powers of two),
and so are its optimum and every bound on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector

_WATCHED = 64  # columns at most


@final
@dataclass(frozen=True)
class Units:
    """The sizes c_j of all coordinates, kept by column.

    Parameters
    ----------
    blocks : sequence of (array, int)
        For each run of coordinates the sizes of its columns, and how many coordinates a column has.

    Examples
    --------
    >>> units = Units(((np.array([4.0, 1.0]), 2), (np.ones(1), 9)))
    >>> units.on(np.array([0, 1, 2, 12]))
    array([4., 4., 1., 1.])
    >>> units.changed(SparseVector(np.array([1, 12]), np.array([0.5, 3.0]))).values
    array([2., 3.])
    """

    blocks: tuple[tuple[Floats, int], ...]

    @cached_property
    def starts(self) -> Ints:
        """Where each block begins, and where the last one ends."""
        return np.cumsum([0, *(len(sizes) * often for sizes, often in self.blocks)])

    def on(self, coordinates: Ints) -> Floats:
        """Return the sizes of ascending coordinates."""
        cuts = np.searchsorted(coordinates, self.starts)
        parts = [
            sizes[(coordinates[a:b] - start) // often]
            for (sizes, often), start, a, b in zip(
                self.blocks, self.starts, cuts, cuts[1:], strict=False
            )
        ]
        return np.concatenate(parts)

    def changed(self, w: SparseVector) -> SparseVector:
        """Return u of w."""
        return SparseVector(w.coordinates, w.values * self.on(w.coordinates))

    def original(self, u: SparseVector) -> SparseVector:
        """Return w of u."""
        return SparseVector(u.coordinates, u.values / self.on(u.coordinates))

    @cached_property
    def usual(self) -> float:
        """The size that no column exceeds but a few: 1 at least."""
        sizes = np.concatenate([sizes for sizes, _ in self.blocks])
        few = min(_WATCHED, len(sizes) - 1)
        return max(1.0, float(np.partition(sizes, len(sizes) - 1 - few)[len(sizes) - 1 - few]))

    @cached_property
    def watched(self) -> Ints:
        """The coordinates of columns above the usual size, ascending."""
        return self.where([sizes > self.usual for sizes, _ in self.blocks])

    def where(self, marks: Sequence[NDArray[np.bool_]]) -> Ints:
        """Return the coordinates of the columns that are marked, block by block."""
        found = [
            (start + often * np.flatnonzero(marked)[:, None] + np.arange(often)).ravel()
            for marked, (_, often), start in zip(marks, self.blocks, self.starts, strict=False)
        ]
        return np.concatenate(found)


@final
@dataclass(frozen=True)
class UnitsFound:
    """The sizes of a problem's columns, and what is known of them.

    Attributes
    ----------
    outlying : array
        The coordinates of columns with values far above others, ascending.
    resolved : bool
        Whether all values count: beside one of 1e300 those of 1 vanish, and what their column is
        worth cannot be found out.
    passes : int
        What it took to find out, but for the start.
    """

    units: Units
    outlying: Ints
    resolved: bool = True
    passes: int = 0


@final
@dataclass(frozen=True)
class Rescaled:
    """A loss in variables ``u = c·w``, and what c is."""

    oracle: Oracle
    found: UnitsFound


@final
class InUnits(Penalty):
    """Another penalty, of the weights that variables stand for.

    Examples
    --------
    >>> from proxqn.penalties import ElasticNet
    >>> units = Units(((np.array([4.0, 1.0]), 1),))
    >>> InUnits(ElasticNet(2.0, 8.0), units).on(np.arange(2))
    Local(lam=array([0.5, 2. ]), l2=array([0.5, 8. ]), lower=array([-inf]), upper=array([inf]))
    """

    def __init__(self, penalty: Penalty, units: Units) -> None:
        self._penalty, self._units = penalty, units

    def on(self, coordinates: Ints) -> Local:
        """Return it on the variables of these weights."""
        local, c = self._penalty.on(coordinates), self._units.on(coordinates)
        lower, upper = local.lower, local.upper
        if local.bounded:
            lower, upper = lower * c, upper * c
        return Local(local.lam / c, local.l2 / c / c, lower, upper)

    def unit(self, coordinates: Ints) -> Floats:
        """Return c."""
        return self._units.on(coordinates)

    @property
    def least(self) -> float:
        """The smallest λ above 0 of variables that are not watched."""
        return self._penalty.least / self._units.usual

    @property
    def unpenalised(self) -> Ints:
        """The coordinates whose λ is 0."""
        return self._penalty.unpenalised

    @property
    def watched(self) -> Ints:
        """Those of the other penalty, and of columns whose λ is far below others."""
        both = np.concatenate([self._penalty.watched, self._units.watched])
        return np.unique(both)

    def __repr__(self) -> str:
        return f"InUnits({self._penalty!r})"


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a size.

    Examples
    --------
    >>> power_of_two(2020.0), power_of_two(0.3)
    (2048.0, 0.25)
    """
    return math.ldexp(1.0, max(min(round(math.log2(size)), 1000), -1000))
