"""OWL-QN: directions, orthants, penalties that differ by weight, and the dense limit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rival_problems import problem

from proxqn.minimization import minimize
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.rivals.inverse_bfgs import InverseBFGS
from proxqn.solvers.rivals.owl_qn import OWLQN, Run
from proxqn.solvers.standing import Goal, Standing


class Doubled:
    """A memory whose directions are too long."""

    def __init__(self):
        inside = InverseBFGS(10)
        self.append, self.clear, self.spread = inside.append, inside.clear, inside.spread
        self.inside = inside

    def __len__(self):
        return len(self.inside)

    def times(self, v):
        return 2.2 * self.inside.times(v)


class Sideways:
    """A memory whose H maps to something orthogonal, as Yu et al. construct; once."""

    def __init__(self):
        self.n_pairs = 1

    def __len__(self):
        return self.n_pairs

    def clear(self):
        self.n_pairs = 0

    def times(self, v):
        return np.zeros_like(v)

    def append(self, s, y):
        pass


def run_with(memory, name, max_iter):
    oracle, lam = problem(name)
    standing = Standing(oracle, ElasticNet(lam), Goal(tol=0.0, max_iter=max_iter))
    run = Run(OWLQN(), standing, memory)
    return list(standing.solution(run.solve, SparseVector.empty()).trace)


def test_directions_too_long_by_a_constant_cost_no_second_trials():
    """After a few searches the first trial is as long as the steps that were good."""
    rows = run_with(Doubled(), "chain-2", 25)
    assert len(rows) == 26
    assert sum(row.trials for row in rows[5:]) <= 1.15 * len(rows[5:])
    assert np.median([row.step for row in rows[5:]]) < 0.7


def test_signs_change_only_through_zero():
    """A step never leaves its orthant, so no weight jumps from one sign to the other."""
    oracle, lam = problem("chain-1")
    for last in range(1, 25):
        before, after = (
            minimize(oracle, lam, solver="owl-qn", tol=0.0, max_iter=n).x.toarray()
            for n in (last - 1, last)
        )
        assert not np.any(before * after < 0.0)


def test_the_objective_never_rises():
    oracle, lam = problem("tree-2")
    f = minimize(oracle, lam, solver="owl-qn", tol=1e-8).trace.column("objective")
    assert np.all(np.diff(f) <= 1e-12 * f[0])


@pytest.mark.parametrize("name", ["chain-0", "chain-4", "tree-1"])
def test_beyond_the_dense_limit_the_optimum_is_the_same(name):
    oracle, lam = problem(name)
    dense = minimize(oracle, lam, solver=OWLQN(), tol=1e-7, max_iter=5000)
    sparse = minimize(oracle, lam, solver=OWLQN(dense_limit=0), tol=1e-7, max_iter=5000)
    assert dense.success
    assert sparse.success
    assert sparse.fun == pytest.approx(dense.fun, rel=1e-6)
    assert max(row.working_set for row in sparse.trace) < oracle.n_coordinates


def test_a_rejected_direction_clears_the_memory_and_says_so():
    """A loss that lies about its gradient once: the line search fails and starts afresh."""
    calls = 0

    def fun(w):
        nonlocal calls
        calls += 1
        value = 0.5 * float(w @ (np.array([1.0, 30.0]) * w)) - w.sum()
        gradient = np.array([1.0, 30.0]) * w - 1.0
        return value, gradient

    result = minimize(fun, 0.01, x0=np.array([5.0, -3.0]), solver="owl-qn", tol=1e-8)
    assert result.success
    np.testing.assert_allclose(result.x, [0.99, 0.99 / 30.0], atol=1e-6)


def test_steepest_descent_follows_a_direction_that_turns_away():
    before, after = run_with(Sideways(), "chain-1", 1)
    assert "nearly orthogonal" in after.event
    assert after.objective < before.objective


@pytest.mark.parametrize("dense_limit", [0, 20_000_000])
@pytest.mark.parametrize("free", [0.0, 0.3])
def test_lambda_and_ridge_may_differ_by_weight(dense_limit, free):
    oracle, lam = problem("chain-1")
    n, rng = oracle.n_coordinates, np.random.default_rng(0)
    own = lam * rng.uniform(0.2, 2.0, n) * (rng.random(n) >= free)
    penalty = Separable(own, np.where(np.arange(n) % 3, 0.0, 2.0))
    best = minimize(oracle, penalty=penalty, tol=1e-9, max_iter=3000)
    result = minimize(
        oracle, penalty=penalty, solver=OWLQN(dense_limit=dense_limit), tol=1e-7, max_iter=5000
    )
    assert best.success
    assert result.success
    assert result.fun == pytest.approx(best.fun, rel=1e-6)


@pytest.mark.parametrize("upper", [2.0, "each its own"])
def test_bounds_are_refused(upper):
    oracle, lam = problem("chain-1")
    bound = np.linspace(0.0, 1.0, oracle.n_coordinates) if upper == "each its own" else upper
    with pytest.raises(ValueError, match=r"'owl-qn' expects weights without bounds; got Separable"):
        minimize(oracle, penalty=Separable(lam, upper=bound), solver="owl-qn")


def test_infinite_bounds_are_none():
    oracle, lam = problem("chain-1")
    unbounded = Separable(lam, upper=np.full(oracle.n_coordinates, np.inf))
    assert minimize(oracle, penalty=unbounded, solver="owl-qn", tol=1e-3).success


@pytest.mark.parametrize("bad", [{"memory": 0}, {"sigma": 0.0}, {"beta": 1.0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        OWLQN(**bad)
