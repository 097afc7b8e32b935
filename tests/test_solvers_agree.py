"""Ten small random problems, five methods, one optimum; and the same bits for any n_jobs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rival_problems import PROBLEMS, problem

from proxqn.minimization import SOLVERS, minimize
from proxqn.solvers.rivals.prox_gd import ProxGD

EXACT = {
    "prox-qn": "prox-qn",
    "prox-gd": "prox-gd",
    "fista": ProxGD(accelerated=True),
    "owl-qn": "owl-qn",
    "bcd": "bcd",
}


@pytest.fixture(scope="module")
def optima():
    """Return the optimum of each problem: an upper and a lower bound within 1e-9."""
    found = {}
    for name in PROBLEMS:
        oracle, lam = problem(name)
        result = minimize(oracle, lam, tol=1e-9, stop="gap", max_iter=5000)
        assert result.success, name
        found[name] = result.fun
    return found


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", EXACT)
def test_same_optimum_to_a_millionth(name, solver, optima):
    oracle, lam = problem(name)
    result = minimize(oracle, lam, solver=EXACT[solver], tol=1e-6, stop="gap", max_iter=20_000)
    assert result.success, result.message
    assert result.fun == pytest.approx(optima[name], rel=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_sgd_comes_within_a_hundredth(name, optima):
    oracle, lam = problem(name)
    result = minimize(oracle, lam, solver="sgd", tol=1e-2, max_iter=2000)
    assert result.fun <= optima[name] * 1.01


@pytest.mark.parametrize("name", ["chain-1", "tree-1"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_change_nothing(name, solver):
    results = []
    for n_jobs in (1, 2):
        oracle, lam = problem(name, n_jobs=n_jobs)
        results.append(minimize(oracle, lam, solver=solver, tol=1e-4, max_iter=30))
    one, two = results
    assert one.fun == two.fun
    np.testing.assert_array_equal(one.x.toarray(), two.x.toarray())


@pytest.mark.parametrize("solver", [s for s in SOLVERS if s != "sgd"])
def test_a_ridge_term_gives_the_same_optimum(solver):
    for name in ("chain-2", "tree-2"):
        oracle, lam = problem(name)
        best = minimize(oracle, lam, l2=0.3, tol=1e-9, max_iter=5000)
        result = minimize(oracle, lam, l2=0.3, solver=solver, tol=1e-7, max_iter=20_000)
        assert result.success, result.message
        assert result.fun == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_mean_the_same(solver):
    """Objective, gap and nonzeros of the last row are those of the result."""
    oracle, lam = problem("chain-0")
    result = minimize(oracle, lam, solver=solver, tol=1e-3, max_iter=2000)
    row = result.trace[-1]
    assert row.objective == result.fun
    # A row has the gap as computed, the result what is certain of it.
    assert row.gap == pytest.approx(result.gap, rel=1e-4)
    assert row.nnz == result.nnz == np.count_nonzero(result.x.toarray())
    assert row.iteration == result.nit
    assert row.certified
    assert np.all(np.diff(result.trace.column("seconds")) >= 0.0)
    assert np.all(np.diff(result.trace.column("n_forward")) >= 0.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_callback_stops_every_solver(solver):
    oracle, lam = problem("tree-0")
    result = minimize(oracle, lam, solver=solver, tol=0.0, callback=lambda row: row.iteration >= 3)
    assert "callback" in result.message
    assert result.nit == 3


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_returns_the_last_iterate(solver):
    def interrupt(row):
        if row.iteration == 2:
            raise KeyboardInterrupt

    oracle, lam = problem("chain-3")
    result = minimize(oracle, lam, solver=solver, tol=0.0, callback=interrupt)
    assert "interrupted" in result.message
    assert result.nit == 2
    assert np.isfinite(result.fun)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_warm_start_needs_no_iterations(solver):
    oracle, lam = problem("chain-1")
    best = minimize(oracle, lam, tol=1e-8, max_iter=5000)
    again = minimize(oracle, lam, x0=best.x, solver=solver, tol=1e-5)
    assert again.success
    assert again.nit <= 1
