"""Curvature from drawn labelings: its mean is the Hessian, whoever draws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.lattice_problems import random_lattice
from tests.problems import full_gradient, go_to, random_chain, random_weights

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.problem.abilities import Draws
from proxqn.problem.sparse import SparseVector


def everything(oracle):
    return np.arange(oracle.n_coordinates, dtype=np.int64)


def as_matrix(columns):
    shape = (columns.n_rows, len(columns.start) - 1)
    return sp.csc_array((columns.value, columns.row, columns.start), shape=shape).toarray()


def hessian(oracle, w, *, step=1e-5):
    """Return the Hessian by differences of gradients."""
    rows = []
    for i in range(oracle.n_coordinates):
        ends = []
        for sign in (1.0, -1.0):
            moved = np.zeros(oracle.n_coordinates)
            moved[w.coordinates] = w.values
            moved[i] += sign * step
            point = go_to(oracle, SparseVector(everything(oracle), moved))
            ends.append(full_gradient(point, oracle.n_coordinates))
        rows.append((ends[0] - ends[1]) / (2.0 * step))
    return np.array(rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [3, 60])  # a few of the sequences; several pairs of each
def test_mean_is_the_hessian(weighted, n_rows):
    problem = random_chain(3, n_labels=3, n_features=3, n_sequences=15, max_length=4)
    problem = problem.with_weights(1) if weighted else problem
    oracle = problem.oracle()
    w = random_weights(oracle, 2, scale=0.7)
    expected = hessian(oracle, w)
    point = go_to(oracle, w)
    total, n = np.zeros_like(expected), 6000 if n_rows == 3 else 600
    for seed in range(n):
        J = as_matrix(point.draw(everything(oracle), n_rows, seed))
        total += J.T @ J
    size = np.abs(expected).max()
    np.testing.assert_allclose(total / n, expected, atol=0.05 * size)


@given(
    seed=st.integers(0, 2**32),
    n_labels=st.integers(1, 9),
    n_sequences=st.integers(1, 20),
    binary=st.booleans(),
    n_rows=st.integers(0, 200),
)
def test_reference_draws_the_same(seed, n_labels, n_sequences, binary, n_rows):
    problem = random_chain(seed, n_labels=n_labels, n_sequences=n_sequences, binary=binary)
    problem = problem.with_weights(seed)
    found = []
    for options in ({}, {"n_jobs": 2}, {"kernels": reference}):
        oracle = problem.oracle(**options)
        point = go_to(oracle, random_weights(oracle, seed))
        some = everything(oracle)[:: 1 + seed % 3]
        found.append(as_matrix(point.draw(some, n_rows, seed % 1000)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-6)


def test_single_precision_draws_as_much_curvature(monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(5, n_labels=11, n_features=8, n_sequences=40)
    drawn = []
    for single in (False, True):
        oracle = problem.oracle().rounded() if single else problem.oracle()
        point = go_to(oracle, random_weights(oracle, 1))
        J = as_matrix(point.draw(everything(oracle), 150, 0))
        drawn.append(J.T @ J)  # runs may be in another order of labels, and so of draws
    sizes = [np.trace(hessian) for hessian in drawn]
    assert sizes[0] > 0.0
    assert sizes[1] == pytest.approx(sizes[0], rel=0.3)


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_scores_far_apart(scale):
    problem = random_chain(7, n_labels=5)
    oracle = problem.oracle()
    point = go_to(oracle, random_weights(oracle, 1, scale=scale))
    J = point.draw(everything(oracle), 100, 0)
    assert np.isfinite(J.value).all()


def test_derivatives_stay_what_they_are():
    problem = random_chain(7, n_labels=5)
    oracle = problem.oracle()
    point = go_to(oracle, random_weights(oracle, 1))
    before = full_gradient(point, oracle.n_coordinates)
    bound = point.conjugate(0.5)
    for _ in range(2):
        point.draw(everything(oracle), 100, 0)
        np.testing.assert_array_equal(full_gradient(point, oracle.n_coordinates), before)
    assert point.conjugate(0.5) == bound


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("started", [False, True])  # by ``at``, which may keep no scores
def test_what_a_trial_has_written_over_is_restored(monkeypatch, single, started):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(7, n_labels=5)
    oracle = problem.oracle().rounded() if single else problem.oracle()
    w, d = random_weights(oracle, 1), random_weights(oracle, 2)
    point = (
        go_to(oracle, w) if started else go_to(oracle, SparseVector.empty()).along(w).accept(1.0)
    )
    first = point.draw(everything(oracle), 100, 3)
    line = point.along(d)
    moved = point.draw(everything(oracle), 100, 3)
    value = line.value(0.5)
    tried = point.draw(everything(oracle), 100, 3)
    for other in (moved, tried):
        np.testing.assert_array_equal(as_matrix(other), as_matrix(first))
    there = line.accept(0.5)  # a draw between a trial and its acceptance
    assert there.value == value
    fresh = problem.oracle().rounded() if single else problem.oracle()
    again = go_to(fresh, w).along(d)
    again.value(0.5)
    np.testing.assert_array_equal(
        full_gradient(there, oracle.n_coordinates),
        full_gradient(again.accept(0.5), oracle.n_coordinates),
    )


def test_other_inference_draws_nothing():
    problem = random_lattice(7, n_edge_features=0)
    oracle = problem.oracle()
    assert not isinstance(go_to(oracle, SparseVector.empty()), Draws)
    inside = oracle._chain.at(SparseVector.empty())
    assert inside.draw(np.arange(oracle._chain.n_coordinates), 100, 0) is None


def test_equal_runs_are_one_row():
    problem = random_chain(5, n_labels=3, n_features=8, n_sequences=1, max_length=5)
    point = go_to(problem.oracle(), random_weights(problem.oracle(), 1))
    J = point.draw(everything(problem.oracle()), 100_000, 0)
    rows = as_matrix(J)
    signs = rows / np.abs(rows).max(axis=1, keepdims=True)
    assert J.multiplicity > 1.5
    assert len(np.unique(np.vstack([signs, -signs]), axis=0)) >= 2 * J.n_rows


def test_rare_labels_come_when_it_is_their_turn():
    """The variance of many draws is less than that of as many independent ones."""
    problem = random_chain(5, n_labels=3, n_features=8, n_sequences=40, max_length=1)
    oracle = problem.oracle()
    w = random_weights(oracle, 1, scale=3.0)
    expected = hessian(oracle, w).diagonal()
    errors = []
    for seed in range(30):
        J = as_matrix(go_to(oracle, w).draw(everything(oracle), 100_000, seed))
        errors.append(np.square(J).sum(axis=0) - expected)
    # An entry is 0 or ±1/√32, met with probability 2p(1 - p): of 16 independent pairs a token.
    independent = expected / 16.0
    assert np.square(errors).mean(axis=0).sum() < 0.6 * independent.sum()


def test_where_no_two_labelings_differ_there_is_no_row():
    problem = random_chain(5, n_labels=2, n_features=3, n_sequences=4, max_length=3)
    oracle = problem.oracle()
    sure = random_weights(oracle, 1, scale=1e4)
    J = go_to(oracle, sure).draw(everything(oracle), 100, 0)
    assert J.n_rows == 0
    assert J.multiplicity == 1.0
