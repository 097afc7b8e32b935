"""An oracle called from outside a solver: the one place here that knows the seam's methods."""

from __future__ import annotations

from typing import final

import numpy as np

from proxqn.problem import Floats, Oracle, Point, SparseVector


def loss(oracle: Oracle, w: Floats) -> float:
    """Return ℓ(w)."""
    return oracle.at(SparseVector.of_dense(w)).value


def gradient(oracle: Oracle, w: Floats) -> Floats:
    """Return ∇ℓ(w)."""
    return oracle.at(SparseVector.of_dense(w)).gradient(np.arange(len(w)))


@final
class Unpriced(Oracle):
    """An oracle that says nothing of the price of inference, nor what else it can do.

    A solver that balances its inner problem against inference may solve it as well as it likes.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

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

    def at(self, w: SparseVector) -> Point:
        """As in the oracle inside."""
        return self._oracle.at(w)
