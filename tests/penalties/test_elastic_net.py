"""Penalties against their definitions, minimised by brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from proxqn.penalties import ElasticNet

NUMBERS = st.floats(-50, 50)
POSITIVE = st.floats(0.01, 20)
RIDGES = st.one_of(st.just(0.0), POSITIVE)


@settings(max_examples=200, deadline=None)
@given(NUMBERS, POSITIVE, RIDGES, POSITIVE)
def test_prox_minimises_its_definition(v, lam, l2, curvature):
    penalty = ElasticNet(lam, l2)

    def model(w):
        return curvature / 2 * (w - v) ** 2 + penalty.value(np.array([w]))

    found = float(penalty.prox(np.array([v]), curvature)[0])
    best = minimize_scalar(model, bounds=(-51, 51), method="bounded", options={"xatol": 1e-10})
    assert model(found) <= min(best.fun, model(0.0)) + 1e-9 * abs(best.fun)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.just(0.0), NUMBERS), NUMBERS, POSITIVE, RIDGES)
def test_min_norm_subgradient_is_the_smallest_element_of_the_subdifferential(w, g, lam, l2):
    found = float(ElasticNet(lam, l2).min_norm_subgradient(np.array([w]), np.array([g]))[0])
    signs = np.linspace(-1, 1, 2001) if w == 0.0 else np.array([np.sign(w)])
    elements = g + l2 * w + lam * signs
    smallest = elements[np.abs(elements).argmin()]
    assert abs(found) <= abs(smallest) + 1e-12
    assert elements.min() - 1e-9 <= found <= elements.max() + 1e-9


@settings(max_examples=200, deadline=None)
@given(NUMBERS, POSITIVE, POSITIVE)
def test_conjugate_is_the_supremum(g, lam, l2):
    """Ω*(g) = sup_w g w - Ω(w)."""
    penalty = ElasticNet(lam, l2)
    reach = (abs(g) + 1) / l2
    worst = minimize_scalar(
        lambda w: penalty.value(np.array([w])) - g * w,
        bounds=(-reach, reach),
        method="bounded",
        options={"xatol": 1e-12 * reach},
    )
    assert penalty.conjugate(np.array([g])) == pytest.approx(
        max(-worst.fun, 0.0), abs=1e-6, rel=1e-6
    )


def test_conjugate_without_a_ridge_is_an_indicator():
    penalty = ElasticNet(2.0)
    assert penalty.conjugate(np.array([2.0, -2.0, 0.5])) == 0.0
    assert penalty.conjugate(np.array([2.0, -2.0000001])) == math.inf
    assert penalty.conjugate(np.array([])) == 0.0


def test_conjugate_needs_only_the_entries_above_lam():
    rng = np.random.default_rng(0)
    g, penalty = rng.normal(size=50), ElasticNet(0.8, 0.3)
    assert penalty.conjugate(g) == pytest.approx(penalty.conjugate(g[np.abs(g) > 0.8]), rel=1e-14)


def test_value():
    assert ElasticNet(2.0, 3.0).value(np.array([1.0, -2.0])) == 2 * 3 + 1.5 * 5
    assert ElasticNet(2.0).value(np.array([])) == 0.0


@pytest.mark.parametrize("lam", [0, -1.0, math.nan, math.inf, "1", None])
def test_lam_must_be_a_positive_number(lam):
    with pytest.raises(ValueError, match="lam must be a finite number above 0"):
        ElasticNet(lam)


@pytest.mark.parametrize("l2", [-1e-9, math.nan, math.inf, "1", None])
def test_l2_must_not_be_negative(l2):
    with pytest.raises(ValueError, match="l2 must be a finite number, 0 or above"):
        ElasticNet(1.0, l2)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.just(0.0), NUMBERS), NUMBERS, POSITIVE, RIDGES)
def test_change_is_the_difference_of_values(w, d, lam, l2):
    penalty = ElasticNet(lam, l2)
    truth = penalty.value(np.array([w + d])) - penalty.value(np.array([w]))
    found = float(penalty.change(np.array([w]), np.array([d]))[0])
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-9)


def test_change_is_exact_for_steps_far_below_the_weights():
    """The difference of the values would be all rounding."""
    w, d = np.array([1e3, -1e3]), np.array([1e-14, 1e-14])
    np.testing.assert_array_equal(ElasticNet(3.0).change(w, d), [3e-14, -3e-14])
