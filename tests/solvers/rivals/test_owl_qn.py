"""OWL-QN: directions, orthants, the line search, and the dense limit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rival_problems import problem

from proxqn.minimization import minimize
from proxqn.penalties import ElasticNet
from proxqn.problem import MeteredOracle, SparseVector
from proxqn.solvers.recording import Recorder
from proxqn.solvers.rivals.owl_qn import OWLQN, InverseBFGS, _lowest, _Run


def dense_inverse(pairs, n):
    """H by the textbook's product form, from the same scaled identity."""
    s, y = pairs[-1]
    H = (s @ y) / (y @ y) * np.eye(n)
    for s, y in pairs:
        rho = 1.0 / (s @ y)
        V = np.eye(n) - rho * np.outer(s, y)
        H = V @ H @ V.T + rho * np.outer(s, s)
    return H


@pytest.mark.parametrize("n_pairs", [1, 3, 6])
def test_two_loop_recursion_is_the_product_form(n_pairs):
    rng = np.random.default_rng(n_pairs)
    A = rng.normal(size=(8, 8))
    A = A @ A.T + np.eye(8)
    memory, pairs = InverseBFGS(4), []
    for _ in range(n_pairs):
        s = rng.normal(size=8)
        memory.append(s, A @ s)
        pairs.append((s, A @ s))
    v = rng.normal(size=8)
    assert len(memory) == min(n_pairs, 4)
    np.testing.assert_allclose(memory.times(v), dense_inverse(pairs[-4:], 8) @ v, rtol=1e-9)


def test_a_memory_of_one_pair_keeps_one():
    memory = InverseBFGS(1)
    for k in (1.0, 2.0, 3.0):
        memory.append(np.array([k, 0.0]), np.array([2.0 * k, 1.0]))
    assert len(memory) == 1


@pytest.mark.parametrize(("slope", "bend"), [(-2.0, 1.0), (-1.0, 5.0), (-3.0, 0.2)])
def test_the_parabola_of_a_trial(slope, bend):
    t = np.linspace(0.0, 20.0, 200_001)
    lowest = t[(slope * t + bend * t**2).argmin()]
    assert _lowest(slope, slope + bend) == pytest.approx(lowest, abs=2e-4)


def test_a_trial_without_a_parabola():
    assert _lowest(-1.0, -1.5) == np.inf  # falls faster than its slope
    assert _lowest(-1.0, np.inf) == _lowest(-1.0, np.nan) == 0.0


def test_directions_too_long_by_a_constant_cost_no_second_trials():
    """After a few searches the first trial is as long as the steps that were good."""
    oracle, lam = problem("chain-2")
    record = Recorder(MeteredOracle(oracle), ElasticNet(lam), tol=0.0, max_iter=25, callback=None)
    run = _Run(OWLQN(), record)
    direction = run._direction

    def doubled(pseudo):
        p = direction(pseudo)
        return None if p is None else 2.2 * p

    run._direction = doubled  # type: ignore[method-assign]
    rows = list(record.solution(run.solve, SparseVector.empty()).trace)
    assert len(rows) == 26
    assert sum(row.trials for row in rows[5:]) <= 1.15 * len(rows[5:])
    assert np.median([row.step for row in rows[5:]]) < 0.7


def test_pairs_without_positive_curvature_are_left_out():
    memory = InverseBFGS(4)
    memory.append(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    memory.append(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert len(memory) == 0


def test_spreading_keeps_products_on_known_entries():
    memory = InverseBFGS(3)
    memory.append(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    before = memory.times(np.array([1.0, -1.0]))
    memory.spread(np.array([0, -1, 1]))
    after = memory.times(np.array([1.0, 0.0, -1.0]))
    np.testing.assert_allclose(after[[0, 2]], before)
    assert after[1] == 0.0


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
    oracle, lam = problem("chain-1")
    record = Recorder(MeteredOracle(oracle), ElasticNet(lam), tol=0.0, max_iter=1, callback=None)
    run = _Run(OWLQN(), record)
    record.begin(SparseVector.empty())
    at, _ = record.look(-1.0, SparseVector.empty(), record.point.loss)
    # H maps the pseudo-gradient to something orthogonal to it, as Yu et al. construct.
    run.memory.times = lambda v: np.zeros_like(v)  # type: ignore[method-assign]
    run.memory._pairs = [(at.w, at.w, 1.0)]
    trial, event = run._iterate(at)
    assert trial is not None
    assert "nearly orthogonal" in event
    assert trial.objective < record.point.objective


@pytest.mark.parametrize("bad", [{"memory": 0}, {"sigma": 0.0}, {"beta": 1.0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        OWLQN(**bad)
