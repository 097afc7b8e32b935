"""Shrinking, and the return of all variables through a thresholded sweep."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.points import Logistic, full_gradient, plain, random_weights

from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.working_set import WorkingSet, gather, starting_point


def random_set(seed: int, n: int = 40, penalty: Penalty | None = None) -> WorkingSet:
    rng = np.random.default_rng(seed)
    coordinates = np.sort(rng.choice(3 * n, n, replace=False))
    w, g = rng.normal(size=n) * (rng.random(n) < 0.3), rng.normal(size=n)
    return WorkingSet(coordinates, w, g, (penalty or ElasticNet(0.8)).on(coordinates))


def mixed_penalty(seed: int, n: int) -> Separable:
    """Weights with λ, ridge and bounds of their own; some unpenalised, some fixed at zero."""
    rng = np.random.default_rng(seed)
    lam = rng.uniform(0.2, 1.5, n) * (rng.random(n) < 0.8)
    lower = np.where(rng.random(n) < 0.3, 0.0, -np.inf)
    upper = np.where(rng.random(n) < 0.3, 0.0, 2.0)
    return Separable(lam, rng.random(n) * (rng.random(n) < 0.5), lower, upper)


@given(seed=st.integers(0, 2**32), margin=st.floats(0, 3))
def test_survivors_are_the_papers(seed, margin):
    """``w_j ≠ 0 or |g_j| - λ + M̂/N > 0`` (line 6 of the algorithm)."""
    at, lam = random_set(seed), 0.8
    stay = [
        i for i in range(len(at)) if at.w[i] != 0 or abs(at.g[i]) > lam - margin
    ]  # as λ - margin, not |g| - λ + margin: the two round differently
    np.testing.assert_array_equal(at.survivors(margin), stay)


@given(seed=st.integers(0, 2**32), margin=st.floats(0, 1))
def test_survivors_have_room_to_go(seed, margin):
    """Each by its own λ; those held by a bound on that side leave, unpenalised ones stay."""
    at = random_set(seed, penalty=mixed_penalty(seed, 120))
    lam, _, lower, upper = at.penalty.arrays
    stay = []
    for i in range(len(at)):
        room = upper[i] > 0 if at.g[i] < 0 else lower[i] < 0
        wanted = abs(at.g[i]) > lam[i] - margin or lam[i] == 0
        if at.w[i] != 0 or (wanted and room):
            stay.append(i)
    np.testing.assert_array_equal(at.survivors(margin), stay)


def test_take_keeps_everything_with_its_coordinate():
    at = random_set(1, penalty=mixed_penalty(1, 120))
    positions = np.array([0, 5, 7])
    left = at.take(positions)
    for name in ("coordinates", "w", "g"):
        np.testing.assert_array_equal(getattr(left, name), getattr(at, name)[positions])
    for mine, all_of_it in zip(left.penalty.arrays, at.penalty.arrays, strict=True):
        np.testing.assert_array_equal(mine, all_of_it[positions] if len(all_of_it) > 1 else mine)


def test_moved_is_the_same_set_at_another_point():
    at = random_set(1)
    there = at.moved(at.w + 1.0, -at.g)
    assert there.coordinates is at.coordinates
    assert there.penalty is at.penalty
    np.testing.assert_array_equal(there.w - at.w, 1.0)


def test_violation_is_the_largest_subgradient_entry():
    at = random_set(2, penalty=ElasticNet(0.8, 0.3))
    assert at.violation == np.abs(at.penalty.min_norm_subgradient(at.w, at.g)).max()
    assert at.take(np.empty(0, dtype=np.int64)).violation == 0.0


def test_the_most_violating_and_every_weight_come_first():
    at = random_set(3)
    chosen = at.most_violating(10)
    assert set(np.flatnonzero(at.w)) <= set(chosen)
    resting = np.setdiff1d(np.arange(len(at)), chosen)
    assert len(resting) > 0
    assert np.abs(at.g[resting]).max() <= np.sort(np.abs(at.g))[-10]
    np.testing.assert_array_equal(at.most_violating(len(at)), np.arange(len(at)))


def test_unpenalised_weights_are_always_among_the_first():
    lam = np.where(np.arange(120) % 7 == 0, 0.0, 0.8)
    at = random_set(3, penalty=Separable(lam))
    free = np.flatnonzero(at.penalty.lam == 0.0)
    assert len(free) > 2
    assert set(free) <= set(at.most_violating(3))


@given(
    mine=st.lists(st.integers(0, 30), unique=True).map(sorted),
    others=st.lists(st.integers(0, 30), unique=True).map(sorted),
)
def test_positions_in(mine, others):
    n = len(mine)
    at = WorkingSet(np.array(mine, dtype=np.int64), np.zeros(n), np.zeros(n), plain(1.0))
    expected = [mine.index(j) if j in mine else -1 for j in others]
    found = at.positions_in(np.array(others, dtype=np.int64))
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.int64))


def test_the_weights_are_the_nonzero_ones():
    at = WorkingSet(np.array([2, 5, 8]), np.array([1.0, 0.0, -2.0]), np.zeros(3), plain(1.0))
    assert at.weights.coordinates.tolist() == [2, 8]
    assert at.weights.values.tolist() == [1.0, -2.0]


def test_a_start_is_its_weights_alone():
    weights = SparseVector(np.array([3, 9]), np.array([1.0, -1.0]))
    at = starting_point(weights, mixed_penalty(0, 12))
    assert at.coordinates.tolist() == [3, 9]
    assert at.w.tolist() == [1.0, -1.0]
    assert len(at.penalty.lam) == 2


def test_gather_takes_every_nonzero_weight_and_every_large_derivative():
    oracle, penalty = Logistic(3, d=60).oracle(), ElasticNet(4.0)
    w = random_weights(60, 1, share=0.2, scale=0.3)
    point = oracle.at(w)
    g, truth = full_gradient(oracle, point), w.dense(60)
    for margin in (0.0, 1.0, np.inf):
        at, largest = gather(point, penalty, w, margin)
        wanted = np.flatnonzero((truth != 0) | (np.abs(g) > 4.0 - margin))
        np.testing.assert_array_equal(at.coordinates, wanted)
        np.testing.assert_array_equal(at.w, truth[at.coordinates])
        np.testing.assert_array_equal(at.g, g[at.coordinates])
        assert largest == np.abs(g).max()
    assert (np.abs(g[w.coordinates]) < 4.0).any()  # some had to be asked for one by one


@given(seed=st.integers(0, 2**32), margin=st.sampled_from([0.0, 0.5]))
def test_gather_leaves_nothing_out_that_may_move(seed, margin):
    """λ, bounds and unpenalised weights of their own: against all coordinates one by one."""
    oracle, penalty = Logistic(seed, n=30, d=40).oracle(), mixed_penalty(seed, 40)
    everything = penalty.on(np.arange(40))
    w = random_weights(40, seed, share=0.2).dense(40)
    w = SparseVector.of_dense(np.clip(w, everything.lower, everything.upper))
    point = oracle.at(w)
    g = full_gradient(oracle, point)
    whole = WorkingSet(np.arange(40), w.dense(40), g, everything)
    at, _ = gather(point, penalty, w, margin)
    np.testing.assert_array_equal(at.coordinates, whole.survivors(margin))
    assert at.violation == whole.violation


def test_gather_at_zero_with_a_large_lam_finds_nothing():
    point = Logistic(3).oracle().at(SparseVector.empty())
    at, largest = gather(point, ElasticNet(1e9), SparseVector.empty())
    assert len(at) == 0
    assert largest > 0.0
