"""Shrinking, and the return of all variables through a thresholded sweep."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import dense, full_gradient, go_to, random_chain, random_weights

from proxqn.penalties import ElasticNet
from proxqn.problem import SparseVector
from proxqn.solvers.working_set import WorkingSet, gather


def random_set(seed: int, n: int = 40) -> WorkingSet:
    rng = np.random.default_rng(seed)
    coordinates = np.sort(rng.choice(3 * n, n, replace=False))
    return WorkingSet(coordinates, rng.normal(size=n) * (rng.random(n) < 0.3), rng.normal(size=n))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), margin=st.floats(0, 3))
def test_survivors_are_the_papers(seed, margin):
    """``w_j ≠ 0 or |g_j| - λ + M̂/N > 0`` (line 6 of the algorithm)."""
    at, lam = random_set(seed), 0.8
    stay = [
        i for i in range(len(at)) if at.w[i] != 0 or abs(at.g[i]) > lam - margin
    ]  # as λ - margin, not |g| - λ + margin: the two round differently
    np.testing.assert_array_equal(at.survivors(ElasticNet(lam), margin), stay)


def test_take_keeps_weights_and_derivatives_with_their_coordinates():
    at = random_set(1)
    left = at.take(np.array([0, 5, 7]))
    for name in ("coordinates", "w", "g"):
        np.testing.assert_array_equal(getattr(left, name), getattr(at, name)[[0, 5, 7]])


def test_violation_is_the_largest_subgradient_entry():
    at, penalty = random_set(2), ElasticNet(0.8, 0.3)
    assert at.violation(penalty) == np.abs(penalty.min_norm_subgradient(at.w, at.g)).max()
    assert at.take(np.empty(0, dtype=np.int64)).violation(penalty) == 0.0


@settings(max_examples=50, deadline=None)
@given(
    mine=st.lists(st.integers(0, 30), unique=True).map(sorted),
    others=st.lists(st.integers(0, 30), unique=True).map(sorted),
)
def test_positions_in(mine, others):
    at = WorkingSet(np.array(mine, dtype=np.int64), np.zeros(len(mine)), np.zeros(len(mine)))
    expected = [mine.index(j) if j in mine else -1 for j in others]
    found = at.positions_in(np.array(others, dtype=np.int64))
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.int64))


def test_the_weights_are_the_nonzero_ones():
    at = WorkingSet(np.array([2, 5, 8]), np.array([1.0, 0.0, -2.0]), np.zeros(3))
    assert at.weights.coordinates.tolist() == [2, 8]
    assert at.weights.values.tolist() == [1.0, -2.0]


def test_gather_takes_every_nonzero_weight_and_every_large_derivative():
    oracle = random_chain(3, n_labels=4, n_features=30).oracle()
    w = random_weights(oracle, 1, share=0.2)
    go_to(oracle, w)
    g, level = full_gradient(oracle), 2.0
    at, _ = gather(oracle, w, level)
    truth = dense(w, len(g))
    np.testing.assert_array_equal(
        at.coordinates, np.flatnonzero((truth != 0) | (np.abs(g) > level))
    )
    np.testing.assert_array_equal(at.w, truth[at.coordinates])
    np.testing.assert_allclose(at.g, g[at.coordinates], rtol=1e-12, atol=1e-13)
    assert (np.abs(g[w.coordinates]) < level).any()  # some had to be asked for one by one


def test_gather_at_zero():
    oracle = random_chain(3).oracle()
    go_to(oracle, SparseVector.empty())
    assert len(gather(oracle, SparseVector.empty(), np.inf)[0]) == 0
