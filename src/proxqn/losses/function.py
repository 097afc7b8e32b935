"""The user's own loss: any smooth function of a dense vector that returns value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


@final
class FunctionOracle(Oracle):
    """A loss given as ``fun(w) -> (value, gradient)``, as for ``scipy.optimize`` with ``jac=True``.

    No dual is known for it, so a solver stops by the KKT residual. The gradient of a trial is kept
    until the trial is accepted, so each point is evaluated once.

    Parameters
    ----------
    fun : callable
        ``fun(w)`` returns the value and the gradient at a dense vector w.
    n_coordinates : int
        The length of w.

    Examples
    --------
    >>> oracle = FunctionOracle(lambda w: (float(w @ w) / 2, w), n_coordinates=2)
    >>> oracle.move(SparseVector(np.array([1]), np.array([2.0])))
    >>> oracle.value_at(0.5)
    0.5
    """

    def __init__(self, fun: ValueAndGradient, n_coordinates: int) -> None:
        self._fun = fun
        self._n = n_coordinates
        self.reset()

    @property
    def n_coordinates(self) -> int:
        """The length of w."""
        return self._n

    @property
    def n_parameters(self) -> int:
        """The length of w."""
        return self._n

    @property
    def n_samples(self) -> int:
        """Return 1: nothing is known of the sum inside."""
        return 1

    def reset(self) -> None:
        """Go to w = 0."""
        self._w = np.zeros(self._n)
        self._gradient = np.zeros(self._n)
        self._trial = (self._w, self._gradient)
        self._direction = np.zeros(self._n)

    def move(self, direction: SparseVector) -> None:
        """Set the direction of the next trials."""
        self._direction = np.zeros(self._n)
        self._direction[direction.coordinates] = direction.values

    def value_at(self, step: float) -> float:
        """Evaluate the function."""
        w = self._w + step * self._direction
        value, gradient = self._fun(w)
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != (self._n,):
            raise ValueError(
                f"fun must return a gradient of shape ({self._n},), got {gradient.shape}; "
                "return (value, gradient) of the smooth part, without the penalty."
            )
        self._trial = (w, gradient)
        return float(value)

    def accept(self, step: float) -> None:
        """Keep the last trial."""
        self._w, self._gradient = self._trial
        self._direction = np.zeros(self._n)

    def gradient(self, coordinates: Ints) -> Floats:
        """Return entries of the gradient."""
        return self._gradient[coordinates]

    def sweep(self, level: float) -> Sweep:
        """Return the entries of the gradient above the level."""
        large = np.flatnonzero(np.abs(self._gradient) > level)
        largest = float(np.abs(self._gradient).max(initial=0.0))
        return Sweep(SparseVector(large, self._gradient[large]), largest)

    def sample_losses(self) -> None:
        """Return None: no dual is known."""
        return
