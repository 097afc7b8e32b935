"""The user's own loss: any smooth function of a dense vector that returns value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from proxqn.losses import function_units
from proxqn.problem.oracle import DensePoint, Oracle
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.problem.units import Rescaled, Units, UnitsFound

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
        self._known: tuple[Floats, float, Floats] | None = None  # a point that will be asked for

    @property
    def n_coordinates(self) -> int:
        """The length of w."""
        return self._n

    def at(self, w: SparseVector) -> DensePoint:
        """Evaluate the function."""
        dense = w.dense(self._n)
        known, self._known = self._known, None
        if known is None or not np.array_equal(known[0], dense):
            known = dense, *self._evaluate(dense)
        return DensePoint(self, w, known[1], known[2], self._lower_bound)

    def rescaled(self, start: SparseVector) -> Rescaled | None:
        """Return the same function of variables of one size (``function_units.py``).

        Its value at the start is remembered: to begin there costs nothing more.
        """
        w = start.dense(self._n)
        value, g = self._evaluate(w)
        self._known = w, value, g
        found = function_units.find(self._evaluate, w, value, g)
        if found is None:
            return None
        sizes = found.sizes

        def fun(u: Floats) -> tuple[float, Floats]:
            value, gradient = self._evaluate(u / sizes)
            return value, gradient / sizes

        other = FunctionOracle(fun, self._n, lower_bound=self._lower_bound)
        other._known = w * sizes, value, g / sizes
        outlying = np.flatnonzero(found.outlying)
        units = UnitsFound(Units(((sizes, 1),)), outlying, passes=found.evaluations)
        return Rescaled(other, units)

    def _evaluate(self, w: Floats) -> tuple[float, Floats]:
        answer = self._fun(w)
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
        if np.ndim(value) or np.iscomplexobj(value):
            raise TypeError(f"fun must return its value as a real number, got {value!r}.")
        return float(value), gradient
