"""The best scale of a dual point, and what is proved if weights have bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import random_weights
from tests.problems import random_chain

from proxqn import minimize
from proxqn.penalties import ElasticNet, Separable
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
