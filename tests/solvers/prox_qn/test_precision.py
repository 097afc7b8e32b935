"""Single precision while it leads on; double precision for what is proved and returned."""

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
from proxqn.solvers.prox_qn.precision import ROUNDING, Precision
from proxqn.solvers.standing import Goal, Standing

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


def test_what_was_proved_in_single_precision_holds_less_its_rounding():
    here = standing(Rounding(LOSS))
    precision = Precision(here.oracle, single=True)
    here.begin(SparseVector.empty(), precision.oracle)
    here.certificate = replace(here.certificate, bound=50.0)
    point = precision.refine(here)
    assert here.certificate == Certificate(50.0 - ROUNDING * point.value, math.inf)


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
