"""Derivatives of the weights of edges, at the point where the inference stands."""

from __future__ import annotations

from typing import final

from proxqn.losses.lattice.data import LatticeData
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.problem.sparse import Floats, Ints, SparseVector


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
