"""Curvature from forks: nearly the Hessian where all are rows, in the mean where they are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.chain.test_draws import hessian
from tests.problems import go_to, random_chain, random_weights

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.chain.draws import Forking, least_weight
from proxqn.losses.chain.weights import SplitWeights


def forks(oracle, w, how, *, traced=True):
    """Return the forks at some weights, as the passes of a point ask for them."""
    passes, split = go_to(oracle, w)._passes, SplitWeights.of
    weights = split(w, oracle.n_coordinates - oracle.n_labels**2, oracle.n_labels)
    passes.put(weights)
    found = passes.scores.fork(weights.transitions, how, traced=traced)
    return passes, found


def matrix(oracle, w, how):
    """Return J on all coordinates, and the forks."""
    passes, found = forks(oracle, w, how)
    n_states = oracle.n_coordinates - oracle.n_labels**2
    pairs = np.arange(oracle.n_labels**2)
    columns = passes.scores.drawn_columns(np.arange(n_states), pairs, found)
    shape = columns.n_rows, oracle.n_coordinates
    return sp.csc_array((columns.value, columns.row, columns.start), shape=shape).toarray(), found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_all_forks_are_the_hessian(weighted, scale):
    """But for what two labels lead to that is nearly the same."""
    problem = random_chain(3, n_labels=4, n_features=4, n_sequences=12, max_length=6)
    problem = problem.with_weights(1) if weighted else problem
    oracle = problem.oracle()
    w = random_weights(oracle, 2, scale=scale)
    expected = hessian(oracle, w)
    J, found = matrix(oracle, w, Forking(1e-7, 1.0, 0))
    np.testing.assert_allclose(J.T @ J, expected, atol=0.03 * np.abs(expected).max())
    assert found.known > 10.0


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_some_forks_are_the_hessian_in_the_mean(share):
    problem = random_chain(3, n_labels=4, n_features=4, n_sequences=12, max_length=6)
    oracle = problem.oracle()
    w = random_weights(oracle, 2)
    all_of_it = matrix(oracle, w, Forking(1e-7, 1.0, 0))[0]
    expected, total, n = all_of_it.T @ all_of_it, 0.0, 400
    for seed in range(n):
        J = matrix(oracle, w, Forking(0.3, share, seed))[0]
        total += J.T @ J
    np.testing.assert_allclose(total / n, expected, atol=0.08 * np.abs(expected).max())


@given(
    seed=st.integers(0, 2**32),
    n_labels=st.integers(1, 9),
    n_sequences=st.integers(1, 12),
    least=st.sampled_from([1e-3, 0.02, 0.2, 1.0]),
    share=st.sampled_from([1.0, 0.6]),
)
def test_reference_finds_the_same(seed, n_labels, n_sequences, least, share):
    problem = random_chain(seed, n_labels=n_labels, n_sequences=n_sequences).with_weights(seed)
    how, found = Forking(least, share, seed % 1000), []
    for options in ({}, {"n_jobs": 2}, {"kernels": reference}):
        oracle = problem.oracle(**options)
        found.append(matrix(oracle, random_weights(oracle, seed), how))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][0], found[2][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[0][1].weight, found[2][1].weight, rtol=1e-5)


def test_single_precision_finds_as_much(monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(5, n_labels=11, n_features=8, n_sequences=40)
    sizes = []
    for single in (False, True):
        oracle = problem.oracle().rounded() if single else problem.oracle()
        J = matrix(oracle, random_weights(oracle, 1), Forking(1e-4, 1.0, 0))[0]
        sizes.append(np.trace(J.T @ J))
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-3)


def test_weights_are_those_of_the_rows():
    problem = random_chain(5, n_labels=5, n_sequences=20)
    oracle, how = problem.oracle(), Forking(0.01, 1.0, 3)
    w = random_weights(oracle, 1)
    weighed = forks(oracle, w, how, traced=False)[1]
    np.testing.assert_array_equal(weighed.weight, forks(oracle, w, how)[1].weight)
    assert len(weighed.slot) == 0
    assert weighed.weight.min() == 1.0


def test_as_many_rows_as_were_asked_for():
    problem = random_chain(5, n_labels=6, n_features=20, n_sequences=200)
    oracle, pilot = problem.oracle(), Forking(1e-3, 1.0, 0)
    w = random_weights(oracle, 1, scale=2.0)
    weighed = forks(oracle, w, pilot, traced=False)[1]
    how = pilot.giving(300, weighed)
    assert len(forks(oracle, w, how)[1].weight) == pytest.approx(300, rel=0.1)


def test_least_weight_where_there_are_few():
    assert least_weight(np.array([0.25, 0.25]), 5.0) == 1e-4
    assert least_weight(np.empty(0), 5.0) == 1e-4


def test_scores_far_apart_have_no_forks():
    problem = random_chain(7, n_labels=5)
    oracle = problem.oracle()
    J, found = matrix(oracle, random_weights(oracle, 1, scale=1e4), Forking(1e-3, 1.0, 0))
    assert np.isfinite(J).all()
    assert found.known >= 1.0


def test_a_sure_model_draws_forks_and_others_labelings():
    problem = random_chain(5, n_labels=4, n_features=10, n_sequences=50)
    oracle = problem.oracle()
    everything = np.arange(oracle.n_coordinates)
    sure, unsure = (random_weights(oracle, 1, scale=s) for s in (8.0, 0.1))
    assert go_to(oracle, sure).draw(everything, 2000, 0).known > 1.0
    assert go_to(oracle, unsure).draw(everything, 50, 0).known == 1.0
