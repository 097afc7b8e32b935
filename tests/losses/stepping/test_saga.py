"""Stochastic steps with a memory of gradients: those of the reference, under every penalty."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import random_chain
from tests.rival_problems import small_tree

from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.stepping.saga import TEST_EVERY
from proxqn.losses.stepping.saga_reference import ReferenceSaga
from proxqn.minimization import minimize
from proxqn.path import lambda_max
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.sparse import SparseVector


def weighted_chain(**options):
    problem = random_chain(
        3, n_labels=5, n_features=20, n_sequences=60, density=0.2, binary=False
    ).with_weights(1)
    return problem.oracle(**options)


ORACLES = {
    "chain": lambda **o: random_chain(1, n_labels=4, n_features=15, n_sequences=50).oracle(**o),
    "weighted chain": weighted_chain,
    "observed pairs": lambda **o: random_chain(
        2, n_labels=9, n_features=30, n_sequences=50, density=0.1
    ).oracle(pairs=Pairs.OBSERVED, **o),
    "tree": lambda **o: small_tree(1, **o),
}


def each(n):
    """A penalty with numbers of its own for each weight."""
    random = np.random.default_rng(0)
    lower = np.where(np.arange(n) % 3 == 0, 0.0, -np.inf)
    lam, l2 = random.uniform(0.1, 1.0, n), random.uniform(0.0, 0.5, n)
    return Separable(lam, l2, lower, np.full(n, 0.4))


PENALTIES = {
    "lasso": lambda n: ElasticNet(0.2),
    "net": lambda n: ElasticNet(0.1, 0.3),
    "each": each,
}


def reference(oracle, steps, penalty):
    """The same blocks and rates, gradients from the oracle restricted to a block."""
    blocks, size, n = steps.blocks, steps.reach.size, oracle.n_coordinates
    parts = [oracle.restrict(np.arange(*blocks.start[b : b + 2])) for b in range(len(blocks))]

    def evaluate(block, w):
        point = parts[block].at(SparseVector.of_dense(w))
        return point.value, point.gradient(np.arange(n))

    rate, share = np.zeros(n), np.ones(n)
    columns = steps.reach.columns
    row = np.full(-(-n // size), -1)
    row[columns] = np.arange(len(columns))
    known = row[np.arange(n) // size] >= 0
    rate[known], share[known] = np.repeat(steps.rate, size), np.repeat(steps.share, size)
    tested = np.arange(n) // size < steps.reach.n_columns
    touched = np.zeros((len(blocks), len(row)), dtype=bool)
    for b in range(len(blocks)):
        touched[b, steps.reach.kept[blocks.kernel.columns_of(b)]] = True
    touched[:, steps.reach.n_columns :] = True
    touched = np.repeat(touched, size, axis=1)[:, :n] & admitted(oracle) & known
    return ReferenceSaga(evaluate, penalty, touched, tested & known, rate, share)


def admitted(oracle):
    """Which coordinates the model has."""
    keep = np.arange(oracle.n_coordinates)
    data = getattr(oracle, "_model", None)
    if data is None or data.pairs is None:
        return np.ones(len(keep), dtype=bool)
    start, labels = data.pairs
    found = np.zeros((len(start) - 1, data.n_labels), dtype=bool)
    found[np.repeat(np.arange(len(found)), np.diff(start)), labels] = True
    return np.concatenate([found.ravel(), data.admitted.ravel()])


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("name", ORACLES)
def test_steps_are_those_of_the_reference(name, penalty):
    oracle = ORACLES[name]()
    penalty = PENALTIES[penalty](oracle.n_coordinates)
    steps = oracle.stochastic(penalty).begin()
    truth = reference(oracle, steps, penalty)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(steps.blocks))
        assert steps.epoch(seed) == pytest.approx(truth.visit(order, TEST_EVERY), rel=1e-5)
        assert steps.caution == pytest.approx(truth.caution)
        found = steps.weights().dense(oracle.n_coordinates)
        np.testing.assert_allclose(found, truth.weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ORACLES)
def test_many_epochs_reach_the_optimum(name):
    oracle = ORACLES[name]()
    lam = 0.05 * lambda_max(oracle)
    best = minimize(oracle, lam, tol=1e-9).fun
    steps = oracle.stochastic(ElasticNet(lam)).begin()
    for seed in range(150):
        steps.epoch(seed)
    weights = steps.weights()
    objective = oracle.at(weights).value + lam * np.abs(weights.values).sum()
    assert objective <= best * (1 + 1e-3)


def test_the_number_of_threads_changes_no_bit():
    problem = random_chain(
        5, n_labels=40, n_features=200, n_sequences=5000, max_length=9, density=0.05
    )
    found = []
    for n_jobs in (1, 3):
        steps = problem.oracle(n_jobs=n_jobs).stochastic(ElasticNet(1.0)).begin()
        assert len(steps.blocks) < 4000  # several sequences each
        found.append((steps.epoch(0), steps.epoch(1), steps.weights()))
    (one, more) = found
    assert one[:2] == more[:2]
    assert np.array_equal(one[2].coordinates, more[2].coordinates)
    assert np.array_equal(one[2].values, more[2].values)


def test_columns_that_lam_rules_out_have_no_weights():
    oracle = random_chain(1, n_labels=3, n_features=40, n_sequences=30, density=0.1).oracle()
    sizes = np.diff(oracle.data.start)
    lam = float(np.median(sizes))
    steps = oracle.stochastic(ElasticNet(lam)).begin()
    assert 0 < len(steps.reach.kept) < oracle.data.n_columns
    assert (sizes[steps.reach.kept] > lam).all()
    assert (
        len(
            oracle.stochastic(Separable(np.r_[0.0, np.full(oracle.n_coordinates - 1, lam)]))
            .begin()
            .reach.kept
        )
        == oracle.data.n_columns
    )


def test_dense_weights_do_not_outgrow_the_data():
    problem = random_chain(1, n_labels=3, n_features=2000, n_sequences=30, density=0.001)
    many_labels = type(problem)(problem.X, problem.labels, problem.lengths, 300)
    assert many_labels.oracle().stochastic(ElasticNet(0.01)) is None
    assert problem.oracle(pairs=Pairs.ALL).stochastic(ElasticNet(1e9)) is not None


def test_dense_columns_have_none():
    problem = random_chain(1, n_labels=3, n_features=5, n_sequences=30)
    X = np.random.default_rng(0).normal(size=problem.X.shape)
    oracle = type(problem)(X, problem.labels, problem.lengths, 3).oracle()
    assert oracle.data.dense is not None
    assert oracle.stochastic(ElasticNet(0.1)) is None


def test_rates_are_those_of_the_formula():
    """In NumPy, of all entries at once; values and weights of the samples take part."""
    oracle = weighted_chain()
    steps = oracle.stochastic(ElasticNet(1e-6)).begin()
    problem = random_chain(3, n_labels=5, n_features=20, n_sequences=60, density=0.2, binary=False)
    problem = problem.with_weights(1)
    X = np.abs(problem.X.toarray())[:, oracle.data.columns]
    weight = np.repeat(problem.weight, problem.lengths)
    block = np.repeat(np.searchsorted(steps.blocks.start, np.arange(60), "right"), problem.lengths)
    n_c = np.array([len(np.unique(block[x > 0])) for x in X.T], dtype=float)
    u = n_c**-0.15
    terms = X * (weight * (X @ u))[:, np.newaxis] / u
    h = np.stack([np.bincount(block, x, len(steps.blocks) + 1) for x in terms.T])
    typical = 0.25 * (h**2).sum(axis=1) / h.sum(axis=1)
    np.testing.assert_allclose(steps.rate[: len(u)], 1.0 / ((3.0 - 2.0 / n_c) * typical))
    np.testing.assert_allclose(steps.share[: len(u)], 1.0 / n_c)
