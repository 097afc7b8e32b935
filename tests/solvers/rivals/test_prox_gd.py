"""Proximal gradient: its rate, its backtracking, its acceleration."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rival_problems import problem, small_chain

from proxqn.minimization import lambda_max, minimize
from proxqn.penalties import ElasticNet
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.rivals.prox_gd import ProxGD


def quadratic(H, b):
    return lambda w: (0.5 * w @ H @ w - b @ w, H @ w - b)


@pytest.mark.parametrize("accelerated", [False, True])
def test_orthogonal_lasso_has_a_closed_form(accelerated):
    b = np.array([3.0, -0.5, 1.2, -4.0])
    result = minimize(
        quadratic(np.eye(4), b), 1.0, x0=np.zeros(4), solver=ProxGD(accelerated), tol=1e-10
    )
    assert result.status is Status.KKT
    np.testing.assert_allclose(result.x, ElasticNet(1.0).prox(b, 1.0), atol=1e-9)


def test_one_step_is_exact_where_the_curvature_is_constant():
    result = minimize(
        quadratic(2.0 * np.eye(2), np.array([3.0, 1.0])),
        0.5,
        x0=np.zeros(2),
        solver=ProxGD(curvature=2.0),
        tol=1e-10,
    )
    assert result.nit == 1


def test_a_first_curvature_far_too_small_is_found_by_backtracking():
    H = np.diag([1e6, 1.0])
    result = minimize(
        quadratic(H, np.array([2e6, 5.0])),
        1.0,
        x0=np.zeros(2),
        solver=ProxGD(curvature=1e-3, relaxation=1.0),
        tol=1e-3,
        max_iter=10,
    )
    assert result.trace[1].trials >= 20
    assert result.trace[1].objective < result.trace[0].objective


def test_the_objective_never_rises():
    oracle, lam = problem("chain-2")
    result = minimize(oracle, lam, solver="prox-gd", tol=1e-6, max_iter=500)
    f = result.trace.column("objective")
    assert np.all(np.diff(f) <= 1e-12 * f[0])


def test_acceleration_needs_fewer_iterations_on_an_ill_conditioned_problem():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    H = Q @ np.diag(np.logspace(-3, 0, 30)) @ Q.T
    fun = quadratic(H, rng.normal(size=30))
    plain, fast = (
        minimize(fun, 1e-3, x0=np.zeros(30), solver=ProxGD(accelerated), tol=1e-3, max_iter=100_000)
        for accelerated in (False, True)
    )
    assert plain.success
    assert fast.success
    assert fast.nit < plain.nit / 3


def test_restarts_are_recorded():
    oracle, lam = problem("tree-3")
    result = minimize(oracle, lam, solver=ProxGD(accelerated=True), tol=1e-7, max_iter=5000)
    assert any("restarted" in row.event for row in result.trace)


def test_every_row_is_certified_and_the_bound_holds():
    oracle, lam = problem("chain-1")
    best = minimize(oracle, lam, tol=1e-9, max_iter=5000).fun
    for accelerated in (False, True):
        result = minimize(oracle, lam, solver=ProxGD(accelerated), tol=1e-4, max_iter=5000)
        for row in result.trace:
            assert row.certified
            assert row.objective - row.gap <= best * (1 + 1e-9)


def test_only_variables_that_can_move_are_looked_at():
    oracle = small_chain(1)
    lam = 0.5 * lambda_max(oracle)
    result = minimize(oracle, lam, solver="prox-gd", tol=1e-5, max_iter=2000)
    assert max(row.working_set for row in result.trace) < oracle.n_coordinates


@pytest.mark.parametrize("bad", [{"curvature": 0.0}, {"growth": 1.0}, {"relaxation": 0.0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ProxGD(**bad)
