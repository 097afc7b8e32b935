"""Steps that gain less than the loss's rounding in single precision."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import Logistic, objective
from tests.strangers import Bare, Rounding

from proxqn import minimize
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.line_search import Armijo, expected_change
from proxqn.solvers.prox_qn.search import FloatSearch
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
