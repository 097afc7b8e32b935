"""Which variables take part in an iteration: the paper's shrinking, and its return at each epoch.

Within an epoch the working set only shrinks. A variable leaves once ``w_j = 0`` and
``|g_j| ≤ λ_j - M̂/N``, with M̂ the largest violation of the iteration before and N the number of
samples. A new epoch looks at all variables through one thresholded sweep. Those at or below the
threshold cannot move in its first step, since B does not couple them to others, so leaving them out
changes nothing and no array of length d is ever made. From w = 0 the first epochs may take only the
most violating ones; a run ends only after a sweep over all variables, so none is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.oracle import Point
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector, union
from proxqn.solvers.curvature.memory import Memory


@final
@dataclass(frozen=True)
class WorkingSet:
    """The working coordinates (ascending), their weights, partial derivatives and penalty."""

    coordinates: Ints
    w: Floats
    g: Floats
    penalty: Local

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def weights(self) -> SparseVector:
        """The weight vector: everything outside the working set is zero."""
        return SparseVector(self.coordinates, self.w).nonzero()

    @property
    def violation(self) -> float:
        """M, the largest entry of the min-norm subgradient."""
        return float(np.abs(self.penalty.min_norm_subgradient(self.w, self.g)).max(initial=0.0))

    def survivors(self, margin: float) -> Ints:
        """Return the positions that stay after shrinking with margin M̂/N."""
        return np.flatnonzero((self.w != 0.0) | _may_move(self.penalty, self.g, margin))

    def take(self, positions: Ints) -> WorkingSet:
        """Return the working set on these positions."""
        here = self.coordinates[positions], self.w[positions], self.g[positions]
        return WorkingSet(*here, self.penalty.take(positions))

    def moved(self, w: Floats, g: Floats) -> WorkingSet:
        """Return the same coordinates at another point."""
        return WorkingSet(self.coordinates, w, g, self.penalty)

    def most_violating(self, limit: int) -> Ints:
        """Return the positions of all nonzero weights and of the largest derivatives.

        The ridge takes part: a large weight has a large derivative of the loss alone.
        """
        if len(self) <= limit:
            return np.arange(len(self))
        size = np.abs(self.g + self.penalty.l2 * self.w)
        level = np.partition(size, len(self) - limit)[len(self) - limit]
        return np.flatnonzero((self.w != 0.0) | (size >= level) | (self.penalty.lam == 0.0))

    def positions_in(self, coordinates: Ints) -> Ints:
        """Return where each of ``coordinates`` stands in this working set, -1 if nowhere."""
        if len(self) == 0:
            return np.full(len(coordinates), -1)
        at = np.minimum(np.searchsorted(self.coordinates, coordinates), len(self) - 1)
        return np.where(self.coordinates[at] == coordinates, at, -1)


def starting_point(
    weights: SparseVector, penalty: Penalty, memory: Memory | None = None
) -> WorkingSet:
    """Return the working set of a memory, or of the weights alone; derivatives are not yet known.

    Weights that the memory lacks come in with the first look.
    """
    coordinates = weights.coordinates if memory is None else memory.coordinates
    unknown = np.zeros(len(coordinates))
    w = weights.on(coordinates)
    return WorkingSet(coordinates, w, unknown, penalty.on(coordinates))


def gather(
    point: Point, penalty: Penalty, weights: SparseVector, margin: float = 0.0
) -> tuple[WorkingSet, float]:
    """Return everything that may move, and the largest derivative: one sweep.

    These are the weights that are not zero, those without penalty, and those whose derivative
    exceeds ``λ_j - margin`` on a side where their bounds leave room.
    """
    kept = union(weights.coordinates, penalty.watched)
    sweep = point.sweep(max(penalty.least - margin, 0.0), kept)
    coordinates, g = sweep.gradient.coordinates, sweep.gradient.values
    local = penalty.on(coordinates)
    w = weights.on(coordinates)
    at = WorkingSet(coordinates, w, g, local)
    if len(local.lam) > 1 or local.bounded:
        at = at.take(at.survivors(margin))
    return at, sweep.largest


def _may_move(penalty: Local, g: Floats, margin: float) -> NDArray[np.bool_]:
    """Return where a weight at zero has a derivative above ``λ_j - margin`` and room to go."""
    above: NDArray[np.bool_] = (np.abs(g) > penalty.lam - margin) | (penalty.lam == 0.0)
    if not penalty.bounded:
        return above
    return above & (np.where(g < 0.0, penalty.upper, -penalty.lower) > 0.0)
