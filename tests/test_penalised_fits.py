"""Whole fits under penalties of each weight's own: the optimum of an independent solver.

Non-negative, boxed, a λ and a ridge for each feature, unpenalised weights, all unpenalised: for a
function, the tree and the chain; to 1e-6 of the optimum that L-BFGS-B finds on split variables,
with a KKT residual of at most 1e-6·λ.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from benchmarks.independent import Numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import __version__
from sklearn.linear_model import LogisticRegression
from tests.points import Logistic, kkt_residual, objective
from tests.problems import random_chain
from tests.rival_problems import small_tree
from tests.strangers import Bare

from benchmarks import independent
from proxqn import ProxQN, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Local, Penalty
from proxqn.run.status import Status
from proxqn.solvers.rivals.prox_gd import ProxGD
from proxqn.testing import check_penalty

INF = np.inf
sklearn_version = tuple(map(int, __version__.split(".")[:2]))


def losses() -> dict[str, Oracle]:
    return {
        "function": Logistic(3).oracle(),
        "tree": small_tree(1),
        "chain": random_chain(2, n_labels=4, n_features=10, n_sequences=40).oracle(),
    }


def every(k: int, n: int):
    return np.arange(n) % k == 0


PENALTIES = {
    "plain": lambda n, lam: Numbers.of(n, lam),
    "non-negative": lambda n, lam: Numbers.of(n, lam, lower=0.0),
    "box": lambda n, lam: Numbers.of(n, lam, lower=-0.2, upper=0.1),
    "a lam each": lambda n, lam: Numbers.of(n, lam * np.geomspace(0.2, 2.0, n)),
    "a ridge each": lambda n, lam: Numbers.of(n, lam, l2=np.where(every(2, n), 0.5, 0.0)),
    "all ridges": lambda n, lam: Numbers.of(n, lam, l2=np.linspace(0.1, 1.0, n)),
    "unpenalised": lambda n, lam: Numbers.of(n, np.where(every(9, n), 0.0, lam)),
    "unpenalised, boxed": lambda n, lam: Numbers.of(
        n, np.where(every(9, n), 0.0, lam), lower=-3.0, upper=3.0
    ),
    "all of it": lambda n, lam: Numbers.of(
        n,
        np.where(every(7, n), 0.0, lam),
        l2=np.where(every(3, n), 0.7, 0.0),
        lower=np.where(every(4, n), 0.0, -INF),
        upper=np.where(every(5, n), 0.05, INF),
    ),
    "all free, ridge": lambda n, lam: Numbers.of(n, 0.0, l2=1.0),
    "all free, boxed": lambda n, lam: Numbers.of(n, 0.0, lower=-0.3, upper=0.3),
}


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("loss", losses())
@pytest.mark.parametrize("paper", [False, True], ids=["default", "paper"])
def test_the_optimum_is_the_independent_solver_s(loss, kind, paper):
    oracle, lam = losses()[loss], 2.0
    numbers = PENALTIES[kind](oracle.n_coordinates, lam)
    solver = ProxQN.paper() if paper else ProxQN()
    tol = 1e-15 if numbers.l2.all() else 1e-12  # a gap is about the residual's square over ρ
    result = minimize(
        oracle, **numbers.arguments(), stop="gap", tol=tol, max_iter=3000, solver=solver
    )
    truth = independent_optimum(loss, kind)
    assert result.fun == pytest.approx(truth, rel=1e-6)
    assert result.fun <= truth * (1 + 1e-9)  # and L-BFGS-B is not better
    unit = numbers.penalty.least if np.isfinite(numbers.penalty.least) else 1.0
    assert kkt_residual(oracle, result.weights, numbers.penalty) <= 1e-6 * unit
    local = numbers.penalty.on(result.weights.coordinates)
    assert (result.weights.values >= local.lower).all()
    assert (result.weights.values <= local.upper).all()
    assert result.fun == pytest.approx(objective(oracle, result.weights, numbers.penalty))
    assert result.fun - result.gap <= truth * (1 + 1e-9)


@cache
def independent_optimum(loss: str, kind: str) -> float:
    oracle = losses()[loss]
    numbers = PENALTIES[kind](oracle.n_coordinates, 2.0)
    return independent.optimum(independent.as_function(oracle), numbers)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_any_mixture_is_solved(seed):
    rng, loss = np.random.default_rng(seed), Logistic(seed, n=60, d=10)
    lam = rng.uniform(0.3, 4.0, 10) * (rng.random(10) < 0.8)
    l2 = rng.uniform(0.05, 2.0, 10) * (rng.random(10) < 0.5)
    lower = np.where(rng.random(10) < 0.4, rng.choice([0.0, -0.1], 10), -5.0)
    upper = np.where(rng.random(10) < 0.4, rng.choice([0.0, 0.2], 10), 5.0)
    numbers = Numbers(lam, l2, lower, upper)
    result = minimize(loss.oracle(), **numbers.arguments(), stop="gap", tol=1e-9, max_iter=2000)
    truth = independent.optimum(loss, numbers)
    assert result.status is Status.GAP
    assert result.fun == pytest.approx(truth, rel=1e-7)


# --- an unpenalised intercept ----------------------------------------------------------------


def with_intercept(loss: Logistic) -> Logistic:
    found = Logistic(0)
    found.A, found.y = np.hstack([np.ones((len(loss.y), 1)), loss.A]), loss.y
    return found


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_an_unpenalised_intercept_is_scikit_learn_s(kind):
    loss = Logistic(5, n=200, d=15)
    loss.y = np.where(np.arange(200) % 3 == 0, loss.y, 1.0)  # far from balanced
    strength, ours = 3.0, with_intercept(loss)
    penalised = np.append(0.0, np.full(15, strength))
    if kind == "l1":
        result = minimize(ours.oracle(), penalised, tol=1e-9, max_iter=3000)
        how = {"l1_ratio": 1.0, "solver": "saga"}
    else:
        result = minimize(ours.oracle(), 0.0, l2=penalised, tol=1e-9, max_iter=3000)
        how = {"l1_ratio": 0.0, "solver": "lbfgs"}
    if sklearn_version < (1, 8):  # before, the kind of penalty was a word
        how = {"penalty": kind, "solver": how["solver"]}
    theirs = LogisticRegression(C=1.0 / strength, tol=1e-12, max_iter=200_000, **how)
    theirs.fit(loss.A, loss.y)
    w = np.append(theirs.intercept_, theirs.coef_[0])
    norm = np.abs(w[1:]).sum() if kind == "l1" else 0.5 * np.square(w[1:]).sum()
    assert result.success
    assert result.fun == pytest.approx(ours(w)[0] + strength * norm, rel=1e-6)
    np.testing.assert_allclose(result.x, w, atol=2e-4)
    assert abs(result.x[0]) > 0.3


# --- what is said where nothing is proved ----------------------------------------------------


def test_unpenalised_weights_without_bounds_end_by_kkt_and_say_why():
    lam = np.where(every(9, 25), 0.0, 2.0)
    result = minimize(Logistic(3).oracle(), lam, stop="gap", tol=1e-6, max_iter=3000)
    assert result.status is Status.UNPENALISED
    assert result.success
    assert "some weights have no penalty" in result.message
    assert not result.certified
    bounded = minimize(
        Logistic(3).oracle(), lam, bounds=(-50.0, 50.0), stop="gap", tol=1e-6, max_iter=3000
    )
    assert bounded.status is Status.GAP
    assert bounded.certified
    assert bounded.fun == pytest.approx(result.fun, rel=1e-6)  # no bound is reached


def test_weights_without_penalty_that_need_none_are_proved():
    """With a ridge on them, as with bounds, their derivative has a price."""
    lam, l2 = np.where(every(9, 25), 0.0, 2.0), np.where(every(9, 25), 0.1, 0.0)
    assert minimize(Logistic(3).oracle(), lam, l2=l2, stop="gap", tol=1e-8).status is Status.GAP


# --- one number is as many -------------------------------------------------------------------


@pytest.mark.parametrize("loss", losses())
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_constant_array_gives_the_weights_of_its_number(loss, l2):
    oracle = losses()[loss]
    n = oracle.n_coordinates
    one = minimize(oracle, 2.0, l2=l2, tol=1e-10, max_iter=2000)
    many = minimize(oracle, np.full(n, 2.0), l2=np.full(n, l2), tol=1e-10, max_iter=2000)
    np.testing.assert_allclose(many.weights.dense(n), one.weights.dense(n), atol=1e-5)
    assert many.fun == pytest.approx(one.fun, rel=1e-10)


def test_bounds_out_of_reach_change_nothing():
    oracle = losses()["chain"]
    plain = minimize(oracle, 2.0, tol=1e-9)
    boxed = minimize(oracle, 2.0, bounds=(-1e6, 1e6), tol=1e-9)
    assert boxed.fun == pytest.approx(plain.fun, rel=2e-9)


# --- strangers -------------------------------------------------------------------------------


class Growing(Penalty):
    """``λ_j = c √(j + 1)``, made where it is asked for: only what a penalty must have."""

    least = 0.0  # of this one

    def __init__(self, c: float) -> None:
        self.least = c

    def on(self, coordinates):
        lam, one = self.least * np.sqrt(coordinates + 1.0), np.ones(1)
        return Local(lam, 0.0 * one, -INF * one, INF * one)


class Halfway(Penalty):
    """Non-negative, with ridges: λ is one number."""

    least = 1.5

    def on(self, coordinates):
        one = np.ones(1)
        return Local(1.5 * one, 0.1 + 0.01 * coordinates, 0.0 * one, INF * one)


STRANGERS = {
    "growing": (Growing(1.5), lambda n: Numbers.of(n, 1.5 * np.sqrt(np.arange(n) + 1.0))),
    "halfway": (Halfway(), lambda n: Numbers.of(n, 1.5, 0.1 + 0.01 * np.arange(n), 0.0)),
}
SOLVERS = {"prox-qn": ProxQN(), "paper": ProxQN.paper(), "prox-gd": ProxGD()}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_stranger_s_penalty_passes_through(name, solver):
    """It implements ``on`` and ``least``, and nothing else."""
    penalty, as_numbers = STRANGERS[name]
    check_penalty(penalty, 25)
    loss = Logistic(4)
    result = minimize(
        loss.oracle(),
        penalty=penalty,
        solver=SOLVERS[solver],
        stop="gap",
        tol=1e-8,
        max_iter=20_000,
    )
    assert result.status is Status.GAP
    assert result.fun == pytest.approx(independent.optimum(loss, as_numbers(25)), rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("proved", [True, False])
def test_a_stranger_s_loss_passes_through(solver, proved):
    """It implements ``n_coordinates`` and ``at``, and nothing else."""
    loss, numbers = Logistic(4), Numbers.of(25, 2.0, lower=-0.3, upper=0.2)
    oracle = Bare(loss, lower_bound=0.0 if proved else None)
    result = minimize(
        oracle, **numbers.arguments(), solver=SOLVERS[solver], stop="gap", tol=1e-7, max_iter=20_000
    )
    assert result.status is (Status.GAP if proved else Status.KKT)
    assert result.fun == pytest.approx(independent.optimum(loss, numbers), rel=1e-6)


def test_a_stranger_s_loss_under_a_stranger_s_penalty_is_certified():
    loss = Logistic(4)
    result = minimize(Bare(loss, lower_bound=0.0), penalty=Growing(1.5), stop="gap", tol=1e-9)
    assert result.status is Status.GAP
    assert result.gap <= 1e-9 * result.fun
    assert (
        minimize(FunctionOracle(loss, 25), penalty=Growing(1.5), stop="gap", tol=1e-9).status
        is Status.KKT
    )
