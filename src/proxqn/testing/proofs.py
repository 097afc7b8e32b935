"""What certificates rest on: the conjugate from above, and convexity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize

from proxqn.problem.sparse import Floats, SparseVector
from proxqn.testing.case import Case
from proxqn.testing.promise import broken

_SCALES = (0.0, 0.1, 0.5, 0.9, 1.0)
_RANDOM = 10  # points of each size
_SIZES = (0.01, 0.3, 1.0, 5.0)
_ITERATIONS = 30


def check_conjugate(case: Case) -> None:
    """Check that ``conjugate(s)`` is nowhere below ``s⟨∇ℓ(w), v⟩ - ℓ(v)``: every bound is one.

    The v are random ones, and where L-BFGS finds the largest such value.
    """
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g = point.gradient(case.everywhere)
        bounds = {scale: point.conjugate(scale) for scale in _SCALES}
        known = {scale: bound for scale, bound in bounds.items() if bound is not None}
        if not known:
            continue
        others = [(v, case.oracle.at(v).value) for v in _others(case, w)]
        for scale, bound in known.items():
            found = [(scale * float(g[v.coordinates] @ v.values), loss) for v, loss in others]
            found.append(_most(case, scale * g, w))
            inner, loss = max(found, key=lambda pair: pair[0] - pair[1])
            tolerance = case.exact * max(1.0, abs(inner), abs(loss))
            if not bound >= inner - loss - tolerance:
                raise broken(
                    "conjugate(s) is an upper bound of ℓ*(s·∇ℓ(w))",
                    where=f"point {i}, s = {scale:g}",
                    expected=f"at least {inner - loss}, which is s⟨∇ℓ(w), v⟩ - ℓ(v) for some v",
                    got=bound,
                    do="Every certificate would claim too much. Return None where nothing is "
                    "proved; a lower bound of ℓ must hold everywhere, and ℓ must be convex.",
                )


def _others(case: Case, w: SparseVector) -> list[SparseVector]:
    n = case.oracle.n_coordinates
    found = [SparseVector.empty(), w]
    for size in _SIZES:
        for k in range(_RANDOM):
            start = w.dense(n) if k % 2 else np.zeros(n)
            found.append(SparseVector.of_dense(start + size * case.rng.normal(size=n)))
    return found


def _most(case: Case, slope: Floats, w: SparseVector) -> tuple[float, float]:
    """Return ``⟨slope, v⟩`` and ``ℓ(v)`` where their difference is as large as L-BFGS finds."""

    def less(v: Floats) -> tuple[float, Any]:
        point = case.oracle.at(SparseVector.of_dense(v))
        if not math.isfinite(point.value):
            return 1e300, np.zeros_like(v)
        return point.value - float(slope @ v), point.gradient(case.everywhere) - slope

    start = w.dense(len(slope))
    found = minimize(less, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    v: Floats = found.x
    return float(slope @ v), case.oracle.at(SparseVector.of_dense(v)).value


def check_convexity(case: Case) -> None:
    """Check that ℓ lies above its tangents, where the oracle says that it is convex."""
    if not case.oracle.convex:
        return
    for i, w in enumerate(case.points):
        point = case.oracle.at(w)
        g, value = point.gradient(case.everywhere), point.value
        for v in _others(case, w):
            step = v.plus(w, -1.0)
            tangent = value + float(g[step.coordinates] @ step.values)
            loss = case.oracle.at(v).value
            if loss < tangent - case.exact * max(1.0, abs(tangent), abs(value)):
                raise broken(
                    "ℓ is convex, as oracle.convex says",
                    where=f"the tangent of point {i}",
                    expected=f"ℓ(v) ≥ {tangent} for some v",
                    got=loss,
                    do="Let oracle.convex be False: a solver then promises a stationary point "
                    "only. Or the gradient is wrong.",
                )
