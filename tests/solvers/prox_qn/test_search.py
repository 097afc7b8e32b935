"""Steps that gain less than the loss's rounding in single precision."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.points import Logistic, kkt_residual, objective, random_weights
from tests.strangers import Bare, Rounding

from proxqn import ProxQN, minimize
from proxqn.penalties import ElasticNet
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.certificate.bound import Certificate
from proxqn.solvers.line_search import Armijo, expected_change
from proxqn.solvers.prox_qn.search import FloatSearch, Precision
from proxqn.solvers.standing import Goal, Standing
from proxqn.solvers.working_set import WorkingSet

LOSS, PENALTY = Logistic(0), ElasticNet(4.0)


class Scene:
    """Single precision, a little off the optimum, and Newton's direction back to it."""

    def __init__(self, off: float) -> None:
        best = minimize(Bare(LOSS, lower_bound=0.0), 4.0, tol=1e-13).weights
        rng = np.random.default_rng(0)
        w = best.values + off * rng.normal(size=len(best.values))
        self.weights = SparseVector(best.coordinates, w)
        self.standing = Standing(Rounding(LOSS), PENALTY, Goal(1e-9, 9))
        self.point = self.standing.begin(self.weights, Rounding(LOSS).rounded())
        held = best.coordinates
        self.at = WorkingSet(held, w, self.point.gradient(held), PENALTY.on(held))
        self.d = best.values - w
        self.search = FloatSearch(self.standing, Armijo())

    def go(self, d):
        slope = expected_change(self.at, d)
        return self.search.search(self.point, self.at, d, slope)


def test_it_concerns_steps_that_promise_less_than_the_rounding():
    scene = Scene(1e-5)
    f = scene.standing.iterate.objective
    assert scene.search.concerns(-1e-9 * f)
    assert not scene.search.concerns(-1e-3 * f)
    assert scene.search.concerns(expected_change(scene.at, scene.d))


def test_it_finds_a_step_that_values_cannot_tell_from_none():
    scene = Scene(1e-5)
    before = scene.standing.iterate.objective
    arrival, point = scene.go(scene.d)
    assert arrival.step.alpha == 1.0
    assert arrival.point is point
    exact = [objective(Bare(LOSS), w, PENALTY) for w in (scene.weights, arrived(scene, arrival))]
    gain = exact[0] - exact[1]
    assert 0.0 < gain < 1e-8 * before  # float32 has seven digits
    assert before - arrival.step.objective == pytest.approx(gain, rel=0.05)
    np.testing.assert_array_equal(arrival.g, point.gradient(scene.at.coordinates))


def arrived(scene, arrival):
    s = arrival.step.alpha * scene.d
    return SparseVector(scene.weights.coordinates, scene.weights.values + s)


def test_a_step_too_long_is_halved():
    scene = Scene(1e-5)
    arrival, _ = scene.search.search(
        scene.point, scene.at, 5.0 * scene.d, expected_change(scene.at, scene.d)
    )
    assert arrival.step.trials > 1
    assert arrival.step.alpha < 1.0


def test_where_no_trial_will_do_it_comes_back():
    scene = Scene(1e-5)
    arrival, point = scene.search.search(scene.point, scene.at, -scene.d, -1e-6)
    assert arrival is None
    assert point is not scene.point  # trials are gone to; that one is spent
    np.testing.assert_allclose(point.gradient(scene.at.coordinates), scene.at.g, rtol=1e-5)
    assert point.value == pytest.approx(scene.standing.iterate.loss, rel=1e-6)


def test_what_promises_next_to_nothing_is_for_double_precision():
    scene = Scene(1e-5)
    arrival, point = scene.search.search(scene.point, scene.at, scene.d, -1e-14)
    assert arrival is None
    assert point is scene.point  # nothing was tried


def test_it_gives_up_where_promises_do_not_fall():
    scene = Scene(1e-5)
    slope = expected_change(scene.at, scene.d)

    def tries(iteration, slope):
        """Whether points are gone to, along a direction that leads nowhere."""
        scene.standing.record.iteration, before = iteration, scene.point
        uphill = -scene.d
        arrival, scene.point = scene.search.search(before, scene.at, uphill, slope)
        assert arrival is None
        return scene.point is not before

    assert tries(0, slope)
    assert tries(60, slope)
    assert not tries(70, slope)
    assert not tries(71, 0.9 * slope)
    assert tries(72, 0.25 * slope)  # one that promises half as much


# --- precision -----------------------------------------------------------------------------------


LOSS, PENALTY = Logistic(0), ElasticNet(4.0)


def standing(oracle: Oracle) -> Standing:
    return Standing(oracle, PENALTY, Goal(1e-4, 9))


def test_an_oracle_that_cannot_round_is_exact():
    oracle = Bare(LOSS)
    precision = Precision(oracle, single=True)
    assert precision.oracle is oracle
    assert not precision.single
    assert precision.refine(standing(oracle)) is None


def test_nor_is_one_that_gains_nothing_by_it():
    class Indifferent(Bare):
        def rounded(self):
            return None

    assert not Precision(Indifferent(LOSS), single=True).single


def test_it_rounds_only_where_it_may():
    assert Precision(Rounding(LOSS), single=True).single
    assert not Precision(Rounding(LOSS), single=False).single


def test_refining_goes_to_the_same_weights_in_double_precision():
    here = standing(Rounding(LOSS))
    precision, w = Precision(here.oracle, single=True), random_weights(LOSS.d, 0, scale=0.1)
    here.begin(w, precision.oracle)
    exact = objective(Bare(LOSS), w, PENALTY)
    assert here.iterate.objective != exact
    point = precision.refine(here)
    assert not precision.single
    assert here.iterate.objective == pytest.approx(exact, rel=1e-15)
    assert here.iterate.loss == point.value == LOSS(w.dense(LOSS.d))[0]
    assert here.iterate.weights is not None
    assert precision.refine(here) is None  # once


def test_what_single_precision_told_is_no_proof():
    here = standing(Rounding(LOSS))
    precision = Precision(here.oracle, single=True)
    here.begin(SparseVector.empty(), precision.oracle)
    here.certificate = replace(here.certificate, bound=50.0)
    precision.refine(here)
    assert here.certificate == Certificate(-math.inf, math.inf)


# --- in a run --------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-4, 1e-8, 1e-11])
def test_what_is_returned_is_exact(tol):
    oracle = Rounding(LOSS)
    rounded = minimize(oracle, 4.0, stop="gap", tol=tol)
    exact = minimize(Rounding(LOSS), 4.0, stop="gap", tol=tol, solver=ProxQN(single=False))
    assert rounded.success
    assert exact.success
    assert oracle.asked > 5  # it did work in single precision
    assert rounded.fun == pytest.approx(objective(Bare(LOSS), rounded.weights, PENALTY), rel=1e-14)
    assert rounded.fun == pytest.approx(exact.fun, rel=2 * tol)
    assert rounded.kkt == pytest.approx(kkt_residual(Bare(LOSS), rounded.weights, PENALTY))
    assert rounded.gap <= tol * rounded.fun


def test_most_of_a_close_fit_is_made_in_single_precision():
    oracle, seen = Rounding(LOSS), []
    plain_at = oracle.at
    oracle.at = lambda w: seen.append(w) or plain_at(w)
    result = minimize(oracle, 4.0, tol=1e-8)
    assert result.success
    assert oracle.asked > 2 * len(seen)


def test_a_run_that_ends_early_is_certified_in_double_precision():
    result = minimize(Rounding(LOSS), 4.0, tol=0.0, max_iter=4)
    best = minimize(Bare(LOSS, lower_bound=0.0), 4.0, tol=1e-11)
    assert result.trace[-1].certified
    assert result.fun == pytest.approx(objective(Bare(LOSS), result.weights, PENALTY), rel=1e-14)
    assert result.fun - result.gap <= best.fun * (1 + 1e-12)
    assert np.isfinite(result.gap)
