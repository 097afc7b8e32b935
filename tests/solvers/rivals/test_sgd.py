"""SGD against a plain, slow transcription of Tsuruoka et al.'s algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems import dense, full_gradient, go_to, random_chain, sparse
from tests.rival_problems import problem, small_chain, small_tree

from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.minimization import minimize
from proxqn.path import lambda_max
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.rivals.sgd import SGD


def tsuruoka(single, order, n, rate, lam, l2=0.0, shares=None, n_columns_weights=0):
    """Figure 2 of the paper, every weight penalised in every step, no laziness.

    ``single[i]`` is the oracle of sample i alone. Of the ridge, sample i has ``shares[i]``, and
    steps on it implicitly: on the weights of its features before its gradient is taken, on the
    transitions, which come after ``n_columns_weights``, with its gradient.
    """
    d = single[0].n_coordinates
    w, q, u = np.zeros(d), np.zeros(d), 0.0
    for k, i in enumerate(order):
        eta = rate / (1.0 + k / n)
        u += eta * lam / n
        pull = np.ones(d) if shares is None else 1.0 + eta * l2 * shares[i]
        w[:n_columns_weights] /= pull[:n_columns_weights]
        point = go_to(single[i], sparse(w))
        w[n_columns_weights:] /= pull[n_columns_weights:]
        w -= eta * full_gradient(point, d)
        before = w.copy()
        w = np.where(w > 0, np.maximum(0.0, w - (u + q)), np.minimum(0.0, w + (u - q)))
        q += w - before
    return w


def one_sequence_oracles(data):
    ends = np.cumsum(data.lengths)
    weight = data.weight
    return [
        ChainOracle(
            sp.csr_array(_with_all_columns(data.X, end - n, end)),
            data.labels[end - n : end],
            np.array([n]),
            n_labels=data.n_labels,
            sample_weight=weight[[i]],
        )
        for i, (n, end) in enumerate(zip(data.lengths, ends, strict=True))
    ]


def _with_all_columns(X, first, last):
    """Rows of one sequence with explicit zeros, so that every column keeps its number."""
    rows = X.toarray()[first:last]
    indptr = np.arange(last - first + 1) * X.shape[1]
    indices = np.tile(np.arange(X.shape[1]), last - first)
    return sp.csr_array((rows.ravel(), indices, indptr), shape=rows.shape)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_labels", [2, 3, 9, 20, 30, 35])  # 1 to 5 registers of labels
def test_lazy_steps_equal_the_transcription_on_chains(n_labels, weighted):
    data = random_chain(n_labels, n_labels=n_labels, n_features=5, binary=n_labels % 2 == 0)
    data = data.with_weights() if weighted else data
    oracle = data.oracle()
    n, lam = oracle.n_samples, 2.0
    order = np.random.default_rng(1).integers(0, n, 5 * n)
    samples = oracle.samples()
    samples.restart(SparseVector.empty())
    samples.descend(order[:17], rate=0.3, lam=lam)
    samples.descend(order[17:], rate=0.3, lam=lam)
    expected = tsuruoka(one_sequence_oracles(data), order, n, 0.3, lam)
    w = samples.weights()
    np.testing.assert_allclose(dense(w, oracle.n_coordinates), expected, atol=1e-10)
    assert 0 < len(w.values) < oracle.n_coordinates
    everything = np.arange(n)
    assert samples.loss(everything) == pytest.approx(go_to(oracle, w).value, rel=1e-12)


def test_lazy_steps_equal_the_transcription_on_trees():
    oracle = small_tree(1)
    single = [oracle.restrict(np.array([i])) for i in range(oracle.n_samples)]
    order = np.random.default_rng(2).permutation(oracle.n_samples)
    samples = oracle.samples()
    samples.restart(SparseVector.empty())
    samples.descend(order, rate=0.5, lam=3.0)
    expected = tsuruoka(single, order, oracle.n_samples, 0.5, 3.0)
    w = samples.weights()
    np.testing.assert_allclose(dense(w, oracle.n_coordinates), expected, atol=1e-10)
    assert samples.loss(order) == pytest.approx(go_to(oracle, w).value, rel=1e-12)


def test_weights_outside_the_model_stay_zero():
    data = random_chain(3, n_labels=5, n_features=8, n_sequences=9)
    oracle = data.oracle(pairs=Pairs.OBSERVED)
    samples = oracle.samples()
    samples.restart(SparseVector.empty())
    samples.descend(np.arange(9), rate=0.1, lam=0.01)
    admitted = go_to(oracle, SparseVector.empty()).sweep(0.0).gradient.coordinates
    assert np.isin(samples.weights().coordinates, admitted).all()


def test_scores_too_large_for_the_scaled_recursion():
    oracle = small_chain(1)
    w = SparseVector(np.arange(4), np.array([900.0, -800.0, 500.0, -900.0]))
    samples = oracle.samples()
    samples.restart(w)
    assert samples.loss(np.arange(oracle.n_samples)) == pytest.approx(
        go_to(oracle, w).value, rel=1e-12
    )
    samples.descend(np.arange(oracle.n_samples), rate=0.01, lam=1.0)
    assert np.isfinite(samples.weights().values).all()


def test_restarting_forgets_steps_and_penalties():
    oracle, lam = problem("chain-2")
    samples, order = oracle.samples(), np.arange(oracle.n_samples)
    results = []
    for _ in range(2):
        samples.restart(SparseVector.empty())
        samples.descend(order, rate=0.1, lam=lam)
        results.append(samples.weights())
    np.testing.assert_array_equal(results[0].values, results[1].values)


def test_the_seed_decides_the_run():
    oracle, lam = problem("tree-1")
    first, same, other = (
        minimize(oracle, lam, solver=SGD(rate=0.1, seed=seed), tol=0.0, max_iter=3).fun
        for seed in (0, 0, 1)
    )
    assert first == same != other


def test_a_pass_counts_as_one_forward_and_one_backward_pass():
    oracle, lam = problem("chain-1")
    result = minimize(oracle, lam, solver=SGD(rate=0.1), tol=0.0, max_iter=7)
    counts = np.diff(result.trace.column("n_forward"))
    np.testing.assert_array_equal(counts, 1.0)
    assert "evaluation" in result.trace[-1].phase_seconds
    assert result.trace[-1].step == pytest.approx(0.1 / 7)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_chosen_rate_follows_the_scale_of_the_data(scale):
    """With c·X and c·λ the weights are 1/c of what they were: no fixed rate suits all."""
    data = random_chain(5, n_features=10, n_sequences=50)
    data = replace(data, X=data.X * scale, lengths=np.ones(len(data.labels), dtype=np.int64))
    oracle = data.oracle()
    lam = 0.1 * lambda_max(oracle)
    best = minimize(oracle, lam, tol=1e-6, max_iter=5000).fun
    assert minimize(oracle, lam, solver="sgd", tol=1e-3, max_iter=500).fun < 1.05 * best


def test_divergence_is_an_error_that_names_the_rate():
    """Values near the largest double: the first step overflows."""
    data = random_chain(1, n_features=4)
    oracle = replace(data, X=data.X * 1e200).oracle()
    with pytest.raises(FloatingPointError, match=r"SGD diverged.*rate=1e\+150"):
        minimize(oracle, 1.0, solver=SGD(rate=1e150), max_iter=20)


@pytest.mark.parametrize("bad", [{"rate": 0.0}, {"rate": np.nan}, {"subsample": 0}])
def test_settings_that_cannot_work_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        SGD(**bad)


@pytest.mark.parametrize("n_labels", [3, 20, 35])
def test_lazy_steps_with_a_ridge_equal_the_transcription_on_chains(n_labels):
    data = random_chain(n_labels, n_labels=n_labels, n_features=5, binary=n_labels % 2 == 0)
    oracle = data.with_weights().oracle()
    n, lam, l2, L = oracle.n_samples, 0.5, 3.0, n_labels
    order = np.random.default_rng(1).integers(0, n, 5 * n)
    samples = oracle.samples()
    samples.restart(SparseVector.empty())
    samples.descend(order[:17], rate=0.3, lam=lam, l2=l2)
    samples.descend(order[17:], rate=0.3, lam=lam, l2=l2)
    used = np.add.reduceat(data.X.toarray() != 0, np.cumsum(data.lengths) - data.lengths) > 0
    shares = np.repeat(used / used.sum(axis=0), L, axis=1)  # [samples, weights of features]
    shares = np.hstack([shares, np.full((n, L * L), 1.0 / n)])
    expected = tsuruoka(
        one_sequence_oracles(data.with_weights()), order, n, 0.3, lam, l2, shares, 5 * L
    )
    assert shares.sum(axis=0) == pytest.approx(1.0)  # together, the whole ridge
    np.testing.assert_allclose(dense(samples.weights(), oracle.n_coordinates), expected, atol=1e-10)


@pytest.mark.parametrize("l2", [0.3, 30.0, 1e9])
@pytest.mark.parametrize("name", ["chain-1", "chain-3", "tree-1", "tree-2"])
def test_a_ridge_term_gives_the_same_optimum(name, l2):
    oracle, lam = problem(name)
    best = minimize(oracle, lam, l2=l2, tol=1e-8, max_iter=5000)
    result = minimize(oracle, lam, l2=l2, solver="sgd", tol=1e-2, max_iter=2000)
    assert best.fun * (1 - 1e-7) <= result.fun <= best.fun * 1.01


def test_a_function_lacks_samples():
    with pytest.raises(TypeError, match=r"FunctionOracle.*abilities\.Steps.*Missing: samples\(\)"):
        minimize(lambda w: (float(w @ w), 2 * w), 1.0, x0=np.ones(2), solver="sgd")
