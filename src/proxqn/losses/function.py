"""The user's own loss: any smooth function of a dense vector that returns value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from proxqn.problem.oracle import DensePoint, Oracle
from proxqn.problem.sparse import Floats, SparseVector

ValueAndGradient = Callable[[Floats], tuple[float, Floats]]


@final
class FunctionOracle(Oracle):
    """A loss given as ``fun(w) -> (value, gradient)``, as for ``scipy.optimize`` with ``jac=True``.

    The gradient of a trial is kept until the trial is accepted, so each point is evaluated once.

    Parameters
    ----------
    fun : callable
        ``fun(w)`` returns the value and the gradient at a dense vector w.
    n_coordinates : int
        The length of w.
    lower_bound : float, optional
        A number below which a convex ``fun`` nowhere falls, such as 0 for a sum of squares. Without
        it nothing is known of the dual, so a solver stops by the KKT residual.

    Examples
    --------
    >>> oracle = FunctionOracle(lambda w: (float(w @ w) / 2, w), n_coordinates=2)
    >>> line = oracle.at(SparseVector.empty()).along(SparseVector(np.array([1]), np.array([2.0])))
    >>> line.value(0.5)
    0.5
    """

    def __init__(
        self, fun: ValueAndGradient, n_coordinates: int, *, lower_bound: float | None = None
    ) -> None:
        self._fun = fun
        self._n = n_coordinates
        self._lower_bound = lower_bound

    @property
    def n_coordinates(self) -> int:
        """The length of w."""
        return self._n

    def at(self, w: SparseVector) -> DensePoint:
        """Evaluate the function."""
        answer = self._fun(w.dense(self._n))
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(
                f"fun must return a pair, (value, gradient), got a {type(answer).__name__}."
            )
        value, found = answer
        gradient = np.array(found, dtype=np.float64)  # a copy: the function may use its array again
        if gradient.shape != (self._n,):
            raise ValueError(
                f"fun must return a gradient of shape ({self._n},), got {gradient.shape}; "
                "return (value, gradient) of the smooth part, without the penalty."
            )
        return DensePoint(self, w, value, gradient, self._lower_bound)
