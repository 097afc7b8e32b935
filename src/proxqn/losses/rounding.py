"""How far computed losses and derivatives may be from the exact ones: proven, in double precision.

With unit roundoff u = 2⁻⁵³, a sum of n terms in any order is off by at most (n + 1) u Σ|terms|
(Higham, Accuracy and Stability of Numerical Algorithms, 4.2). What follows from it, in
``docs/method.md``: with K entries a token, S the largest score that weights of their size allow, T
tokens and L labels,

- a score is off by K u S; so every factor ``exp(score - largest)`` of a recursion by a relative
  (K + 8) u S, and 3 u for the exponential;
- a step of a recursion adds, multiplies and divides positive numbers: a relative (2 L + 12) u;
- log Z adds what was taken out, at most T S, with T additions: 2 T u T S; by logarithms the same;
- a marginal is a product of two recursions and one division: four times their relative errors, and
  what was taken out cancels;
- a derivative is a sum of n entries times residuals: (marginals' error + (n + 2) u) Σ|x|.

All are doubled for products of errors, which are far below u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.features.matrix import FeatureIndexed
from proxqn.problem.sparse import Floats, Ints

U = 2.0**-53
_PRODUCTS = 2.0


@final
@dataclass(frozen=True)
class Recursion:
    """What a sum over all labelings is computed from.

    Attributes
    ----------
    lengths : array
        T of each sample: how many steps it has.
    additions : float
        Of a step.
    entries : int
        K: of a step's score, at most.
    size : float
        S: of a step's score, transitions and edges included.
    """

    lengths: Ints
    additions: float
    entries: int
    size: float

    def of_losses(self) -> Floats:
        """Return by how much each sample's loss may be off."""
        T = self.lengths.astype(np.float64)
        step = self._relative() + 8.0 * T * self.size * U
        return 2.0 * _PRODUCTS * T * step

    def of_marginals(self) -> float:
        """Return by what share of itself a marginal may be off; never by more than 1 in all."""
        longest = float(self.lengths.max(initial=0))
        return math.expm1(min(4.0 * _PRODUCTS * longest * self._relative(), 1.0))

    def _relative(self) -> float:
        return U * (2.0 * self.additions + 12.0 + (self.entries + 8.0) * self.size)


@final
@dataclass(frozen=True)
class Columns:
    """Sizes of a matrix's columns and rows, once for all points."""

    largest: Floats  # [n_columns] of |x|
    sums: Floats  # [n_columns] Σ|x|, each sample as often as it weighs at most
    counts: Floats  # [n_columns] entries
    row_entries: int  # at most

    @classmethod
    def of(cls, features: FeatureIndexed, heaviest: float, row_entries: int) -> Columns:
        """Return those of features."""
        largest, sums, counts = features.column_extent()
        return cls(largest, sums * heaviest, counts, min(row_entries, len(counts)))

    def score(self, places: Ints, weights: Floats) -> float:
        """Return the largest score there can be with weights of these columns."""
        if not len(places):
            return 0.0
        sizes = self.largest[places] * np.abs(weights)
        # Of a column one weight counts for a score; of a row no more entries than it has.
        starts = np.flatnonzero(np.append(True, np.diff(places) > 0))
        by_column = np.maximum.reduceat(sizes, starts)
        return min(float(by_column.sum()), self.row_entries * float(by_column.max()))

    def derivatives(self, places: Ints, of_marginals: float) -> Floats:
        """Return by how much derivatives of these columns' weights may be off."""
        return (of_marginals + _PRODUCTS * (self.counts[places] + 2.0) * U) * self.sums[places]


def of_conjugate(
    scale: float, recursion: Recursion, losses: Floats, weights: Floats | None, of_inner: float
) -> float:
    """Return by how much ``s (⟨w, g⟩ - ℓ) - slack`` may be below the exact number.

    The slack changes by at most 3 + |log s| times what the losses change by, and ⟨w, g⟩ is at most
    the sum of what it is made of.

    Parameters
    ----------
    of_inner : float
        By how much ⟨w, g⟩ may be off, its own sum included.
    """
    if scale == 0.0:
        return 0.0
    factors = np.ones(len(losses)) if weights is None else weights
    log, n = 3.0 + abs(math.log(scale)), len(losses) + 16.0
    total = float((factors * np.abs(losses)).sum())
    sums = _PRODUCTS * U * n * log * (total + float(factors.sum()))
    return log * float((factors * recursion.of_losses()).sum()) + scale * of_inner + sums


def of_inner(w: Floats, g: Floats, errors: Floats) -> float:
    """Return by how much ⟨w, g⟩ may be off, given by how much each derivative is."""
    sizes = np.abs(w) * (errors + _PRODUCTS * U * (len(w) + 2.0) * (np.abs(g) + errors))
    return float(sizes.sum())
