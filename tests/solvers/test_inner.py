"""The inner problem against an independent proximal gradient and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.points import plain
from tests.quadratic_models import filled, matrix, random_pairs

from proxqn import _kernels
from proxqn.penalties import Separable
from proxqn.solvers import inner, reference
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling
from proxqn.solvers.inner import Effort
from proxqn.solvers.working_set import WorkingSet


def random_inner_problem(seed: int, n: int = 25, m: int = 6, l2: float = 0.0):
    rng = np.random.default_rng(seed)
    model = filled(*random_pairs(seed, n, min(m, n)))
    w = rng.normal(size=n) * (rng.random(n) < 0.4)
    return model, w, 2 * rng.normal(size=n), plain(0.7, l2)


def solve(model, w, g, penalty, *, max_passes=5000, tolerance=0.0, seed=0, kernels=_kernels):
    at = WorkingSet(np.arange(len(w)), w, g, penalty)
    effort = Effort(tolerance, seed)
    return inner.solve(model, at, effort, max_passes=max_passes, kernels=kernels)


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_many_passes_reach_the_minimiser(seed, l2):
    model, w, g, penalty = random_inner_problem(seed, l2=l2)
    B = matrix(model)
    d = solve(model, w, g, penalty).d
    residual = penalty.min_norm_subgradient(w + d, g + B @ d)
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)
    slow, curvature = np.zeros_like(w), np.linalg.eigvalsh(B).max()
    for _ in range(20_000):
        slow = penalty.prox(w + slow - (g + B @ slow) / curvature, curvature) - w
    np.testing.assert_allclose(d, slow, atol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-4, 1e-10])
def test_a_tolerance_bounds_the_residual_and_saves_passes(tolerance):
    model, w, g, penalty = random_inner_problem(3, n=60)
    found = solve(model, w, g, penalty, tolerance=tolerance)
    B = matrix(model)
    residual = np.abs(penalty.min_norm_subgradient(w + found.d, g + B @ found.d)).max()
    assert residual <= 60 * tolerance  # each coordinate moved by no more: n of them at the most
    assert found.passes < 5000
    assert found.passes <= solve(model, w, g, penalty, tolerance=tolerance / 10).passes


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 40),
    m=st.integers(0, 10),
    passes=st.integers(1, 6),
    tolerance=st.sampled_from([0.0, 1e-3]),
    l2=st.sampled_from([0.0, 2.0]),
)
def test_compiled_equals_reference_step_by_step(seed, n, m, passes, tolerance, l2):
    """Both visit coordinates in the same random order."""
    model, w, g, penalty = random_inner_problem(seed, n, m, l2)
    ours, theirs = (
        solve(
            model, w, g, penalty, max_passes=passes, tolerance=tolerance, seed=seed, kernels=kernels
        )
        for kernels in (_kernels, reference)
    )
    if tolerance > 0.0:  # without one both end when a pass moves nothing, and rounding decides
        assert ours.passes == theirs.passes
    np.testing.assert_allclose(ours.d, theirs.d, rtol=1e-7, atol=1e-8)


def test_rows_in_single_precision_give_the_direction_to_six_digits():
    n, rng = 2500, np.random.default_rng(6)
    w, g, penalty = rng.normal(size=n), 2 * rng.normal(size=n), plain(0.7)
    directions = []
    for single in (False, True):
        model = CompactBFGS(10, 1.0, Scaling.PAPER, n, single=single)
        for k in range(6):
            s = np.random.default_rng(k).normal(size=n)
            assert model.append(s, np.linspace(0.5, 2.0, n) * s)
        directions.append(solve(model, w, g, penalty, max_passes=50, tolerance=1e-6).d)
    np.testing.assert_allclose(directions[1], directions[0], atol=1e-5 * np.abs(g).max())


def test_coordinates_return_to_zero_exactly():
    """w + d must be 0.0, not rounding, or the solution would not be sparse."""
    n, rng = 200, np.random.default_rng(0)
    w = rng.normal(size=n) / 3
    model = CompactBFGS(5, 3.7, Scaling.PAPER, n)
    d = solve(model, w, 0.1 * rng.normal(size=n), plain(5.0), max_passes=10).d
    assert (w + d == 0.0).all()


@pytest.mark.parametrize("passes", [1, 3])
def test_without_pairs_one_pass_is_a_proximal_gradient_step(passes):
    rng = np.random.default_rng(1)
    w, g = rng.normal(size=30) * (rng.random(30) < 0.5), rng.normal(size=30)
    penalty = plain(0.5, 0.2)
    model = CompactBFGS(5, 2.5, Scaling.PAPER, 30)
    d = solve(model, w, g, penalty, max_passes=passes).d
    np.testing.assert_allclose(w + d, penalty.prox(w - g / 2.5, 2.5), rtol=1e-13, atol=1e-15)


def test_zero_coordinates_below_lam_cannot_move_without_coupling():
    """The exactness of the thresholded sweep rests on this."""
    rng = np.random.default_rng(2)
    model = filled(*random_pairs(2, 10, 4))
    model.replace_rows(np.concatenate([np.arange(10), np.full(6, -1)]))
    w = np.concatenate([rng.normal(size=10), np.zeros(6)])
    g = np.concatenate([rng.normal(size=10), rng.uniform(-0.7, 0.7, 6)])
    d = solve(model, w, g, plain(0.7), max_passes=100).d
    np.testing.assert_array_equal(d[10:], 0.0)


def test_the_order_depends_on_the_seed_and_only_on_it():
    model, w, g, penalty = random_inner_problem(4)
    one, same, other = (solve(model, w, g, penalty, max_passes=2, seed=s).d for s in (7, 7, 8))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_more_passes_never_raise_the_model():
    model, w, g, penalty = random_inner_problem(5)
    B = matrix(model)
    values = []
    for passes in range(1, 12):
        d = solve(model, w, g, penalty, max_passes=passes).d
        values.append(g @ d + d @ B @ d / 2 + penalty.value(w + d))
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] < penalty.value(w)


def test_an_empty_working_set():
    model = CompactBFGS(5, 1.0, Scaling.PAPER, 0)
    assert len(solve(model, np.empty(0), np.empty(0), plain(1.0)).d) == 0


@pytest.mark.parametrize("seed", range(4))
def test_every_coordinate_s_own_penalty_takes_part(seed):
    model, w, g, _ = random_inner_problem(seed)
    rng = np.random.default_rng(seed)
    n = len(w)
    lower, upper = np.where(rng.random(n) < 0.4, 0.0, -0.5), np.where(rng.random(n) < 0.4, 0.1, 3.0)
    lam, l2 = rng.random(n) * (rng.random(n) < 0.7), rng.random(n) * (rng.random(n) < 0.5)
    penalty = Separable(lam, l2, lower, upper).on(np.arange(n))
    w = np.clip(w, lower, upper)
    v = w + solve(model, w, g, penalty).d
    v = np.where(np.abs(v - upper) < 1e-15, upper, np.where(np.abs(v - lower) < 1e-15, lower, v))
    assert ((v >= lower) & (v <= upper)).all()
    residual = penalty.min_norm_subgradient(v, g + matrix(model) @ (v - w))
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)


def test_a_model_that_has_broken_down_gives_no_direction():
    model, w, g, penalty = random_inner_problem(3)
    model.gamma = -1.0
    assert solve(model, w, g, penalty) is None
