"""Armijo backtracking on functions whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.points import plain

from proxqn.losses.function import FunctionOracle
from proxqn.penalties import Separable
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.line_search import ROUNDING, Armijo, Misses, expected_change, search
from proxqn.solvers.working_set import WorkingSet

PENALTY = plain(0.5)


def run(fun, w, d, rule=None, slope=None, penalty=PENALTY):
    """Search from w along d; fun gives value and gradient of the smooth part."""
    everything = np.arange(len(w))
    point = FunctionOracle(fun, len(w)).at(SparseVector.of_dense(w))
    at = WorkingSet(everything, w, point.gradient(everything), penalty)
    if slope is None:
        slope = expected_change(at, d)
    objective = point.value + penalty.value(w)
    line = point.along(SparseVector.of_dense(d))
    return search(line, at, d, objective, slope, rule or Armijo()), objective, slope


def quadratic(curvature):
    return lambda w: (curvature * w @ w / 2, curvature * w)


def test_a_good_direction_takes_the_unit_step():
    step, objective, _ = run(quadratic(2.0), np.array([3.0, -1.0]), np.array([-2.0, 0.5]))
    assert (step.alpha, step.trials) == (1.0, 1)
    assert step.objective < objective
    assert step.objective == pytest.approx(step.loss + PENALTY.value(np.array([1.0, -0.5])))


@pytest.mark.parametrize("beta", [0.5, 0.1])
def test_the_first_power_of_beta_that_satisfies_armijo_is_taken(beta):
    rule = Armijo(beta=beta, sigma=0.3)
    w, d = np.array([1.0]), np.array([-30.0])
    fun = quadratic(4.0)
    step, objective, slope = run(fun, w, d, rule)

    def satisfied(alpha):
        value = fun(w + alpha * d)[0] + PENALTY.value(w + alpha * d)
        return value <= objective + alpha * rule.sigma * slope

    powers = beta ** np.arange(30)
    assert step.alpha == pytest.approx(next(a for a in powers if satisfied(a)), rel=1e-12)
    assert step.trials == round(math.log(step.alpha, beta)) + 1
    assert step.trials > 1


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_trials_that_are_not_finite_are_passed_by(bad):
    def fun(w):
        return (bad if abs(w[0]) > 2 else w[0] ** 2, 2 * w)

    step, _, _ = run(fun, np.array([1.0]), np.array([-8.0]))
    assert 0 < step.alpha < 1
    assert math.isfinite(step.objective)


def test_an_ascent_direction_ends_without_a_step_after_max_trials():
    calls = []

    def fun(w):
        calls.append(w)
        return 1.0 + w @ w, 2 * w

    step, _, _ = run(fun, np.array([1.0]), np.array([5.0]), Armijo(max_trials=7), slope=-10.0)
    assert step is None
    assert len(calls) == 1 + 7


def test_a_tiny_uphill_step_is_not_progress():
    """Far from the optimum a shrinking step soon changes f by less than rounding; that proves
    nothing, and taking it would keep a solver with a wrong gradient busy for ever."""
    step, _, _ = run(lambda w: (1e6 + w @ w, 2 * w), np.array([1.0]), np.array([1.0]), slope=-1e-2)
    assert step is None


def test_near_the_optimum_rounding_does_not_stop_the_search():
    """Δ is far below the rounding error of f: the unit step is as good as any."""
    step, _, _ = run(
        lambda w: (1e8 + 1e-3 * w @ w, 2e-3 * w), np.array([0.0]), np.array([1e-8]), slope=-1e-12
    )
    assert step is not None
    assert step.alpha == 1.0


@given(seed=st.integers(0, 2**32))
def test_the_expected_change_is_the_papers_delta(seed):
    """``Δ = gᵀd + Ω(w + d) - Ω(w)``, with numbers of its own for each coordinate."""
    rng, n = np.random.default_rng(seed), 12
    penalty = Separable(rng.random(n), rng.random(n) * (rng.random(n) < 0.5)).on(np.arange(n))
    w, g, d = rng.normal(size=(3, n))
    w[rng.random(n) < 0.3] = 0.0
    truth = g @ d + penalty.value(w + d) - penalty.value(w)
    at = WorkingSet(np.arange(n), w, g, penalty)
    assert expected_change(at, d) == pytest.approx(truth, rel=1e-10, abs=1e-10)


def misses(level, curvature=2.0, seed=0):
    """Of a search along an ascent direction that claims to descend."""
    rng, found = np.random.default_rng(seed), Misses()
    fun = quadratic(curvature)

    def loss(w):
        value, g = fun(w)
        return value + level * rng.normal(), g

    w = np.array([1.0])
    at = WorkingSet(np.arange(1), w, curvature * w, PENALTY)
    line = FunctionOracle(loss, 1).at(SparseVector.of_dense(w)).along(SparseVector.of_dense(w))
    assert search(line, at, w, -1.0, -1.0, Armijo(max_trials=40), found) is None
    return found


@pytest.mark.parametrize("level", [1e-3, 1e-2, 1.0])
def test_misses_tell_the_noise_of_the_values(level):
    # The objective given is far below: what is off stays, as noise does.
    assert misses(level).noise > 0.1 * level


def test_a_slope_is_no_noise():
    found = Misses()
    for k in range(20):
        found.note(0.5**k, -(0.5**k))
    assert found.noise == 0.0
    assert Misses().noise == 0.0


def test_values_of_few_digits_tell_what_they_cannot():
    found = Misses()
    for k in range(20):
        found.note(round(0.5**k, 3), -(0.5**k))
    assert 1e-4 < found.noise < 1e-3


def values_along(values):
    """Return a loss from w = 0 along d = 1, by the step; nothing else is asked for."""
    return lambda w: (values[float(w[0])], np.zeros(1))


FREE = Separable(np.zeros(1)).on(np.arange(1))
AT_ZERO = np.zeros(1), np.ones(1)


def test_a_value_just_as_low_as_it_must_be_is_taken():
    """All numbers are exact: f falls by ασΔ, no more and no less."""
    rule = Armijo(sigma=0.5)
    fun = values_along({0.0: 1.0, 1.0: 0.5})
    step, _, _ = run(fun, *AT_ZERO, rule, slope=-1.0, penalty=FREE)
    assert (step.alpha, step.objective) == (1.0, 0.5)


def test_a_change_asked_for_of_the_size_of_rounding_is_not_seen_in_f():
    """Then shorter steps are tried, too, which tell as little."""
    rule, rounding = Armijo(sigma=0.5), ROUNDING
    fun = values_along({0.0: 1.0, 1.0: 2.0, 0.5: 1.0})
    step, _, _ = run(fun, *AT_ZERO, rule, slope=-2.0 * rounding, penalty=FREE)
    assert (step.alpha, step.trials) == (0.5, 2)
    step, _, _ = run(fun, *AT_ZERO, rule, slope=-2.0 * rounding * 1.01, penalty=FREE)
    assert step.alpha == 0.5
    fun = values_along({0.0: 1.0, 1.0: 2.0, 0.5: 2.0, 0.25: 1.0})
    step, _, _ = run(fun, *AT_ZERO, rule, slope=-3.0 * rounding, penalty=FREE)
    assert step is None  # a quarter is too short to tell
