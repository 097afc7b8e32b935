"""Each coordinate with a penalty of its own: the compiled inner problems, NumPy's, and KKT."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.quadratic_models import filled, matrix, random_pairs

from proxqn import _kernels
from proxqn.solvers import reference

INF = np.inf


def random_penalty(rng, n):
    """λ, l2, lower, upper [n]: unpenalised, one-sided, boxed, fixed and plain coordinates."""
    lam = rng.uniform(0.1, 1.5, n) * (rng.random(n) < 0.8)
    l2 = rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.5)
    lower = rng.choice([-INF, -0.3, 0.0], n, p=[0.5, 0.2, 0.3])
    upper = rng.choice([INF, 0.2, 0.0], n, p=[0.6, 0.3, 0.1])
    return lam, l2, lower, upper


def random_point(rng, n, lower, upper):
    return np.clip(rng.normal(size=n) * (rng.random(n) < 0.4), lower, upper)


def residual(v, gradient, lam, l2, lower, upper):
    """Return how far each coordinate of the model is from its optimality condition at v."""
    gradient = gradient + l2 * v
    right = gradient + np.where(v >= 0.0, lam, -lam)  # the slope of a step up
    left = gradient + np.where(v > 0.0, lam, -lam)  # minus that of a step down
    up = np.where(v < upper, np.maximum(-right, 0.0), 0.0)
    down = np.where(v > lower, np.maximum(left, 0.0), 0.0)
    return np.maximum(up, down)


def pairs_model(seed, n=25, m=6):
    return filled(*random_pairs(seed, n, min(m, n)))


def descend(model, w, g, penalty, *, passes=5000, tolerance=0.0, seed=0, kernels=_kernels):
    """Return the direction and its passes, with the curvature of pairs."""
    factors, d = model.factors(), np.zeros_like(w)
    inputs = factors.rows, factors.n_pairs, factors.base, factors.diagonal
    spent = kernels.coordinate_descent(w, g, *inputs, *penalty, passes, tolerance, seed, d)
    return d, spent


def drawn_columns(rng, n, n_rows):
    counts = np.maximum(rng.binomial(n_rows, 0.1, n), 1)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    row = rng.integers(0, n_rows, start[-1]).astype(np.int32)
    return start, row, rng.normal(size=start[-1]).astype(np.float32), n_rows


def drawn_matrix(columns, n, ridge):
    start, row, value, n_rows = columns
    J = np.zeros((n_rows, n))
    np.add.at(J, (row, np.repeat(np.arange(n), np.diff(start))), value)
    return ridge * np.eye(n) + J.T @ J


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 40),
    m=st.integers(0, 10),
    passes=st.integers(1, 6),
    tolerance=st.sampled_from([0.0, 1e-3]),
)
def test_pairs_compiled_equals_reference_step_by_step(seed, n, m, passes, tolerance):
    rng = np.random.default_rng(seed)
    model, penalty = pairs_model(seed, n, m), random_penalty(rng, n)
    w, g = random_point(rng, n, *penalty[2:]), 2 * rng.normal(size=n)
    (ours, our_passes), (theirs, their_passes) = (
        descend(model, w, g, penalty, passes=passes, tolerance=tolerance, seed=seed, kernels=k)
        for k in (_kernels, reference)
    )
    if tolerance > 0.0:  # without one both end when a pass moves nothing, and rounding decides
        assert our_passes == their_passes
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tolerance", [0.0, 1e-11])
def test_pairs_reach_the_minimiser_within_the_bounds(seed, tolerance):
    rng = np.random.default_rng(seed)
    model, penalty = pairs_model(seed), random_penalty(rng, 25)
    w, g = random_point(rng, 25, *penalty[2:]), 2 * rng.normal(size=25)
    d, _ = descend(model, w, g, penalty, tolerance=tolerance)
    v = w + d
    assert (v >= penalty[2]).all()
    assert (v <= penalty[3]).all()
    v = np.where(np.abs(v - penalty[3]) < 1e-15, penalty[3], v)  # where no d brings w to it exactly
    v = np.where(np.abs(v - penalty[2]) < 1e-15, penalty[2], v)
    assert residual(v, g + matrix(model) @ d, *penalty).max() < 1e-9
    assert residual(w, g, *penalty).max() > 0.1


@pytest.mark.parametrize("kind", ["SampledModel", "SingleSampledModel"])
@pytest.mark.parametrize("n", [1, 40, 700])  # 700: more than have their block of B written out
def test_draws_reach_the_minimiser_within_the_bounds(kind, n):
    rng = np.random.default_rng(n)
    columns, ridge = drawn_columns(rng, n, 60), 20.0
    penalty = random_penalty(rng, n)
    w, g = random_point(rng, n, *penalty[2:]), 3.0 * rng.normal(size=n)
    B, found = drawn_matrix(columns, n, ridge), []
    for kernels in (_kernels, reference):
        d = np.zeros(n)
        model = getattr(kernels, kind)(*columns, ridge, 1e9, 1)
        single = kernels is _kernels and kind == "SingleSampledModel"
        tolerance = 1e-4 if single else 1e-7  # below its rounding, steps only add rounding
        model.minimize(w, g, *penalty, 3000, tolerance, 0, d)
        v = w + d
        assert (v >= penalty[2]).all()
        assert (v <= penalty[3]).all()
        v = np.where(np.abs(v - penalty[3]) < 1e-15, penalty[3], v)
        v = np.where(np.abs(v - penalty[2]) < 1e-15, penalty[2], v)
        assert residual(v, g + B @ d, *penalty).max() < 100 * tolerance
        found.append(d)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3 * np.abs(found[1]).max())


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("single", [False, True])
def test_a_constant_penalty_gives_the_same_bits_however_it_is_given(single, l2):
    n, rng = 700, np.random.default_rng(3)
    w, g = rng.normal(size=n) * (rng.random(n) < 0.4), 2 * rng.normal(size=n)
    S, Y = random_pairs(3, n, 6)
    factors, columns = filled(S, Y).factors(), drawn_columns(rng, n, 60)
    rows = factors.rows.astype(np.float32 if single else np.float64)
    drawn = getattr(_kernels, "SingleSampledModel" if single else "SampledModel")
    found = []
    for size in (1, n):
        penalty = [np.full(size, x) for x in (0.7, l2, -INF, INF)]
        d, e = np.zeros(n), np.zeros(n)
        inputs = rows, factors.n_pairs, factors.base, factors.diagonal
        _kernels.coordinate_descent(w, g, *inputs, *penalty, 30, 1e-6, 0, d)
        drawn(*columns, 20.0, 1e9, 1).minimize(w, g, *penalty, 30, 1e-6, 0, e)
        found.append((d, e))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.count_nonzero(found[0][0]) > n / 4
    assert np.count_nonzero(found[0][1]) > n / 4


def test_one_number_for_all_may_be_given_beside_numbers_of_their_own():
    n, rng = 30, np.random.default_rng(4)
    model = pairs_model(4, n)
    w, g = np.zeros(n), 2 * rng.normal(size=n)
    one = [np.array([x]) for x in (0.5, 0.0, -0.1, 0.2)]
    found = [descend(model, w, g, one)[0]]
    for full in ([0], [1, 2], [0, 1, 2, 3]):
        mixed = [np.repeat(x, n) if i in full else x for i, x in enumerate(one)]
        found.append(descend(model, w, g, mixed)[0])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert (found[0] == 0.2).any()
    assert (found[0] == -0.1).any()


def test_unpenalised_coordinates_move_in_every_pass():
    """At zero nothing holds them: the passes between full ones visit them as well."""
    n, rng = 60, np.random.default_rng(5)
    model = pairs_model(5, n)
    lam = np.where(np.arange(n) < 10, 0.0, 5.0)
    g = np.where(np.arange(n) < 5, 0.0, rng.normal(size=n))
    penalty = lam, np.zeros(1), np.full(1, -INF), np.full(1, INF)
    d, _ = descend(model, np.zeros(n), g, penalty, tolerance=1e-12)
    assert (d[:10] != 0.0).all()
    np.testing.assert_array_equal(d[10:], 0.0)


@pytest.mark.parametrize("wrong", range(4))
def test_lengths_are_checked(wrong):
    n = 12
    model = pairs_model(6, n)
    penalty = [np.zeros(n), np.zeros(n), np.full(n, -INF), np.full(n, INF)]
    penalty[wrong] = penalty[wrong][:-1]
    with pytest.raises(ValueError, match="one number a coordinate, or one for all"):
        descend(model, np.zeros(n), np.ones(n), penalty)
    drawn = _kernels.SampledModel(*drawn_columns(np.random.default_rng(0), n, 9), 1.0, 1e9, 1)
    with pytest.raises(ValueError, match="one number a coordinate, or one for all"):
        drawn.minimize(np.zeros(n), np.ones(n), *penalty, 5, 0.0, 0, np.zeros(n))
