"""The start by stochastic steps: when it is made, how long it lasts, what becomes of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.points import Logistic
from tests.problems import random_chain
from tests.strangers import Bare

from proxqn import ProxQN, minimize
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector
from proxqn.problem.stepwise import StochasticOffer, StochasticSteps
from proxqn.solvers.prox_qn.stochastic_start import StochasticStart, pays
from proxqn.solvers.standing import Goal, Standing

LOSS = Logistic(0, n=400, d=5)
LENGTHS = (4, 5, 6)


class Scripted(StochasticSteps):
    """Meets the losses it is told to, and stays where it is."""

    def __init__(self, losses):
        self.losses, self.seeds = list(losses), []

    def epoch(self, seed):
        self.seeds.append(seed)
        return self.losses.pop(0)

    def weights(self):
        return SparseVector(np.array([2]), np.array([0.5]))


class Offering(Bare):
    """A loss that offers such steps."""

    n_samples = 400

    def __init__(self, loss, losses=(), **offered):
        super().__init__(loss)
        self.steps, self.offered = Scripted(losses), offered

    def pass_cost(self):
        return 100.0

    def stochastic(self, penalty):
        facts = {"cost": 120.0, "n_free": 400, "n_rows": 400} | self.offered
        return StochasticOffer(**facts, begin=lambda: self.steps)


def start_of(oracle, seed=0):
    standing = Standing(oracle, ElasticNet(1.0), Goal(1e-4, 10))
    return StochasticStart(standing, seed), standing


# --- when --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"n_free": 20}, "few features to fit: a sample tells of them"),
        ({"cost": 1000.0}, "an epoch costs many passes"),
    ],
)
def test_it_is_left_where_it_does_not_pay(facts, why):
    start, _ = start_of(Offering(LOSS, **facts))
    assert start.weights() is None, why


def test_few_samples_are_not_worth_it():
    oracle = Offering(LOSS)
    assert pays(oracle.stochastic(None), oracle)
    oracle.n_samples = 50
    assert not pays(oracle.stochastic(None), oracle)


def test_losses_without_it_are_left_alone():
    start, _ = start_of(Bare(LOSS))
    assert start.weights() is None


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
        (range(2000, 0, -150), 12),  # no more than twelve
    ],
)
def test_epochs_end_once_one_gains_little(losses, epochs):
    oracle = Offering(LOSS, losses)
    start, standing = start_of(oracle, seed=7)
    weights = start.weights()
    assert weights.coordinates.tolist() == [2]
    assert oracle.steps.seeds == list(range(7, 7 + epochs))
    assert standing.calls.counts["forward"] == epochs == standing.calls.counts["backward"]


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
    assert with_it.nfev <= without.nfev


def test_threads_change_no_bit_of_a_fit():
    one, more = (minimize(text().oracle(n_jobs=n), 0.1, tol=1e-4) for n in (1, 3))
    assert "start" in one.trace[0].phase_seconds
    assert one.fun == more.fun
    np.testing.assert_array_equal(one.weights.values, more.weights.values)


def test_the_paper_has_none():
    assert not ProxQN.paper().stochastic
