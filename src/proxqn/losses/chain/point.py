"""Points and lines of a chain's loss: which of them may use the memory that all share."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from proxqn.losses import rounding
from proxqn.losses.chain.passes import ChainPasses
from proxqn.losses.chain.weights import SplitWeights
from proxqn.losses.mixtures import InnerProduct, conjugate
from proxqn.problem.oracle import NOTHING, Line, Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep


@final
class ChainPoint(Point):
    """The loss at some weights, whose residuals have just been computed."""

    def __init__(self, passes: ChainPasses, weights: SplitWeights, value: float) -> None:
        self.value = value
        self._passes, self._weights = passes, weights
        self._lease, self._inner = passes.lease, InnerProduct()
        self._lease.give(self)

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the rows of each coordinate's feature."""
        self._lease.check(self)
        found = self._passes.gradient(coordinates)
        self._inner.note(coordinates, found)
        return found

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Stream over all data entries times labels; keep what exceeds the level."""
        self._lease.check(self)
        found = self._passes.sweep(level, keep)
        self._inner.note(found.gradient.coordinates, found.gradient.values)
        return found

    def conjugate(self, scale: float) -> float:
        """Bound it by mixtures of the true labels with the model (``losses/mixtures.py``)."""
        losses = self.losses()
        inner = self._inner.with_weights(self.weights(), self.gradient) if scale else 0.0
        return conjugate(scale, self.value, inner, losses, self._passes.data.weights)

    def conjugate_error(self, scale: float) -> float:
        """Return by how much that may be too small (``losses/rounding.py``)."""
        w, weights = self.weights(), self._passes.data.weights
        off = rounding.of_inner(w.values, self.gradient(w.coordinates), self.errors(w.coordinates))
        return rounding.of_conjugate(scale, self._recursion, self.losses(), weights, off)

    def errors(self, coordinates: Ints) -> Floats:
        """Return by how much derivatives may be off (``losses/rounding.py``)."""
        return self._passes.data.derivative_errors(coordinates, self._recursion.of_marginals())

    def largest_error(self) -> float:
        """Return the same of all derivatives."""
        return self._largest_error

    @cached_property
    def _largest_error(self) -> float:
        return self._passes.data.largest_error(self._recursion.of_marginals())

    @cached_property
    def _recursion(self) -> rounding.Recursion:
        pairs = float(np.abs(self._weights.transitions).max(initial=0.0))
        return self._passes.data.recursion(self._weights.states, pairs)

    def losses(self) -> Floats:
        """Return ``-log P(y_i | x_i)`` of every sequence; not to be kept."""
        self._lease.check(self)
        return self._passes.losses

    def weights(self) -> SparseVector:
        """Return w."""
        return self._weights.joined(self._passes.data.n_states)

    def along(self, direction: SparseVector) -> ChainLine:
        """Compute the scores of a whole step: the data entries of the features in w and d."""
        self._lease.check_place(self)
        return ChainLine(self, self._passes, self._weights, direction)

    def draw(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Draw labelings: the Hessian is the covariance of the features under the model.

        Residuals stay what they are; scores that a trial wrote over are computed again.
        """
        self._lease.check_place(self)
        return self._passes.draw(self._weights, coordinates, n_rows, seed)


@final
class ChainLine(Line):
    """Trials from a point; their scores and forward variables take the place of the point's."""

    def __init__(
        self,
        point: ChainPoint,
        passes: ChainPasses,
        weights: SplitWeights,
        direction: SparseVector,
    ) -> None:
        self._point, self._passes, self._weights = point, passes, weights
        self._lease = passes.lease
        self._direction = passes.data.split(direction)
        self._alpha, self._trial = 1.0, weights.moved(self._direction, 1.0)
        passes.put(self._trial)

    def value(self, alpha: float) -> float:
        """Run the forward pass; a step other than 1 needs scores of its own."""
        self.check()
        self._go(alpha)
        self._value = self._passes.forward(self._trial)
        return self._value

    def accept(self, alpha: float) -> ChainPoint:
        """Run the backward pass."""
        self.check()
        if not self.stands_at(alpha):
            self._go(alpha)
            self._value = self._passes.forward(self._trial, refuse=False)
        self._passes.backward(self._trial)
        return ChainPoint(self._passes, self._trial, self._value)

    def check(self) -> None:
        """Raise unless lines may begin at its point."""
        self._lease.check_place(self._point)

    def _go(self, alpha: float) -> None:
        self._lease.overwrite()
        if alpha != self._alpha:
            self._alpha, self._trial = alpha, self._weights.moved(self._direction, alpha)

    def stands_at(self, alpha: float) -> bool:
        """Whether the last pass over the data was that of this step."""
        return alpha == self._alpha and self._passes.is_forward_of(self._trial)
