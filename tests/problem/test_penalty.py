"""A penalty's formulas against their definitions, by brute force, one coordinate at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.penalty import Local
from proxqn.problem.sparse import SparseVector

NUMBERS = st.floats(-50, 50)
POSITIVE = st.floats(0.01, 20)
LAMBDAS = RIDGES = st.one_of(st.just(0.0), POSITIVE)
LOWER = st.one_of(st.just(-math.inf), st.just(0.0), st.floats(-20, -0.01))
UPPER = st.one_of(st.just(math.inf), st.just(0.0), st.floats(0.01, 20))
LOCALS = st.builds(
    lambda *numbers: Local(*(np.array([x]) for x in numbers)), LAMBDAS, RIDGES, LOWER, UPPER
)


def value(local: Local, w: float) -> float:
    inside = local.lower[0] <= w <= local.upper[0]
    return local.value(np.array([w])) if inside else math.inf


def one(found) -> float:
    assert found.shape == (1,)
    return float(found[0])


@settings(max_examples=200)
@given(NUMBERS, LOCALS, POSITIVE)
def test_prox_minimises_its_definition(v, local, curvature):
    def model(w):
        return curvature / 2 * (w - v) ** 2 + value(local, w)

    found = one(local.prox(np.array([v]), curvature))
    assert local.lower[0] <= found <= local.upper[0]
    inside = max(local.lower[0], -51.0), min(local.upper[0], 51.0)
    best = min(model(0.0), model(inside[0]), model(inside[1]))
    if inside[0] < inside[1]:
        options = {"xatol": 1e-10}
        best = min(best, minimize_scalar(model, bounds=inside, options=options).fun)
    assert model(found) <= best + 1e-9 * abs(best)


@settings(max_examples=200)
@given(st.one_of(st.just(0.0), NUMBERS), NUMBERS, LOCALS)
def test_min_norm_subgradient_is_the_smallest_element_of_the_subdifferential(w, g, local):
    w = float(np.clip(w, local.lower[0], local.upper[0]))
    found = one(local.min_norm_subgradient(np.array([w]), np.array([g])))
    signs = np.linspace(-1, 1, 2001) if w == 0.0 else np.array([np.sign(w)])
    elements = g + local.l2[0] * w + local.lam[0] * signs
    if w <= local.lower[0]:  # what pushes out of a bound is met by any push back
        elements = np.append(elements, min(elements.min(), 0.0))
        elements = np.append(elements, 0.0) if elements.max() > 0.0 else elements
    if w >= local.upper[0]:
        elements = np.append(elements, 0.0) if elements.min() < 0.0 else elements
    smallest = np.abs(elements).min()
    assert abs(found) <= smallest + 1e-12
    assert abs(found) >= smallest - local.lam[0] / 1000 - 1e-12


@settings(max_examples=200)
@given(NUMBERS, NUMBERS, LOCALS)
def test_the_min_norm_subgradient_is_zero_exactly_where_prox_rests(w, g, local):
    """The optimality condition, two ways: ``w = prox(w - g)``."""
    w = float(np.clip(w, local.lower[0], local.upper[0]))
    at, derivative = np.array([w]), np.array([g])
    residual = one(local.min_norm_subgradient(at, derivative))
    assume(residual == 0.0 or abs(residual) > 1e-9)
    for edge in (0.0, local.lower[0], local.upper[0]):  # there, or clearly not
        assume(w == edge or abs(w - edge) > 1e-6)
    moved = abs(one(local.prox(at - derivative, 1.0)) - w)
    assert (moved <= 1e-12 * (1 + abs(w) + abs(g))) == (residual == 0.0)


@settings(max_examples=300)
@given(NUMBERS, LOCALS)
def test_conjugate_is_the_supremum(g, local):
    """Ω*(-g) = sup_w -g w - Ω(w), on weights within their bounds."""
    found = local.conjugate(np.array([g]))
    side = (0.0, local.upper[0]) if g < 0.0 else (local.lower[0], 0.0)
    if found == math.inf:
        assert abs(g) > local.lam[0]
        assert local.l2[0] == 0.0
        assert not np.isfinite(side).all()
        return
    reach = (abs(g) + 1.0) / local.l2[0] if local.l2[0] > 0.0 else 1e3
    w = np.linspace(max(side[0], -reach), min(side[1], reach), 40_001)
    truth = (-g * w - local.lam[0] * np.abs(w) - 0.5 * local.l2[0] * w * w).max()
    assert found == pytest.approx(max(float(truth), 0.0), rel=1e-6, abs=1e-6 * (1 + abs(g)))


@settings(max_examples=200)
@given(NUMBERS, LOCALS)
def test_what_has_a_price_has_a_finite_one(g, local):
    finite = math.isfinite(local.conjugate(np.array([g])))
    rises = one(local.excess(np.array([g]))) > 0.0
    assert finite == (not rises or bool(local.priced(np.array([g]))[0]))


def test_conjugates_add_up_and_need_only_what_exceeds_lam():
    rng = np.random.default_rng(0)
    g, everything = rng.normal(size=50), np.arange(50)
    penalty = Separable(rng.uniform(0.1, 1.0, 50), 0.3, lower=-rng.random(50)).on(everything)
    total = penalty.conjugate(g)
    one_by_one = [penalty.take(np.array([j])).conjugate(g[[j]]) for j in everything]
    assert total == pytest.approx(sum(one_by_one), rel=1e-13)
    above = np.flatnonzero(penalty.excess(g) > 0.0)
    assert 0 < len(above) < 50
    assert penalty.take(above).conjugate(g[above]) == pytest.approx(total, rel=1e-13)


def test_conjugate_of_the_plain_norm_is_an_indicator():
    plain = ElasticNet(2.0).on(np.arange(3))
    assert plain.conjugate(np.array([2.0, -2.0, 0.5])) == 0.0
    assert plain.conjugate(np.array([2.0, -2.0000001])) == math.inf
    assert plain.conjugate(np.array([])) == 0.0


def test_excess_is_what_a_derivative_asks_for_where_there_is_room():
    lower, upper = np.array([-9.0, 0.0, -9.0, -9.0]), np.array([9.0, 9.0, 9.0, 0.0])
    local = Separable(1.0, lower=lower, upper=upper).on(np.arange(4))
    g = np.array([3.0, 3.0, -0.5, -3.0])
    np.testing.assert_array_equal(local.excess(g), [2.0, 0.0, 0.0, 0.0])


@settings(max_examples=200)
@given(st.one_of(st.just(0.0), NUMBERS), NUMBERS, LOCALS)
def test_change_is_the_difference_of_values(w, d, local):
    truth = local.value(np.array([w + d])) - local.value(np.array([w]))
    found = one(local.change(np.array([w]), np.array([d])))
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_change_is_exact_for_steps_far_below_the_weights():
    """The difference of the values would be all rounding."""
    w, d = np.array([1e3, -1e3]), np.array([1e-14, 1e-14])
    local = ElasticNet(3.0).on(np.arange(2))
    np.testing.assert_array_equal(local.change(w, d), [3e-14, -3e-14])


def test_numbers_for_all_are_kept_as_one():
    local = Separable(2.0, np.array([1.0, 2.0, 3.0])).on(np.array([0, 2]))
    assert len(local.lam) == len(local.lower) == 1
    np.testing.assert_array_equal(local.take(np.array([1])).l2, [3.0])
    assert local.value(np.array([1.0, -2.0])) == 2.0 * 3 + 0.5 * 1.0 * 1 + 0.5 * 3.0 * 4
    assert not local.bounded
    assert Separable(2.0, lower=-1.0).on(np.array([0])).bounded


def test_a_penalty_s_value_is_that_of_its_weights():
    penalty = Separable(np.array([1.0, 10.0, 100.0]))
    assert penalty.value(SparseVector(np.array([0, 2]), np.array([-2.0, 1.0]))) == 102.0
    assert penalty.value(SparseVector.empty()) == 0.0
