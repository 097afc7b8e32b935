"""The smallest λ at which nothing that λ multiplies is worth a weight: where paths begin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proxqn.losses.function import FunctionOracle, ValueAndGradient
from proxqn.minimization import Vector, minimize
from proxqn.penalties.family import Family, Scaled
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.penalty import Local
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.solvers.working_set import gather

_NEARLY = 0.999  # of the largest derivative: the λ to look at first
_ROOM = 1.0 + 1e-9
_TOL = 1e-7  # of the weights that λ leaves alone
_DOUBLINGS = _HALVINGS = 60


def lambda_max(
    oracle: Oracle | ValueAndGradient,
    *,
    x0: Vector | None = None,
    factors: float | Floats = 1.0,
    penalty: Family | None = None,
) -> float:
    """Return the smallest λ for which ``w = 0`` minimises ``ℓ(w) + λ Σ_j factors_j |w_j|``.

    For one λ it is ``‖∇ℓ(0)‖_∞``. Weights whose penalty λ does not multiply, such as those with a
    factor of 0, are fitted first: at ``lambda_max`` only they are off zero.

    Parameters
    ----------
    oracle : Oracle or callable
        The loss, as for :func:`~proxqn.minimize`.
    x0 : array, optional
        For a function: any vector of the right length.
    factors : float or array
        λ of each weight as a multiple.
    penalty : callable, optional
        In place of factors: λ ↦ penalty, of the form ``Ω₀ + λR``.

    Examples
    --------
    >>> def loss(w):
    ...     r = w - np.array([3.0, -1.0])
    ...     return 0.5 * r @ r, r
    >>> lambda_max(loss, x0=np.zeros(2))
    3.0
    >>> lambda_max(loss, x0=np.zeros(2), factors=np.array([1.0, 0.1]))
    10.0
    """
    loss = as_oracle(oracle, x0)
    nothing = SparseVector.empty()
    point = loss.at(nothing)
    largest = point.sweep(math.inf).largest
    if not math.isfinite(largest):
        raise ValueError("the loss or its gradient is not finite at zero: lambda_max is unknown.")
    if penalty is None and np.ndim(factors) == 0:
        return largest / float(factors)
    family = penalty or Scaled(factors)
    if largest == 0.0:
        return 0.0
    found = _crossing(point, nothing, family, largest)
    if not len(gather(point, family(_ROOM * found), nothing)[0]):
        return found
    return _with_others_fitted(loss, family, found)


def as_oracle(loss: Any, x0: Any, lower_bound: float | None = None) -> Oracle:
    """Return the loss as an oracle; a function needs x0 for its length."""
    if isinstance(loss, Oracle):
        return loss
    if not callable(loss):
        raise TypeError(
            f"expected an Oracle or a function w -> (value, gradient), got {type(loss).__name__}."
        )
    if x0 is None or np.ndim(x0) != 1:
        raise ValueError("x0 is needed with a function: its length is the number of variables.")
    return FunctionOracle(loss, np.shape(x0)[0], lower_bound=lower_bound)


def _with_others_fitted(loss: Oracle, family: Family, lam: float) -> float:
    """Return it where weights that λ does not multiply are off zero."""
    for _ in range(_DOUBLINGS):
        weights = minimize(loss, penalty=family(lam), tol=_TOL, stop="gap").weights
        if not _slopes(family, weights.coordinates)[1].any():
            point = loss.at(weights)
            return _crossing(point, weights, family, point.sweep(math.inf).largest)
        lam *= 2.0
    raise ValueError(
        f"some weights stay off zero up to λ = {lam:g}: does every penalty grow with λ?"
    )


def _crossing(point: Point, weights: SparseVector, family: Family, largest: float) -> float:
    """Return the λ at which the last derivative meets its own λ_j."""
    guess = _NEARLY * largest
    for _ in range(_HALVINGS):
        at, _ = gather(point, family(guess), weights)  # all that cross above this λ, and others
        found = _largest_ratio(family, at.coordinates, at.g)
        if found >= guess:
            return found
        guess *= 0.5
    return 0.0


def _largest_ratio(family: Family, coordinates: Ints, g: Floats) -> float:
    own, slope = _slopes(family, coordinates)
    local = family(1.0).on(coordinates)
    room = np.where(g < 0.0, local.upper, -local.lower) > 0.0
    moves = (slope > 0.0) & room
    return float(((np.abs(g) - own)[moves] / slope[moves]).max(initial=0.0))


def _slopes(family: Family, coordinates: Ints) -> tuple[Floats, Floats]:
    """Return a and c of ``λ_j = a_j + λ c_j``."""

    def at(lam: float) -> Floats:
        local: Local = family(lam).on(coordinates)
        return np.broadcast_to(local.lam, coordinates.shape)

    one, two = at(1.0), at(2.0)
    return 2.0 * one - two, two - one
