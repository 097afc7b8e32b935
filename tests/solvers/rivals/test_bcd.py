"""BCD: block derivatives against the oracle, exact states after many moves, and its exits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.problems import dense, full_gradient, go_to, random_chain, random_weights
from tests.rival_problems import PROBLEMS, problem, small_chain

from proxqn.losses.chain.oracle import Pairs
from proxqn.minimization import minimize
from proxqn.path import lambda_max
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.sparse import SparseVector
from proxqn.problem.stepwise import BlockRule
from proxqn.run.status import Status
from proxqn.solvers.rivals.bcd import BCD


def rule(lam, l2=0.0, **changes):
    settings = {"sigma": 0.01, "beta": 0.5, "floor": 1e-10, "max_trials": 40} | changes
    return BlockRule(lam, l2, **settings)


@pytest.mark.parametrize("name", PROBLEMS)
def test_violations_are_those_of_the_oracle(name):
    """With no trial allowed nothing moves, and a pass reports every block's subgradient."""
    oracle, lam = problem(name)
    start = random_weights(oracle, 5, scale=0.3)
    admitted = go_to(oracle, SparseVector.empty()).sweep(0.0).gradient.coordinates
    keep = np.isin(start.coordinates, admitted)
    start = SparseVector(start.coordinates[keep], start.values[keep])
    blocks = oracle.blocks()
    blocks.restart(start)
    everything = np.arange(len(blocks.sizes))
    found = blocks.descend(everything, rule(lam, max_trials=0), budget=10**9)
    point = go_to(oracle, start)
    assert blocks.loss() == pytest.approx(point.value, rel=1e-12)
    w, g = dense(start, oracle.n_coordinates), full_gradient(point, oracle.n_coordinates)
    everywhere = np.arange(len(w))
    inside = np.isin(everywhere, admitted)
    smallest = ElasticNet(lam).on(everywhere).min_norm_subgradient(w, g)
    subgradient = np.where(inside, np.abs(smallest), 0.0)
    bounds = np.concatenate([[0], np.cumsum(blocks.sizes)])
    expected = [subgradient[a:b].max() for a, b in itertools.pairwise(bounds)]
    np.testing.assert_allclose(found.violation, expected, atol=1e-9)
    np.testing.assert_array_equal(blocks.weights().values, start.values)


@pytest.mark.parametrize("name", PROBLEMS)
def test_scores_and_losses_stay_exact_over_many_moves(name):
    oracle, lam = problem(name)
    blocks = oracle.blocks()
    blocks.restart(SparseVector.empty())
    everything = np.arange(len(blocks.sizes))
    values = [np.inf]
    for _ in range(20):
        blocks.descend(everything, rule(lam), budget=10**9)
        w = blocks.weights()
        assert blocks.loss() == pytest.approx(go_to(oracle, w).value, rel=1e-11)
        values.append(blocks.loss() + ElasticNet(lam).value(w))
    assert np.all(np.diff(values) <= 1e-12 * values[1])


@pytest.mark.parametrize("n_labels", [2, 9, 20, 35])
def test_one_block_by_hand(n_labels):
    """d = S(hw - g, λ)/h - w with h = Σ x² P(1-P), from brute marginals of a flat chain."""
    data = random_chain(n_labels, n_labels=n_labels, lengths=np.ones(40), binary=False)
    oracle, lam = data.oracle(), 0.2
    blocks = oracle.blocks()
    start = random_weights(oracle, 3, scale=0.1)
    start = SparseVector(*(v[start.coordinates < 2 * n_labels] for v in _both(start)))
    blocks.restart(start)
    blocks.descend(np.array([1]), rule(lam), budget=10**9)
    X, w = data.X.toarray(), dense(start, oracle.n_coordinates)
    theta = w[: X.shape[1] * n_labels].reshape(X.shape[1], n_labels)
    scores = X @ theta
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    x = X[:, [1]]
    g = (x * (P - np.eye(n_labels)[data.labels])).sum(axis=0)
    h = (x**2 * P * (1 - P)).sum(axis=0)
    target = np.sign(h * theta[1] - g) * np.maximum(np.abs(h * theta[1] - g) - lam, 0) / h
    moved = dense(blocks.weights(), oracle.n_coordinates)[n_labels : 2 * n_labels]
    ratio = (moved - theta[1]) / np.where(target == theta[1], 1.0, target - theta[1])
    alphas = ratio[target != theta[1]]
    np.testing.assert_allclose(alphas, alphas[0], rtol=1e-8)
    assert np.log2(alphas[0]) == pytest.approx(round(np.log2(alphas[0])), abs=1e-7)


def _both(vector):
    return vector.coordinates, vector.values


def test_blocks_at_rest_need_no_inference():
    oracle, lam = problem("chain-1")
    blocks = oracle.blocks()
    blocks.restart(SparseVector.empty())
    huge = rule(1e6)
    everything = np.arange(len(blocks.sizes))
    blocks.descend(everything[:-1], huge, budget=10**9)
    again = blocks.descend(everything[:-1], huge, budget=10**9)
    assert again.forward == again.backward == 0
    del lam


def test_the_budget_ends_a_pass_early():
    oracle, lam = problem("chain-1")
    blocks = oracle.blocks()
    blocks.restart(SparseVector.empty())
    everything = np.arange(len(blocks.sizes))
    found = blocks.descend(everything, rule(lam), budget=1)
    assert len(found) < len(everything)
    assert found.forward >= 1


def test_shrinking_leaves_blocks_out_and_brings_them_back():
    oracle = random_chain(1, n_features=60, n_sequences=40).oracle()
    result = minimize(oracle, 0.5 * lambda_max(oracle), solver="bcd", tol=1e-9, max_iter=500)
    sizes = [row.working_set for row in result.trace if row.iteration > 0 and not row.certified]
    assert sizes[0] == oracle.n_coordinates
    assert min(sizes) < oracle.n_coordinates
    assert result.trace[-1].epoch >= 2


def test_a_tiny_second_derivative_is_floored():
    """Almost certain predictions: without the floor the step would be of size 1e10 and more."""
    data = random_chain(2, n_labels=2, n_features=2, n_sequences=5, binary=False)
    oracle = data.oracle()
    start = SparseVector(np.arange(4), np.array([60.0, -60.0, 50.0, -50.0]))
    result = minimize(
        oracle, 0.1, x0=_sparse_array(start, oracle.n_coordinates), solver="bcd", tol=1e-6
    )
    assert result.success
    assert np.abs(result.x.toarray()).max() < 1e3


def _sparse_array(v, n):
    import scipy.sparse as sp

    return sp.coo_array((v.values, (v.coordinates,)), shape=(n,))


def test_observed_pairs_only():
    oracle = small_chain(4)
    assert oracle.n_parameters < oracle.n_coordinates
    result = minimize(oracle, 1.0, solver="bcd", tol=1e-7)
    best = minimize(oracle, 1.0, tol=1e-8)
    assert result.fun == pytest.approx(best.fun, rel=1e-6)


def test_scores_too_large_for_the_scaled_recursion():
    data = random_chain(7, n_labels=3, n_features=4, n_sequences=6)
    oracle = data.oracle(pairs=Pairs.ALL)
    start = SparseVector(np.array([0, 1, 5]), np.array([900.0, -900.0, 700.0]))
    blocks = oracle.blocks()
    blocks.restart(start)
    assert blocks.loss() == pytest.approx(go_to(oracle, start).value, rel=1e-12)
    x0 = _sparse_array(start, oracle.n_coordinates)
    result = minimize(oracle, 0.5, x0=x0, solver=BCD(), tol=1e-6, max_iter=2000)
    assert result.fun == pytest.approx(minimize(oracle, 0.5, tol=1e-8).fun, rel=1e-5)


def test_nothing_to_gain_is_reported():
    oracle, _ = problem("chain-1")
    result = minimize(oracle, 1e6, solver="bcd", tol=0.0)
    assert result.status in (Status.GAP, Status.STALLED)
    assert result.nnz == 0


def test_a_function_lacks_blocks():
    with pytest.raises(TypeError, match=r"FunctionOracle.*abilities\.Blocks.*Missing: blocks\(\)"):
        minimize(lambda w: (float(w @ w), 2 * w), 1.0, x0=np.ones(2), solver="bcd")


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"lam": [1.0, 2.0]}, r"its own for each weight \(lam\)"),
        ({"lam": 1.0, "l2": [0.0, 2.0]}, r"its own for each weight \(l2\)"),
        ({"lam": 1.0, "upper": [1.0, 2.0]}, r"its own for each weight \(upper\)"),
        ({"lam": 1.0, "lower": 0.0}, r"Separable with bounds"),
    ],
)
@pytest.mark.parametrize("solver", ["bcd", "sgd"])
def test_penalties_that_differ_by_weight_are_refused(solver, numbers, words):
    n = small_chain(1).n_coordinates
    given = {k: np.resize(v, n) if isinstance(v, list) else v for k, v in numbers.items()}
    with pytest.raises(ValueError, match=rf"solver '{solver}' expects one lam.*{words}.*prox-gd"):
        minimize(small_chain(1), penalty=Separable(**given), solver=solver)


@pytest.mark.parametrize("solver", ["bcd", "sgd"])
def test_a_separable_penalty_that_is_the_same_everywhere_is_an_elastic_net(solver):
    oracle, lam = problem("chain-1")
    one, other = (
        minimize(oracle, penalty=penalty, solver=solver, tol=0.0, max_iter=5)
        for penalty in (Separable(lam, 0.5), ElasticNet(lam, 0.5))
    )
    assert one.fun == other.fun


@pytest.mark.parametrize("bad", [{"cooling": 1.0}, {"floor": 0.0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        BCD(**bad)
