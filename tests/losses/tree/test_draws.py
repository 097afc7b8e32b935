"""Curvature from drawn leaves: its mean is the Hessian, whoever draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.losses.chain.test_draws import as_matrix, everything, hessian
from tests.losses.tree.test_oracle import random_problem, random_weights

from proxqn.losses.tree import reference
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem.abilities import Draws


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [7, 40])  # a third of the samples; two pairs of each
def test_mean_is_the_hessian(weighted, n_rows):
    X, leaves, tree, weights = random_problem(3, n_nodes=9, n_features=2, weighted=weighted)
    oracle = TreeOracle(X, leaves, tree, sample_weight=weights)
    w = random_weights(oracle, 2, scale=0.7)
    expected = hessian(oracle, w)
    point = oracle.at(w)
    assert isinstance(point, Draws)
    total, n = np.zeros_like(expected), 3000
    for seed in range(n):
        J = as_matrix(point.draw(everything(oracle), n_rows, seed))
        total += J.T @ J
    np.testing.assert_allclose(total / n, expected, atol=0.05 * np.abs(expected).max())


def test_a_sure_model_tells_as_much_of_every_sample():
    X, leaves, tree, _ = random_problem(4, n_nodes=6)
    oracle = TreeOracle(X, leaves, tree)
    point = oracle.at(random_weights(oracle, 4, share=1.0, scale=8.0))
    assert point.draw(everything(oracle), len(leaves), 0).n_rows == len(leaves)


@given(
    seed=st.integers(0, 2**32),
    n_nodes=st.integers(1, 30),
    scale=st.sampled_from([0.1, 1.0, 3.0]),
    n_rows=st.integers(0, 200),
)
def test_reference_draws_the_same(seed, n_nodes, scale, n_rows):
    X, leaves, tree, weights = random_problem(seed, n_nodes=n_nodes, weighted=seed % 2 == 0)
    found = []
    for options in ({}, {"n_jobs": 2}, {"kernels": reference}):
        oracle = TreeOracle(X, leaves, tree, sample_weight=weights, **options)
        point = oracle.at(random_weights(oracle, seed, scale=scale))
        some = everything(oracle)[:: 1 + seed % 3]
        J = point.draw(some, n_rows, seed % 1000)
        found.append(np.zeros(0) if J is None else as_matrix(J))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-6, atol=1e-6)


def test_nothing_is_drawn_where_the_loss_is_all_but_linear():
    X, leaves, tree, _ = random_problem(5, n_nodes=8)
    oracle = TreeOracle(X, leaves, tree)
    point = oracle.at(random_weights(oracle, 5, share=1.0, scale=2000.0))
    assert point.draw(everything(oracle), 60, 0) is None


def test_draws_after_a_trial_are_those_before():
    X, leaves, tree, _ = random_problem(6)
    oracle = TreeOracle(X, leaves, tree)
    point = oracle.at(random_weights(oracle, 6))
    before = as_matrix(point.draw(everything(oracle), 40, 1))
    point.along(random_weights(oracle, 7)).value(0.5)
    np.testing.assert_array_equal(as_matrix(point.draw(everything(oracle), 40, 1)), before)
