"""The smallest λ that keeps all weights at zero."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import Logistic, full_gradient
from tests.rival_problems import PROBLEMS

from proxqn import ChainOracle, lambda_max, minimize
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.sparse import SparseVector

LOSS = Logistic(3, n=300, d=20)


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_is_the_largest_derivative_at_zero(name):
    make, seed = PROBLEMS[name]
    oracle = make(seed)
    largest = lambda_max(oracle)
    g = full_gradient(oracle, oracle.at(SparseVector.empty()))
    assert largest == pytest.approx(np.abs(g).max(), rel=1e-12)
    assert minimize(oracle, largest * (1 + 1e-9)).nnz == 0
    assert minimize(oracle, 0.99 * largest, tol=1e-9, stop="gap").nnz > 0


def test_a_function_needs_the_number_of_variables():
    assert lambda_max(LOSS, x0=np.zeros(20)) == pytest.approx(np.abs(LOSS(np.zeros(20))[1]).max())
    with pytest.raises(ValueError, match="x0 is needed with a function"):
        lambda_max(LOSS)
    with pytest.raises(TypeError, match="expected an Oracle or a function"):
        lambda_max(3.0)


@pytest.mark.parametrize("seed", range(5))
def test_each_weight_may_have_a_factor(seed):
    factors = np.exp(np.random.default_rng(seed).normal(size=20))
    g = np.abs(LOSS(np.zeros(20))[1])
    found = lambda_max(LOSS, x0=np.zeros(20), factors=factors)
    assert found == pytest.approx((g / factors).max())


def test_bounds_leave_out_what_cannot_move():
    g = LOSS(np.zeros(20))[1]
    found = lambda_max(
        LOSS, x0=np.zeros(20), penalty=lambda lam: Separable(lam * np.ones(20), lower=0.0)
    )
    assert found == pytest.approx(-g.min())


def test_unpenalised_weights_are_fitted_first():
    factors = np.ones(20)
    free = int(np.abs(LOSS(np.zeros(20))[1]).argmax())
    factors[free] = 0.0
    largest = lambda_max(LOSS, x0=np.zeros(20), factors=factors)
    for factor, others in ((1.001, 0), (0.98, 1)):
        lam = factor * largest * factors
        found = minimize(LOSS, lam, x0=np.zeros(20), tol=1e-8).x
        assert found[free] != 0.0
        assert (np.delete(found, free) != 0.0).sum() == others


def test_a_group_may_have_a_lambda_of_its_own():
    own = np.arange(20) < 5

    def penalty(lam):
        return Separable(np.where(own, 3.0, lam))

    largest = lambda_max(LOSS, x0=np.zeros(20), penalty=penalty)
    above = minimize(LOSS, x0=np.zeros(20), penalty=penalty(1.001 * largest), tol=1e-8).x
    below = minimize(LOSS, x0=np.zeros(20), penalty=penalty(0.98 * largest), tol=1e-8).x
    assert (above[own] != 0.0).any()
    assert not above[~own].any()
    assert below[~own].any()


def test_where_nothing_can_be_gained_it_is_zero():
    X, y = np.zeros((2, 1)), np.array([0, 1])
    flat = ChainOracle(X, y, np.array([1, 1]), n_labels=2)
    assert lambda_max(flat) == 0.0
    assert lambda_max(flat, penalty=lambda lam: ElasticNet(lam, 1.0)) == 0.0


def test_a_loss_that_is_not_finite_has_none():
    with pytest.raises(ValueError, match="not finite at zero"):
        lambda_max(lambda w: (np.nan, np.nan * w), x0=np.zeros(2))
