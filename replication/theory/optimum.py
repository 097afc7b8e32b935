"""The optimum of a tiny problem to the last digits: a solver's result, polished by Newton's method.

On the nonzero weights, whose signs no longer change, optimality is the smooth equation
``g_j(w) + λ sgn(w_j) = 0``. Its Jacobian is a block of the Hessian, and singular where the optimum
is not unique: the step of least norm leaves the null space alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn import minimize
from proxqn.minimization import Solver
from proxqn.penalties import ElasticNet
from proxqn.problem import Floats
from replication.theory.labelings import Labelings
from replication.theory.oracle_calls import loss
from replication.theory.problems import TheoryProblem

_STEPS = 8  # quadratic convergence from a good start
_SINGULAR = 1e-10  # eigenvalues below this fraction of the largest count as zero


@final
@dataclass(frozen=True)
class Optimum:
    """A minimiser and how good it is."""

    w: Floats
    objective: float
    violation: float  # the largest entry of the min-norm subgradient
    freedom: int  # dimensions in which the nonzero weights can move without changing ℓ


def optimum(problem: TheoryProblem, solver: str | Solver = "prox-qn") -> Optimum:
    """Solve to a relative gap of 1e-11, then polish.

    Raises
    ------
    RuntimeError
        If a sign changes on the way: then the solver's result was not close enough.
    """
    labelings, lam = problem.labelings, problem.lam
    tight: dict[str, Any] = {"tol": 1e-11, "stop": "gap", "max_iter": 20_000}
    found = minimize(problem.oracle, lam, solver=solver, **tight).x.toarray()
    w = _newton(labelings, lam, found)
    g = labelings.gradient(w)
    support = np.flatnonzero(w)
    curvature = np.linalg.eigvalsh(labelings.hessian(w, support))
    return Optimum(
        w,
        value(problem, w),
        float(np.abs(ElasticNet(lam).on(np.arange(len(w))).min_norm_subgradient(w, g)).max()),
        int((curvature < _SINGULAR * curvature[-1]).sum()),
    )


def value(problem: TheoryProblem, w: Floats) -> float:
    """Return f(w) by the oracle."""
    return loss(problem.oracle, w) + problem.lam * float(np.abs(w).sum())


def _newton(labelings: Labelings, lam: float, w: Floats) -> Floats:
    support = np.flatnonzero(w)
    sign = np.sign(w[support])
    w = w.copy()
    for _ in range(_STEPS):
        residual = labelings.gradient(w)[support] + lam * sign
        block = labelings.hessian(w, support)
        w[support] -= np.linalg.pinv(block, rcond=_SINGULAR, hermitian=True) @ residual
        if np.any(np.sign(w[support]) != sign):
            raise RuntimeError(
                "a weight changed its sign in the polishing; it must start closer to the optimum."
            )
    return w
