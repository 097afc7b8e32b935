"""Proximal gradient: its rate, its backtracking, its acceleration."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rival_problems import problem, small_chain

from proxqn.minimization import minimize
from proxqn.path import lambda_max
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.oracle import NOTHING
from proxqn.run.status import Status
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
    np.testing.assert_allclose(result.x, ElasticNet(1.0).on(NOTHING).prox(b, 1.0), atol=1e-9)


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


def penalty_of(kind, n):
    """Return a penalty whose numbers differ from weight to weight."""
    rng = np.random.default_rng(n)
    lam = rng.uniform(0.2, 2.0, n)
    if "unpenalised" in kind:
        lam[::5] = 0.0
        return Separable(lam, 1.0 if "ridge" in kind else 0.0)
    if kind == "non-negative":
        return Separable(lam, lower=0.0)
    if kind == "a box":
        return Separable(lam, lower=-0.3, upper=np.where(np.arange(n) % 2, 0.1, np.inf))
    return Separable(lam, np.where(np.arange(n) % 3, 0.0, 2.0))


@pytest.mark.parametrize(
    "kind", ["each its own", "a ridge, some unpenalised", "non-negative", "a box"]
)
@pytest.mark.parametrize("accelerated", [False, True])
def test_any_separable_penalty_has_the_optimum_of_prox_qn(accelerated, kind):
    oracle, _ = problem("chain-1")
    penalty = penalty_of(kind, oracle.n_coordinates)
    best = minimize(oracle, penalty=penalty, tol=1e-9, max_iter=3000)
    result = minimize(oracle, penalty=penalty, solver=ProxGD(accelerated), tol=1e-6, max_iter=5000)
    assert best.success
    assert result.success
    assert result.fun == pytest.approx(best.fun, rel=1e-5)
    w, local = result.x.toarray(), penalty.on(np.arange(oracle.n_coordinates))
    assert ((local.lower <= w) & (w <= local.upper)).all()


def test_what_is_proved_of_the_extrapolation_is_returned_where_no_gap_is_known():
    oracle, _ = problem("chain-1")
    penalty = penalty_of("unpenalised", oracle.n_coordinates)
    result = minimize(
        oracle, penalty=penalty, solver=ProxGD(accelerated=True), tol=1e-2, max_iter=5000
    )
    assert result.status is Status.UNPENALISED
    w = result.weights
    g = oracle.at(w).gradient(np.arange(oracle.n_coordinates))
    local = penalty.on(np.arange(oracle.n_coordinates))
    found = np.abs(local.min_norm_subgradient(w.dense(len(g)), g)).max()
    assert found == pytest.approx(result.kkt, rel=1e-6)
    assert found <= 1e-2 * penalty.least


@pytest.mark.parametrize("bad", [{"curvature": 0.0}, {"growth": 1.0}, {"relaxation": 0.0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ProxGD(**bad)
