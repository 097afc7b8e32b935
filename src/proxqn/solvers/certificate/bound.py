"""When to stop, and what is proved then.

For a loss that is a sum of ``-log P_w(y_i | x_i)`` with every weight penalised, one full gradient
gives a lower bound on the optimum. Let ``s ∈ [0, 1]``, ``p_i = P_w(y_i|x_i)`` and H_i the entropy
of the model's distribution for sample i. The mixtures ``(1-s) δ_{y_i} + s P_i`` have the gradient
s·g, so by Fenchel duality, with ``a_i = 1 - s + s p_i``,

    D = Σ_i [-a_i log a_i - s (1 - p_i) log s + s (H_i + p_i log p_i)] - Ω*(s g) ≤ f(w*)

and ``f(w) - D`` bounds what is left to gain. Summed over the samples the entropies need no extra
inference: ``Σ_i H_i = ℓ(w) - ⟨w, g⟩``. Ω*(sg) is finite for ``s ≤ λ/‖g‖_∞``, or for any s with a
ridge term, where s = 1 may be the better choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np

from proxqn.problem import Floats, Oracle, Penalty, Sweep
from proxqn.solvers.working_set import WorkingSet


class Status(Enum):
    """Why a solver stopped; the value is the sentence the user reads."""

    GAP = "converged: the duality gap is at most tol times the objective"
    KKT = "converged: the largest subgradient entry is at most tol times lam (no gap is known)"
    STATIONARY = (
        "converged to a stationary point: the largest subgradient entry is at most tol times lam "
        "(the loss is not convex, so there is no certificate)"
    )
    MAX_ITER = "stopped: max_iter iterations made before the tolerance was reached"
    STALLED = "stopped: no step lowers the objective by more than its rounding error"
    INTERRUPTED = "interrupted: the last accepted iterate is returned"
    CALLBACK = "stopped: the callback asked for it"
    NOT_FINITE = "failed: the loss or its gradient is not finite at the point returned"

    @property
    def success(self) -> bool:
        """Whether the tolerance was reached."""
        return self in (Status.GAP, Status.KKT, Status.STATIONARY)


@final
@dataclass(frozen=True)
class Certificate:
    """What one full gradient proves about the point it was taken at."""

    bound: float  # lower bound on the optimum; -inf where the loss has no known dual
    kkt: float  # largest entry of the min-norm subgradient over all variables
    convex: bool = True


def certify(
    oracle: Oracle,
    penalty: Penalty,
    loss: float,
    at: WorkingSet,
    sweep: Sweep,
    enough: float = -math.inf,
) -> Certificate:
    """Compute the dual bound and the KKT residual from an epoch's full gradient.

    Where the bound cannot reach ``enough``, a weaker one is given that asks no sample.
    """
    kkt = at.violation(penalty)
    samples = oracle.sample_losses()
    if samples is None:
        return Certificate(-math.inf, kkt, oracle.convex)
    losses, weights = samples
    entropy = loss - float((at.w * at.g).sum())
    # A weight may stand on a coordinate that the sweep leaves out (a pair not in the model).
    largest = max(sweep.largest, float(np.abs(at.g).max(initial=0.0)))
    scales = [min(1.0, penalty.lam / largest) if largest > 0 else 1.0]
    if penalty.l2 > 0.0:
        scales.append(1.0)
    total = len(losses) if weights is None else float(weights.sum())
    bounds = []
    for s in scales:
        # Up to rounding, s·g may exceed λ by an ulp: with scale λ/‖g‖_∞ the conjugate is 0.
        conjugate = penalty.conjugate(at.g) if s == 1.0 and largest > penalty.lam else 0.0
        bound = s * entropy - conjugate
        if bound + total * _largest_mixture_term(s) >= enough:
            terms = _mixture_terms(losses, s)
            bound += float((terms if weights is None else weights * terms).sum())
        bounds.append(bound)
    return Certificate(max(bounds), kkt)


def _mixture_terms(losses: Floats, s: float) -> Floats:
    """Return ``-a log a - s(1-p) log s + s p log p`` for each ``-log p``; zero at s = 1."""
    if s == 1.0:
        return np.zeros_like(losses)
    minus = np.expm1(-losses)  # p - 1
    rest = -s * minus  # s (1 - p)
    p = 1.0 + minus
    return -(1.0 - rest) * np.log1p(-rest) - rest * math.log(s) - s * p * losses


def _largest_mixture_term(s: float) -> float:
    """Return the term at p = 0, from which it falls to 0 at p = 1."""
    return 0.0 if s in (0.0, 1.0) else -(1.0 - s) * math.log1p(-s) - s * math.log(s)


def reached(
    certificate: Certificate, objective: float, penalty: Penalty, tol: float
) -> Status | None:
    """Return the status to stop with, or None to go on."""
    if math.isfinite(certificate.bound):
        good = objective - certificate.bound <= tol * abs(objective)
        return Status.GAP if good else None
    if not certificate.kkt <= tol * penalty.lam:
        return None
    return Status.KKT if certificate.convex else Status.STATIONARY
