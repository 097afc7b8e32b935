"""How the methods of comparison end where a loss is not finite, or no step lowers it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxqn import minimize
from proxqn.run.status import Status
from proxqn.solvers.rivals.owl_qn import OWLQN
from proxqn.solvers.rivals.prox_gd import ProxGD

SOLVERS = pytest.mark.parametrize(
    "solver",
    [OWLQN(), ProxGD(), ProxGD(accelerated=not ProxGD().accelerated)],
    ids=["owl-qn", "prox-gd", "prox-gd, the other way"],
)


def nowhere_finite(w):
    return math.inf, w


def finite_at_zero_alone(w):
    return (math.nan if w.any() else 3.0), 2.0 * (w - 1.0)


def derivatives_at_zero_alone(w):
    return float((w - 1.0) @ (w - 1.0)), np.full(3, math.nan) if w.any() else 2.0 * (w - 1.0)


@SOLVERS
@pytest.mark.parametrize(
    ("loss", "status"),
    [
        (nowhere_finite, Status.NOT_FINITE),
        (finite_at_zero_alone, Status.STALLED),
        (derivatives_at_zero_alone, Status.NOT_FINITE),
    ],
)
def test_what_is_not_finite_is_no_success(solver, loss, status):
    result = minimize(loss, 0.1, x0=np.zeros(3), solver=solver, max_iter=50)
    assert result.status is status
    assert not result.success


@SOLVERS
def test_at_the_optimum_no_step_is_looked_for(solver):
    result = minimize(lambda w: (float(w @ w), 2.0 * w), 0.1, x0=np.zeros(3), solver=solver)
    assert result.success
    assert result.nit == 0
