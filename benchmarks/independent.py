"""The optimum found another way: L-BFGS-B of SciPy on weights split into their signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from proxqn.penalties import Separable
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats, SparseVector

Function = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Numbers:
    """A penalty as four arrays of one length."""

    lam: Floats
    l2: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def of(
        cls, n: int, lam: Any, l2: Any = 0.0, lower: Any = -np.inf, upper: Any = np.inf
    ) -> Numbers:
        """Return them for n weights, each given as a number or an array."""
        given = (lam, l2, lower, upper)
        return cls(*(np.broadcast_to(np.asarray(x, float), (n,)).copy() for x in given))

    @property
    def penalty(self) -> Separable:
        """The same, as the package has it."""
        return Separable(self.lam, self.l2, self.lower, self.upper)

    def arguments(self) -> dict[str, Any]:
        """Return what ``minimize`` takes."""
        return {"lam": self.lam, "l2": self.l2, "bounds": (self.lower, self.upper)}


def as_function(oracle: Oracle) -> Function:
    """Return an oracle as a function of a dense vector."""
    everything = np.arange(oracle.n_coordinates)

    def function(w: Floats) -> tuple[float, Floats]:
        point = oracle.at(SparseVector.of_dense(w))
        return point.value, point.gradient(everything)

    return function


def optimum(function: Function, numbers: Numbers, start: Floats | None = None) -> float:
    """Return min ``ℓ(w) + Ω(w)``: with ``w = u - v``, u and v not negative, Ω is smooth.

    From zero, or from weights to start with.
    """
    n = len(numbers.lam)

    def split(uv: Floats) -> tuple[float, Floats]:
        w = uv[:n] - uv[n:]
        value, g = function(w)
        g = g + numbers.l2 * w
        value += float(numbers.lam @ (uv[:n] + uv[n:]) + 0.5 * (numbers.l2 * w * w).sum())
        return value, np.concatenate([numbers.lam + g, numbers.lam - g])

    most = np.concatenate([numbers.upper, -numbers.lower])
    bounds = [(0.0, None if np.isinf(b) else b) for b in most]
    options = {"maxiter": 100_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
    w = np.zeros(n) if start is None else start
    begin = np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)])
    found = minimize(split, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)
