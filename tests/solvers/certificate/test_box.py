"""The best scale of a dual point, and what is proved if weights have bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import random_weights
from tests.problems import random_chain

from proxqn import minimize
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.oracle import NOTHING, Point
from proxqn.solvers.certificate import bound, box
from proxqn.solvers.working_set import gather

LAM = 0.5


def problem():
    return random_chain(5, n_labels=4, n_sequences=20)


def looked_at(oracle, penalty, w):
    point = oracle.at(w)
    at, _ = gather(point, penalty, w)
    return point, at


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_it_is_below_every_objective_within_the_box(seed, l2):
    oracle = problem().oracle()
    penalty = ElasticNet(LAM, l2)
    w = random_weights(oracle.n_coordinates, seed, scale=10.0 ** (seed % 4 - 2), share=0.3)
    found = box.assumed(*looked_at(oracle, penalty, w))
    assert found is not None
    assert found.largest == 2.0 * np.abs(w.values).max()
    within = (-found.largest, found.largest)
    best = minimize(oracle, LAM, l2=l2, bounds=within, stop="gap", tol=1e-9, max_iter=3000)
    assert found.bound <= best.fun * (1 + 1e-9)


@pytest.mark.parametrize(
    "penalty",
    [ElasticNet(LAM, 0.3), Separable(LAM, lower=-0.4, upper=0.4), Separable(LAM, 0.1, -0.4, 0.4)],
)
def test_no_scale_proves_more(penalty):
    oracle = problem().oracle()
    w = random_weights(oracle.n_coordinates, 3, scale=0.1, share=0.3)
    point, at = looked_at(oracle, penalty, w)
    tried = [
        -point.conjugate(s) - at.penalty.conjugate(s * at.g) for s in np.linspace(0.01, 1.0, 400)
    ]
    found = box.best_bound(point, at)
    assert found >= max(tried) - 1e-6 * abs(max(tried))
    assert found >= bound.certify(point, at, convex=True).bound - 1e-9 * abs(found)


class Counting(Point):
    """A point that counts what its conjugate is asked for."""

    def __init__(self, inside, dual=None):
        self.value, self.inside, self.dual, self.asked = inside.value, inside, dual, []

    def gradient(self, coordinates):
        return self.inside.gradient(coordinates)

    def sweep(self, level, keep=NOTHING):
        return self.inside.sweep(level, keep)

    def along(self, direction):
        return self.inside.along(direction)

    def conjugate(self, scale):
        self.asked.append(scale)
        return self.dual(scale) if self.dual else self.inside.conjugate(scale)


def test_an_end_that_proves_most_is_kept_to_the_last_bit():
    """A dual that grows, or falls, all the way: the search within comes near its end, not to it."""
    oracle, penalty = problem().oracle(), Separable(LAM, lower=-0.4, upper=0.4)
    w = random_weights(oracle.n_coordinates, 3, scale=0.1, share=0.3)
    inside, at = looked_at(oracle, penalty, w)
    low, high = bound.largest_scale(at.penalty, at.g), 1.0
    assert low < high
    for end, slope in ((low, 1e6), (high, -1e6)):
        point = Counting(inside, lambda s, slope=slope: slope * s)
        truth = -slope * end - at.penalty.conjugate(end * at.g)
        assert box.best_bound(point, at) == truth


def test_nothing_is_searched_where_there_is_nothing_to_find():
    oracle = problem().oracle()
    w = random_weights(oracle.n_coordinates, 3, scale=0.1, share=0.3)
    inside, at = looked_at(oracle, ElasticNet(LAM), w)
    one_scale = Counting(inside)  # violators without a price: all are scaled away
    assert box.best_bound(one_scale, at) == bound.certify(inside, at, convex=True).bound
    assert len(one_scale.asked) == 2
    inside, at = looked_at(oracle, ElasticNet(LAM, 0.3), w)
    unknown = Counting(inside, lambda s: None)
    assert box.best_bound(unknown, at) == -math.inf
    assert len(unknown.asked) == 2


def test_at_zero_nothing_is_assumed():
    oracle = problem().oracle()
    nothing = random_weights(oracle.n_coordinates, 0, share=0.0)
    assert box.assumed(*looked_at(oracle, ElasticNet(LAM), nothing)) is None


def test_what_is_assumed_never_counts_as_the_proof():
    oracle = random_chain(1, n_labels=6, n_features=40, n_sequences=300).oracle()
    result = minimize(oracle, 2.0)
    best = minimize(oracle, 2.0, stop="gap", tol=1e-9).fun
    assert result.gap_box < result.gap
    assert result.box == pytest.approx(2.0 * np.abs(result.weights.values).max(), rel=0.5)
    assert result.fun - best <= result.gap_box
    assert f"among weights up to {result.box:.2g}" in result.message
    proved = minimize(oracle, 2.0, stop="gap", tol=1e-3)
    assert proved.gap <= 1e-3 * proved.fun


def test_bounds_of_the_problem_make_it_a_proof():
    oracle = random_chain(1, n_labels=6, n_features=40, n_sequences=300).oracle()
    largest = 2.0 * np.abs(minimize(oracle, 2.0).weights.values).max()
    bounded = minimize(oracle, 2.0, bounds=(-largest, largest))
    assert math.isinf(bounded.box)
    assert bounded.gap_box == bounded.gap
    assert bounded.gap < 0.1 * bounded.fun
