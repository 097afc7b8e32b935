"""Features of any scale: the same optimum in about as many passes; ``make scale`` has the table."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.scale import PLAIN, TOL, compare, problems, variants
from sklearn.exceptions import ConvergenceWarning

from proxqn import ChainCRF, HierarchicalClassifier, minimize
from proxqn.run.watch import Watcher

SEED = 3
PROBLEMS = {problem.name: problem for problem in problems(SEED)}
SCALED = ["× 1e-8", "× 1e4", "× 1e8", "years", "timestamps"]


@pytest.mark.parametrize(
    ("name", "variant"),
    [("lattice, tokens", "× 1e4")]
    + [(p, v) for p in ("chain", "tree", "logistic", "least squares") for v in SCALED],
)
def test_a_column_of_any_size_costs_no_more_than_twice_the_passes(name, variant):
    problem = PROBLEMS[name]
    X, size = {v: rest for v, *rest in variants(problem.X)}[variant]
    outcome = compare(problem, X, size, most=100)
    assert outcome.status in {"ESTIMATE", "GAP"}
    assert outcome.error < 1e-6
    assert outcome.passes <= 2 * outcome.against + 2


@pytest.mark.parametrize("name", ["chain", "tree", "logistic", "least squares"])
@pytest.mark.parametrize("variant", ["value 1e+03", "value -1e+06"])
def test_an_outlier_does_not_hide_the_optimum(name, variant):
    problem = PROBLEMS[name]
    X, size = {v: rest for v, *rest in variants(problem.X)}[variant]
    assert compare(problem, X, size, most=100).error < 1e-6


@pytest.mark.parametrize("estimator", [ChainCRF, HierarchicalClassifier])
@pytest.mark.parametrize("factor", [1e-300, 1e153, 1e300])
def test_estimators_take_the_largest_numbers_without_a_warning(estimator, factor):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, "a", "b")
    more = {"lengths": [10] * 6} if estimator is ChainCRF else {}
    model = estimator(lam=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X * [factor, 1.0, 1.0], y, **more)
        scores = model.predict(X * [factor, 1.0, 1.0], **more)
    if factor > 1.0:  # next to no penalty
        assert np.mean(np.concatenate([np.atleast_1d(s) for s in scores]) == y) > 0.8


def test_values_beside_which_others_vanish_end_in_no_claim():
    problem = PROBLEMS["chain"]
    X = problem.X.copy()
    X[7, 0] = 1e300
    oracle = problem.oracle(X)
    result = minimize(oracle, 1.0, x0=np.zeros(oracle.n_coordinates), max_iter=60)
    assert not result.success
    assert np.isfinite(result.fun)


@pytest.mark.parametrize("value", [1e13, 1e17, -1e20, 1e100])
def test_a_sentinel_among_ones_is_no_reason_to_claim_an_optimum(value):
    rng = np.random.default_rng(0)
    X = [[{"a": float(rng.normal()), "h": 1.0} for _ in range(4)] for _ in range(50)]
    y = [["P" if token["a"] + rng.normal() > 0 else "N" for token in sentence] for sentence in X]
    X[7][2]["h"] = 1e3
    best = ChainCRF(lam=0.1).fit(X, y).objective_  # the weight of h is next to 0 whatever it is
    X[7][2]["h"] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = ChainCRF(lam=0.1, max_iter=100).fit(X, y)
    assert found.objective_ < 1.01 * best or not found.result_.success


class Seen(Watcher):
    """Keeps the weights it is shown."""

    def see(self, iterate):
        self.weights, self.row = iterate.weights, iterate.row

    def __call__(self, row):
        return None


@pytest.mark.parametrize("name", ["chain", "logistic"])
def test_callbacks_results_and_starts_are_in_the_users_variables(name):
    problem = PROBLEMS[name]
    X = problem.X * np.append(2.0**20, np.ones(9))
    oracle, seen = problem.oracle(X), Seen()
    n = oracle.n_coordinates
    result = minimize(oracle, 1.0, x0=np.zeros(n), tol=1e-6, callback=seen)
    np.testing.assert_array_equal(seen.weights.values, result.weights.values)
    w = result.weights
    f = oracle.at(w).value + np.abs(w.values).sum()
    assert f == pytest.approx(result.fun, rel=1e-12)
    assert "kkt is of those" in result.message
    again = minimize(oracle, 1.0, x0=w.dense(n), max_iter=0)
    assert again.fun == pytest.approx(result.fun, rel=1e-12)
    if result.gap_box < result.gap:
        assert result.box == pytest.approx(2 * np.abs(w.values).max())


def test_a_function_is_asked_once_more_and_each_time_counts():
    problem, calls = PROBLEMS["least squares"], []
    X = problem.X * np.append(1e6, np.ones(9))

    def loss(w):
        calls.append(w.copy())
        r = X @ w - 1.0
        return 0.5 * float(r @ r), X.T @ r

    result = minimize(loss, 1.0, x0=np.zeros(10), tol=TOL)
    assert result.nfev == len(calls)
    assert result.nfev < 30 < minimize(loss, 1.0, x0=np.zeros(10), tol=TOL, solver=PLAIN).nfev


@pytest.mark.parametrize("value", [1e9, -1e12])
def test_the_objective_is_that_of_the_weights_whatever_the_outlier(value):
    X = PROBLEMS["chain, sparse"].X.copy()
    X[7, 0] = value
    oracle = PROBLEMS["chain, sparse"].oracle(X)
    result = minimize(oracle, 1.0, x0=np.zeros(oracle.n_coordinates), tol=TOL, max_iter=80)
    w = result.weights
    reached = oracle.at(w).value + np.abs(w.values).sum()
    assert result.fun == pytest.approx(reached, rel=1e-9)
