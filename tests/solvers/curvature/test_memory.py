"""What one run leaves to the next: another λ of the same loss."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.points import Logistic
from tests.problems import random_chain
from tests.rival_problems import small_tree

from proxqn import lambda_max, minimize
from proxqn.solvers.curvature.memory import DrawExperience, Memory

PROOF = {"stop": "gap", "tol": 1e-4}


def chain(n_sequences: int = 400):
    return random_chain(
        6, n_labels=5, n_features=300, n_sequences=n_sequences, density=0.02
    ).oracle()


LOSSES = {
    "chain": chain,
    "tree": lambda: small_tree(2),
    "function": lambda: Logistic(3, n=300, d=60).oracle(),
}


def passes(result) -> float:
    return result.trace[-1].calls["forward"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("factor", [0.7, 1.4], ids=["down", "up"])
def test_no_more_passes_than_from_zero_and_the_same_optimum(loss, factor):
    oracle = LOSSES[loss]()
    lam = 0.1 * lambda_max(oracle)
    before = minimize(oracle, lam / factor, **PROOF)
    cold = minimize(oracle, lam, **PROOF)
    warm = minimize(oracle, lam, x0=before, **PROOF)
    assert warm.success
    assert passes(warm) <= passes(cold)
    assert warm.fun == pytest.approx(cold.fun, rel=1e-4)


def test_a_result_is_as_good_a_start_the_second_time():
    oracle = chain()
    lam = 0.1 * lambda_max(oracle)
    before = minimize(oracle, 1.3 * lam)
    one, other = (minimize(oracle, lam, x0=before) for _ in range(2))
    np.testing.assert_array_equal(one.weights.values, other.weights.values)
    again = minimize(oracle, lam, x0=pickle.loads(pickle.dumps(before)))
    np.testing.assert_array_equal(one.weights.values, again.weights.values)


def test_it_holds_pairs_on_the_last_working_set():
    result = minimize(chain(), 5.0)
    memory = result.memory
    assert isinstance(memory, Memory)
    assert (
        memory.steps.shape == memory.changes.shape == (len(memory.steps), len(memory.coordinates))
    )
    assert np.isin(result.weights.coordinates, memory.coordinates).all()
    assert memory.gamma > 0.0
    assert 0 <= memory.draws.steps <= 24


def test_without_a_step_there_is_none_or_the_one_given():
    oracle = chain()
    lam = 0.1 * lambda_max(oracle)
    assert minimize(oracle, 2.0 * lambda_max(oracle)).memory is None
    first = minimize(oracle, lam)
    again = minimize(oracle, lam, x0=first)
    assert again.nit == 0
    assert again.memory is first.memory


def test_other_solvers_start_from_the_weights_alone():
    oracle = Logistic(3, n=300, d=60).oracle()
    before = minimize(oracle, 8.0)
    assert minimize(oracle, 6.0, x0=before, solver="owl-qn", tol=1e-2).success


def test_draws_know_nothing_at_first():
    assert DrawExperience() == DrawExperience(0, 0.0, 1.0)


def test_draws_are_not_trusted_where_most_variables_are_new():
    oracle = chain(1000)
    largest = lambda_max(oracle)
    before = minimize(oracle, 0.5 * largest, **PROOF)
    far = minimize(oracle, 0.02 * largest, x0=before, **PROOF)
    alone = minimize(oracle, 0.02 * largest, x0=before.weights, **PROOF)
    assert passes(far) <= 1.1 * passes(alone)
