"""Points and lines of a lattice's loss: those of a chain, and the weights of edges."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from proxqn.losses import rounding
from proxqn.losses.chain.point import ChainLine, ChainPoint
from proxqn.losses.chain.weights import moved
from proxqn.losses.lattice.data import LatticeData
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.losses.mixtures import InnerProduct, conjugate
from proxqn.problem.oracle import NOTHING, Line, Point
from proxqn.problem.sparse import Floats, Ints, SparseVector, Sweep


@final
class LatticePoint(Point):
    """A chain's point, which knows whether it is spent, and the weights of edges beside it."""

    def __init__(self, chain: ChainPoint, passes: EdgePasses, edges: SparseVector) -> None:
        self.value = chain.value
        self._chain, self._passes, self._edges = chain, passes, edges
        self._n_chain, self._inner = passes.data.chain.n_coordinates, InnerProduct()

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the tokens of each coordinate's feature."""
        split = np.searchsorted(coordinates, self._n_chain)
        of_chain = self._chain.gradient(coordinates[:split])
        of_edges = self._passes.gradient(coordinates[split:] - self._n_chain)
        found = np.concatenate([of_chain, of_edges])
        self._inner.note(coordinates, found)
        return found

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Stream over all data entries times labels or label pairs; keep what exceeds the level."""
        split = np.searchsorted(keep, self._n_chain)
        chain = self._chain.sweep(level, keep[:split])
        edges, largest = self._passes.sweep(level, keep[split:] - self._n_chain)
        found = self._passes.data.joined(chain.gradient, edges)
        self._inner.note(found.coordinates, found.values)
        return Sweep(found, float(np.maximum(chain.largest, largest)))  # a NaN stays a NaN

    def conjugate(self, scale: float) -> float | None:
        """Bound it by mixtures of the true labels with the model; None where some are unknown."""
        data, losses = self._passes.data, self._chain.losses()
        if not data.labels.complete:
            return None
        w = data.joined(self._chain.weights(), self._edges)
        inner = self._inner.with_weights(w, self.gradient) if scale else 0.0
        return conjugate(scale, self.value, inner, losses, data.chain.weights)

    def conjugate_error(self, scale: float) -> float:
        """Return by how much that may be too small (``losses/rounding.py``)."""
        data = self._passes.data
        w = data.joined(self._chain.weights(), self._edges)
        off = rounding.of_inner(w.values, self.gradient(w.coordinates), self.errors(w.coordinates))
        losses, weights = self._chain.losses(), data.chain.weights
        return rounding.of_conjugate(scale, self._recursion, losses, weights, off)

    def errors(self, coordinates: Ints) -> Floats:
        """Return by how much derivatives may be off (``losses/rounding.py``)."""
        of_marginals = self._recursion.of_marginals()
        split = np.searchsorted(coordinates, self._n_chain)
        chain = self._passes.data.chain.derivative_errors(coordinates[:split], of_marginals)
        edges = self._passes.data.edge_errors(coordinates[split:] - self._n_chain, of_marginals)
        return np.concatenate([chain, edges])

    def largest_error(self) -> float:
        """Return the same of all derivatives."""
        of_marginals, data = self._recursion.of_marginals(), self._passes.data
        every = np.arange(len(data.patterns.columns)) * data.n_pairs
        of_edges = float(data.edge_errors(every, of_marginals).max(initial=0.0))
        return max(data.chain.largest_error(of_marginals), of_edges)

    @cached_property
    def _recursion(self) -> rounding.Recursion:
        return self._passes.data.recursion(self._chain.weights(), self._edges)

    def along(self, direction: SparseVector) -> LatticeLine:
        """Compute the scores of a whole step, but for the edges."""
        chain, edges = self._passes.data.split(direction)
        return LatticeLine(self._chain.along(chain), self._passes, self._edges, edges)


@final
class LatticeLine(Line):
    """A chain's line; the edges' weights are set anew for each of its trials."""

    def __init__(
        self, chain: ChainLine, passes: EdgePasses, edges: SparseVector, direction: SparseVector
    ) -> None:
        self._chain, self._passes = chain, passes
        self._edges, self._direction = edges, direction

    def value(self, alpha: float) -> float:
        """Run the forward pass."""
        self._chain.check()
        self._passes.put(moved(self._edges, self._direction, alpha))
        return self._chain.value(alpha)

    def accept(self, alpha: float) -> LatticePoint:
        """Run the backward pass."""
        if not self._chain.stands_at(alpha):
            self.value(alpha)
        edges = moved(self._edges, self._direction, alpha)
        return LatticePoint(self._chain.accept(alpha), self._passes, edges)


@final
class EdgePasses:
    """Expected minus observed counts of edge features; coordinates count from 0.

    Parameters
    ----------
    data : LatticeData
        What is observed, and which pairs have a weight.
    inference : LatticeInference
        That of the chain; it has the edges' scores, and their expected counts.
    """

    def __init__(self, data: LatticeData, inference: LatticeInference, n_jobs: int) -> None:
        self.data, self._inference, self._n_jobs = data, inference, n_jobs

    def put(self, weights: SparseVector) -> None:
        """Set the weights of the next forward pass."""
        self._inference.move(weights)

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum over the tokens of each coordinate's feature."""
        expected = self._inference.expected(coordinates, self._n_jobs)
        return expected - self.data.observed.on(coordinates)

    def sweep(self, level: float, keep: Ints) -> tuple[SparseVector, float]:
        """Return derivatives above the level, those to be kept, and the size of the largest."""
        coordinates, gradient, largest = self._inference.sweep(
            level, self.data.observed, self.data.admitted, self._n_jobs
        )
        return SparseVector(coordinates, gradient).including(keep, self.gradient), largest
