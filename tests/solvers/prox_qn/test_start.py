"""Where a cold run begins: by stochastic steps or from a sample; when, and what becomes of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.points import Logistic
from tests.problems import random_chain
from tests.strangers import Bare, Sampled

from proxqn import ProxQN, lambda_max, minimize
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector
from proxqn.problem.stepwise import StochasticOffer, StochasticSteps
from proxqn.solvers.prox_qn.start import by_stochastic_steps, pays, sample_of, speaks_for
from proxqn.solvers.standing import Goal, Standing

LOSS = Logistic(0, n=400, d=5)
LENGTHS = (4, 5, 6)


class Scripted(StochasticSteps):
    """Meets the losses it is told to, and stays where it is."""

    def __init__(self, losses):
        self.losses, self.seeds, self.where = list(losses), [], np.array([2])

    def epoch(self, seed):
        self.seeds.append(seed)
        return self.losses.pop(0)

    def weights(self):
        return SparseVector(self.where, np.full(len(self.where), 0.5))


class Offering(Bare):
    """A loss that offers such steps."""

    n_samples = 400

    def __init__(self, loss, losses=(), **offered):
        super().__init__(loss)
        self.steps, self.offered = Scripted(losses), offered

    def pass_cost(self):
        return 100.0

    def stochastic(self, penalty):
        facts = {"cost": 120.0, "n_free": 400, "n_rows": 400, "n_entries": 4000} | self.offered
        return StochasticOffer(**facts, begin=lambda: self.steps)


def start_of(oracle, seed=0):
    standing = Standing(oracle, ElasticNet(1.0), Goal(1e-4, 10))
    return by_stochastic_steps(standing, seed), standing


# --- when --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"n_free": 20}, "few features to fit: a sample tells of them"),
        ({"cost": 1000.0}, "an epoch costs many passes"),
    ],
)
def test_it_is_left_where_it_does_not_pay(facts, why):
    weights, _ = start_of(Offering(LOSS, **facts))
    assert weights is None, why


def test_few_samples_are_not_worth_it():
    oracle = Offering(LOSS)
    assert pays(oracle.stochastic(None), oracle)
    oracle.n_samples = 50
    assert not pays(oracle.stochastic(None), oracle)


def test_losses_without_it_are_left_alone():
    weights, _ = start_of(Bare(LOSS))
    assert weights is None


def test_weights_to_start_from_are_kept():
    oracle = Offering(LOSS, [1.0])
    minimize(oracle, 1.0, x0=SparseVector(np.array([1]), np.array([0.1])), max_iter=3)
    assert oracle.steps.seeds == []


# --- how long ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "epochs"),
    [
        ([100, 100, 100, 1], 3),  # three at least
        ([100, 50, 40, 30, 29.5, 1], 5),
        (range(2000, 0, -60), 30),  # no more than thirty
    ],
)
def test_epochs_end_once_one_gains_little(losses, epochs):
    oracle = Offering(LOSS, losses)
    weights, standing = start_of(oracle, seed=7)
    assert weights.coordinates.tolist() == [2]
    assert oracle.steps.seeds == list(range(7, 7 + epochs))
    assert standing.calls.counts["forward"] == epochs == standing.calls.counts["backward"]


def test_they_go_on_longer_where_a_step_of_the_solver_is_dear():
    oracle = Offering(LOSS, [100, 50, 40, 39.6, 39.59, 1], n_entries=6)
    oracle.steps.where = np.array([0, 2, 4])  # a weight for two entries: a step takes 25 epochs
    start_of(oracle)
    assert len(oracle.steps.seeds) == 5  # one weight: 4


# --- what becomes of it ------------------------------------------------------------------------


def text():
    """Many rare features, as words are."""
    random = np.random.default_rng(0)
    problem = random_chain(0, n_labels=12, n_features=10, n_sequences=400, max_length=8)
    n_tokens = int(problem.lengths.sum())
    words = np.minimum(random.zipf(1.3, (n_tokens, 3)), 4000) - 1
    rare = sp.csr_array(
        (np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 3)),
        shape=(n_tokens, 4000),
    )
    rare.sum_duplicates()
    X = sp.csr_array(sp.hstack([problem.X, rare]))
    return type(problem)(X, problem.labels, problem.lengths, 12)


def test_it_begins_fits_of_text_and_ends_at_the_same_optimum():
    oracle = text().oracle()
    lam = 0.1
    with_it = minimize(oracle, lam, tol=1e-6)
    without = minimize(oracle, lam, tol=1e-6, solver=ProxQN(stochastic=False))
    assert with_it.trace[0].phase_seconds["start"] > 0.0
    assert "start" not in without.trace[0].phase_seconds
    assert with_it.trace[0].objective < without.trace[0].objective
    assert with_it.fun == pytest.approx(without.fun, rel=2e-6)
    assert with_it.nfev <= 1.05 * without.nfev


def test_threads_change_no_bit_of_a_fit():
    one, more = (minimize(text().oracle(n_jobs=n), 0.1, tol=1e-4) for n in (1, 3))
    assert "start" in one.trace[0].phase_seconds
    assert one.fun == more.fun
    np.testing.assert_array_equal(one.weights.values, more.weights.values)


def test_the_paper_has_none():
    assert not ProxQN.paper().stochastic


# --- from a sample -------------------------------------------------------------------------------


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
