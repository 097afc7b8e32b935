"""The iterates of a solver, seen from the oracle's side."""

from __future__ import annotations

from typing import final

import numpy as np

from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep


@final
class WatchedOracle(Oracle):
    """An oracle that keeps every point a solver accepts.

    It says nothing of the price of inference (``pass_cost`` is infinite), so a solver that balances
    its inner problem against inference may solve it as well as it likes.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._direction = SparseVector.empty()
        self.iterates: list[Floats] = []  # the starting point first

    @property
    def n_coordinates(self) -> int:
        """As in the oracle inside."""
        return self._oracle.n_coordinates

    @property
    def n_parameters(self) -> int:
        """As in the oracle inside."""
        return self._oracle.n_parameters

    @property
    def n_samples(self) -> int:
        """As in the oracle inside."""
        return self._oracle.n_samples

    def reset(self) -> None:
        """Forget the iterates: a new run begins."""
        self._oracle.reset()
        self.iterates = []

    def move(self, direction: SparseVector) -> None:
        """Remember the direction."""
        self._oracle.move(direction)
        self._direction = direction

    def value_at(self, step: float) -> float:
        """As in the oracle inside."""
        return self._oracle.value_at(step)

    def accept(self, step: float) -> None:
        """Keep the new point."""
        self._oracle.accept(step)
        w = self.iterates[-1].copy() if self.iterates else np.zeros(self.n_coordinates)
        w[self._direction.coordinates] += step * self._direction.values
        self.iterates.append(w)

    def gradient(self, coordinates: Ints) -> Floats:
        """As in the oracle inside."""
        return self._oracle.gradient(coordinates)

    def sweep(self, level: float) -> Sweep:
        """As in the oracle inside."""
        return self._oracle.sweep(level)

    def sample_losses(self) -> tuple[Floats, Floats | None] | None:
        """As in the oracle inside."""
        return self._oracle.sample_losses()
