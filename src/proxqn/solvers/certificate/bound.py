"""What one full gradient proves, and when that is enough to stop.

By Fenchel duality, with ``g = ∇ℓ(w)`` and any ``s ∈ [0, 1]``,

    D(s) = -ℓ*(s g) - Ω*(-s g) ≤ f(w*),

so ``f(w) - D(s)`` bounds what is left to gain. ℓ* is all that the loss contributes
(``Point.conjugate``); Ω* is the penalty's (``Local.conjugate``), a sum over the weights whose
derivative exceeds λ. What it costs there is finite with a ridge term or a bound on that side, and
infinite without. Two scales are tried:

1. the largest s for which no derivative with an infinite price exceeds its λ: the others pay;
2. the largest s for which none exceeds its λ at all: nothing is paid.

A weight without penalty, ridge or bounds whose derivative is not exactly zero leaves s = 0 alone:
nothing is proved then, and the largest subgradient entry decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.abilities import Rounded
from proxqn.problem.oracle import Point
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats
from proxqn.run.status import Status
from proxqn.solvers.working_set import WorkingSet

_SUMS = 2.0**-51  # for each term of a price, with room


@final
@dataclass(frozen=True)
class Certificate:
    """What one full gradient proves about the point it was taken at."""

    bound: float  # lower bound on the optimum; -inf where none is known
    kkt: float  # largest entry of the min-norm subgradient over all variables
    missing: Status = Status.KKT  # what a run that reaches its tolerance by kkt alone is told


def certify(point: Point, at: WorkingSet, *, convex: bool) -> Certificate:
    """Compute the dual bound and the KKT residual.

    Parameters
    ----------
    at : WorkingSet
        All nonzero weights and all variables whose derivative exceeds their λ.
    """
    if not convex:
        return Certificate(-math.inf, at.violation, Status.STATIONARY)
    prices = _prices(at)
    if not prices:
        return Certificate(-math.inf, at.violation, Status.UNPENALISED)
    bounds = [-math.inf]
    for s, price in prices.items():
        conjugate = point.conjugate(s)
        if conjugate is not None:
            bounds.append(-conjugate - price)
    return Certificate(max(bounds), at.violation)


def rounded_down(point: Point, at: WorkingSet, penalty: Penalty) -> float:
    """Return the bound of ``certify`` less all that rounding may have done to it.

    Parameters
    ----------
    penalty : Penalty
        Of all variables: also those at rest may be a little above their λ.
    """
    safe = allow_for_rounding(point, at, penalty)
    found = [safe.dual(s * safe.share, price) for s, price in _prices(safe.at).items()]
    return max(found, default=-math.inf)


@final
@dataclass(frozen=True)
class Safe:
    """Derivatives as large as rounding may have hidden that they are.

    Attributes
    ----------
    at : WorkingSet
        With them: every price and every scale computed from it is on the safe side.
    share : float
        Of a scale, below 1: derivatives at rest just below their λ may be above it.
    """

    point: Point
    at: WorkingSet
    share: float

    def dual(self, s: float, price: float | None = None) -> float:
        """Return D(s), rounded down."""
        conjugate = self.point.conjugate(s) if s > 0.0 else None
        if conjugate is None:
            return -math.inf
        if price is None:
            price = self.at.penalty.conjugate(s * self.at.g)
        room = _SUMS * (len(self.at) + 8.0) * (abs(conjugate) + abs(price))
        if isinstance(self.point, Rounded):
            room += self.point.conjugate_error(s)
        return -conjugate - price - room


def allow_for_rounding(point: Point, at: WorkingSet, penalty: Penalty) -> Safe:
    """Return what is to be proved with: as it is where a point knows nothing of rounding."""
    if not isinstance(point, Rounded):
        return Safe(point, at, 1.0)
    off = point.errors(at.coordinates)
    above = point.largest_error() / penalty.least
    small = penalty.watched
    lam = np.broadcast_to(penalty.on(small).lam, len(small))
    held = lam > 0.0
    if held.any():
        above = max(above, float((point.errors(small)[held] / lam[held]).max()))
    return Safe(point, at.moved(at.w, at.g + np.copysign(off, at.g)), 1.0 / (1.0 + above))


def most_provable(loss: float, at: WorkingSet) -> float:
    """Return what no bound from these derivatives can exceed: it asks nothing of the loss.

    ``ℓ*(s g) ≥ s ⟨w, g⟩ - ℓ(w)`` by Fenchel's inequality.
    """
    inner = float((at.w * at.g).sum())
    return max((loss - s * inner - price for s, price in _prices(at).items()), default=-math.inf)


def _prices(at: WorkingSet) -> dict[float, float]:
    """Return the scales worth trying, each with its Ω*: none where only s = 0 is left."""
    priced = at.penalty.priced(at.g)
    found = {}
    for dear in (~priced, np.ones_like(priced)):  # what is not to exceed λ after scaling
        s = largest_scale(at.penalty, at.g, dear)
        if s > 0.0:
            found[s] = at.penalty.conjugate(np.where(dear, 0.0, s * at.g))
    return found


def largest_scale(penalty: Local, g: Floats, dear: NDArray[np.bool_] | None = None) -> float:
    """Return the largest s ≤ 1 with no ``s |g_j|`` above λ_j, of all or of those marked dear."""
    above = penalty.excess(g) > 0.0
    if dear is not None:
        above &= dear
    if not above.any():
        return 1.0
    lam = np.broadcast_to(penalty.lam, g.shape)[above]
    return float((lam / np.abs(g[above])).min())


def reached(
    certificate: Certificate, objective: float, penalty: Penalty, tol: float
) -> Status | None:
    """Return the status to stop with, or None to go on."""
    if math.isfinite(certificate.bound):
        good = objective - certificate.bound <= tol * abs(objective)
        return Status.GAP if good else None
    unit = penalty.least if math.isfinite(penalty.least) else 1.0
    return certificate.missing if certificate.kkt <= tol * unit else None
