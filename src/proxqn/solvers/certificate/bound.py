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

from proxqn.problem.oracle import Point
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats
from proxqn.run.status import Status
from proxqn.solvers.working_set import WorkingSet


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
