"""Which variables take part in an iteration: the paper's shrinking, and its return at each epoch.

Within an epoch the working set only shrinks. A variable leaves once ``w_j = 0`` and
``|g_j| ≤ λ - M̂/N``, with M̂ the largest violation of the iteration before and N the number of
samples. A new epoch looks at all variables through one thresholded sweep. Those at or below the
threshold cannot move in its first step, since B does not couple them to others, so leaving them out
changes nothing and no array of length d is ever made. From w = 0 the first epochs may take only the
most violating ones; a run ends only after a sweep over all variables, so none is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem import Floats, Ints, Oracle, Penalty, SparseVector, Sweep


@final
@dataclass(frozen=True)
class WorkingSet:
    """The working coordinates (ascending), their weights and partial derivatives."""

    coordinates: Ints
    w: Floats
    g: Floats

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def weights(self) -> SparseVector:
        """The weight vector: everything outside the working set is zero."""
        return SparseVector(self.coordinates, self.w).nonzero()

    def violation(self, penalty: Penalty) -> float:
        """Return M, the largest entry of the min-norm subgradient."""
        return float(np.abs(penalty.min_norm_subgradient(self.w, self.g)).max(initial=0.0))

    def survivors(self, penalty: Penalty, margin: float) -> Ints:
        """Return the positions that stay after shrinking with margin M̂/N."""
        return np.flatnonzero((self.w != 0.0) | (np.abs(self.g) > penalty.lam - margin))

    def take(self, positions: Ints) -> WorkingSet:
        """Return the working set on these positions."""
        return WorkingSet(self.coordinates[positions], self.w[positions], self.g[positions])

    def most_violating(self, limit: int, l2: float) -> Ints:
        """Return the positions of all nonzero weights and of the largest derivatives.

        The ridge takes part: a large weight has a large derivative of the loss alone.
        """
        if len(self) <= limit:
            return np.arange(len(self))
        size = np.abs(self.g + l2 * self.w)
        level = np.partition(size, len(self) - limit)[len(self) - limit]
        return np.flatnonzero((self.w != 0.0) | (size >= level))

    def positions_in(self, coordinates: Ints) -> Ints:
        """Return where each of ``coordinates`` stands in this working set, -1 if nowhere."""
        if len(self) == 0:
            return np.full(len(coordinates), -1)
        at = np.minimum(np.searchsorted(self.coordinates, coordinates), len(self) - 1)
        return np.where(self.coordinates[at] == coordinates, at, -1)


def starting_point(weights: SparseVector) -> WorkingSet:
    """Return the working set of the weights alone, their derivatives not yet known."""
    return WorkingSet(weights.coordinates, weights.values, np.zeros(len(weights.values)))


def gather(oracle: Oracle, weights: SparseVector, level: float) -> tuple[WorkingSet, Sweep]:
    """Return the nonzero weights and everything that a sweep finds, and the sweep."""
    sweep = oracle.sweep_with(level, weights.coordinates)
    found = sweep.gradient
    w = np.zeros(len(found.coordinates))
    w[np.searchsorted(found.coordinates, weights.coordinates)] = weights.values
    return WorkingSet(found.coordinates, w, found.values), sweep
