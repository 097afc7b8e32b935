"""The start from a rough solution on a sample."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import Logistic
from tests.problems import random_chain
from tests.strangers import Bare, Sampled

from proxqn import ProxQN, lambda_max, minimize
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.prox_qn.warm_start import sample_of, speaks_for

LARGE = Logistic(0, n=12_000, d=12)


# --- the sample ------------------------------------------------------------------------------


def test_it_is_a_share_of_the_samples_scaled_to_the_whole():
    oracle = Sampled(LARGE)
    part = sample_of(oracle, 0.15, seed=0, depth=0)
    ((samples, factor),) = oracle.restricted
    assert len(samples) == 1800 == part.n_samples
    assert factor == pytest.approx(12_000 / 1800)
    assert (np.diff(samples) > 0).all()
    assert part.at(SparseVector.empty()).value == pytest.approx(12_000 * np.log(2.0))


def test_the_seed_chooses_it():
    oracle = Sampled(LARGE)
    for seed in (1, 1, 2):
        sample_of(oracle, 0.15, seed=seed, depth=0)
    one, same, other = (samples for samples, _ in oracle.restricted)
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@pytest.mark.parametrize(
    ("share", "depth", "why"),
    [(0.0, 0, "none wanted"), (0.016, 0, "too few samples"), (0.15, 2, "deep enough")],
)
def test_it_may_not_be_worth_it(share, depth, why):
    oracle = Sampled(LARGE)
    assert sample_of(oracle, share, seed=0, depth=depth) is None, why
    assert oracle.restricted == []


def test_a_loss_that_is_no_sum_has_none():
    class Many(Bare):
        n_samples = 12_000

    assert sample_of(Many(LARGE), 0.15, seed=0, depth=0) is None


def test_a_sample_speaks_for_the_data_where_it_foretells_them():
    assert speaks_for(100.0, 101.0)
    assert speaks_for(100.0, 90.0)
    assert not speaks_for(100.0, 110.0)
    assert not speaks_for(-np.inf, 1.0)  # no sample at all


# --- in a run --------------------------------------------------------------------------------


def test_a_sample_is_sampled_once_more():
    oracle = Sampled(LARGE)
    assert minimize(oracle, 20.0).success
    assert [len(samples) for samples, _ in oracle.restricted] == [1800, 270]


def test_it_changes_the_path_and_not_the_optimum():
    results = [
        minimize(Sampled(LARGE), 20.0, solver=ProxQN(warm_up=share), tol=1e-9, max_iter=3000)
        for share in (0.0, 0.15)
    ]
    assert all(r.success for r in results)
    assert results[0].fun == pytest.approx(results[1].fun, rel=2e-9)
    assert results[1].trace[0].nnz > 0  # it began where the subsample ended
    assert results[0].trace[0].nnz == 0
    assert results[1].trace[0].objective < results[0].trace[0].objective


def test_passes_over_a_sample_count_as_its_share():
    result = minimize(Sampled(LARGE), 20.0)
    first = result.trace[0].calls["forward"]
    assert 0.0 < first - 1.0 < 8.0  # one pass over all at the start, and more over 15 and 2 %
    assert first != round(first)


def test_given_weights_are_not_thrown_away_for_a_sample():
    oracle = Sampled(LARGE)
    minimize(oracle, 20.0, x0=np.full(12, 0.1))
    assert oracle.restricted == []


@pytest.mark.parametrize("before", [4.0, 2.0, 0.5])
def test_the_solution_at_another_lambda_is_a_better_start_than_none(before):
    problem = random_chain(6, n_labels=5, n_features=300, n_sequences=1000, density=0.02)
    lam = 0.05 * lambda_max(problem.oracle())
    cold = minimize(problem.oracle(), lam)
    start = minimize(problem.oracle(), before * lam).weights
    warm = minimize(problem.oracle(), lam, x0=start)
    assert warm.success
    for passes in ("forward", "backward"):
        assert warm.trace[-1].calls[passes] <= cold.trace[-1].calls[passes] + 2
    assert warm.fun <= cold.fun * (1 + 3e-4)


def test_a_solution_has_nothing_left_to_do():
    problem = random_chain(6, n_labels=5, n_features=300, n_sequences=1000, density=0.02)
    lam = 0.05 * lambda_max(problem.oracle())
    first = minimize(problem.oracle(), lam)
    again = minimize(problem.oracle(), lam, x0=first.weights)
    assert (again.nit, again.fun) == (0, pytest.approx(first.fun, rel=1e-12))
