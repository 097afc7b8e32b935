"""The certificate against the dual problem written out, and against optima found another way."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.independent import Numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.points import Logistic, full_gradient, kkt_residual, objective, random_weights
from tests.problems import ChainProblem, enumerate_labelings, random_chain
from tests.rival_problems import small_tree

from benchmarks import independent
from proxqn import minimize
from proxqn.losses.chain.oracle import Pairs
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector
from proxqn.run.status import Status
from proxqn.solvers.certificate import bound
from proxqn.solvers.certificate.bound import Certificate
from proxqn.solvers.working_set import gather


def certificate(oracle: Oracle, w: SparseVector, penalty: Penalty) -> Certificate:
    point = oracle.at(w)
    at, _ = gather(point, penalty, w)
    return bound.certify(point, at, convex=True)


def scale_to(oracle: Oracle, w: SparseVector, lam: float) -> float:
    return min(1.0, lam / np.abs(full_gradient(oracle, oracle.at(w))).max())


# --- the dual, one probability per labeling --------------------------------------------------


def explicit_dual(problem: ChainProblem, oracle, w: SparseVector, penalty, s: float) -> float:
    """Return Σ_i H(q_i) - Ω*(Σ_i E_q φ - φ(y_i)) at q_i = (1-s) δ_{y_i} + s P_i.

    Every q_i is a distribution over all labelings, so this is a dual value whatever s is; it is
    finite where the moments lie in Ω*'s domain.
    """
    truth = enumerate_labelings(problem, oracle, w.dense(oracle.n_coordinates))
    entropy, moments = 0.0, np.zeros(oracle.n_coordinates)
    for weight, sequence in zip(truth.weight, truth.sequences, strict=True):
        q = s * np.exp(sequence.log_p)
        q[sequence.true] += 1.0 - s
        assert q.sum() == pytest.approx(1.0)
        assert (q >= 0).all()
        entropy -= weight * (q[q > 0] * np.log(q[q > 0])).sum()
        moments += weight * (q @ sequence.phi - sequence.phi[sequence.true])
    if penalty.l2 == 0.0:
        assert np.abs(moments).max() <= penalty.lam * (1 + 1e-12)  # feasible
        return entropy
    excess = np.maximum(np.abs(moments) - penalty.lam, 0.0)
    return entropy - float(np.square(excess).sum()) / (2.0 * penalty.l2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.3, 2.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_dual_value_of_a_feasible_mixture(seed, lam, weighted):
    problem = random_chain(seed, n_sequences=8, max_length=5)
    problem = problem.with_weights() if weighted else problem
    oracle, penalty = problem.oracle(), ElasticNet(lam)
    w = random_weights(oracle.n_coordinates, seed)
    found = certificate(oracle, w, penalty)
    truth = explicit_dual(problem, oracle, w, penalty, scale_to(oracle, w, lam))
    assert found.bound == pytest.approx(truth, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("lam", "l2"), [(0.3, 5.0), (2.0, 0.1), (1000.0, 1.0)])
def test_with_a_ridge_the_bound_is_the_better_of_two_dual_values(seed, lam, l2):
    problem = random_chain(seed, n_sequences=8, max_length=5)
    oracle, penalty = problem.oracle(), ElasticNet(lam, l2)
    w = random_weights(oracle.n_coordinates, seed)
    found = certificate(oracle, w, penalty)
    scales = [1.0, scale_to(oracle, w, lam)]
    truth = max(explicit_dual(problem, oracle, w, penalty, s) for s in scales)
    assert found.bound == pytest.approx(truth, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_the_gap_is_never_smaller_than_what_is_left_to_gain(l2, pairs):
    problem = random_chain(5, n_labels=4, n_sequences=20).with_weights()
    oracle, penalty = problem.oracle(pairs=pairs), ElasticNet(0.8, l2)
    best = minimize(problem.oracle(pairs=pairs), 0.8, l2=l2, tol=1e-11, max_iter=3000)
    assert best.success
    for seed in range(20):
        w = random_weights(oracle.n_coordinates, seed, scale=10.0 ** (seed % 5 - 3), share=0.3)
        if pairs is Pairs.OBSERVED:
            w = oracle.pack(*oracle.unpack(w))
        assert certificate(oracle, w, penalty).bound <= best.fun + 1e-9 * best.fun


def test_a_start_on_pairs_without_a_weight_does_not_break_the_bound():
    """Their derivative is not in the sweep, yet a nonzero weight there is part of the problem."""
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    observed = set(oracle.at(SparseVector.empty()).sweep(0.0).gradient.coordinates)
    outside = np.array(sorted(set(range(oracle.n_coordinates)) - observed))
    w = SparseVector(outside, np.full(len(outside), 3.0))
    penalty = ElasticNet(0.5)
    found = certificate(oracle, w, penalty)
    s = min(1.0, 0.5 / np.abs(full_gradient(oracle, oracle.at(w))[outside]).max())
    assert s < 1
    assert found.bound <= explicit_dual(problem, oracle, w, penalty, s) + 1e-9


def test_samples_that_are_certain_do_no_harm():
    """p = 1 and p = 0 to working precision."""
    oracle, penalty = random_chain(8).oracle(), ElasticNet(0.5)
    w = random_weights(oracle.n_coordinates, 1, scale=2000.0)
    assert np.isfinite(certificate(oracle, w, penalty).bound)
    assert certificate(oracle, w, penalty).bound >= -1e-6


# --- penalties of each weight's own ----------------------------------------------------------


def random_numbers(rng, n: int) -> Numbers:
    """λ, ridges and bounds, of which some weights have none and some have all."""
    lam = rng.uniform(0.2, 6.0, n)
    l2 = rng.uniform(0.1, 3.0, n) * (rng.random(n) < rng.choice([0.0, 0.5, 1.0]))
    lower = np.where(rng.random(n) < 0.3, rng.choice([0.0, -0.2], n), -np.inf)
    upper = np.where(rng.random(n) < 0.3, rng.choice([0.1, 1.0], n), np.inf)
    free = rng.random(n) < rng.choice([0.0, 0.2])
    return Numbers(np.where(free, 0.0, lam), l2, lower, upper)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_no_bound_is_ever_above_the_optimum(seed):
    """A function with a lower bound, at points good and bad, under any mixture of penalties."""
    rng, loss = np.random.default_rng(seed), Logistic(seed, n=30, d=8)
    numbers = random_numbers(rng, loss.d)
    best = independent.optimum(loss, numbers)
    for scale in (0.0, 0.01, 0.3, 3.0):
        w = np.clip(scale * rng.normal(size=loss.d), numbers.lower, numbers.upper)
        w[rng.random(loss.d) < 0.3] = 0.0
        weights = SparseVector.of_dense(w)
        found = certificate(loss.oracle(), weights, numbers.penalty).bound
        assert found <= best + 1e-7 * abs(best)
        assert best <= objective(loss.oracle(), weights, numbers.penalty) * (1 + 1e-7)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_no_bound_of_a_likelihood_is_ever_above_the_optimum(seed):
    rng, oracle = np.random.default_rng(seed), small_tree(seed % 5)
    n = oracle.n_coordinates
    numbers = random_numbers(rng, n)
    run = minimize(oracle, **numbers.arguments(), tol=1e-7, max_iter=3000)
    for scale in (0.0, 0.05, 1.0):
        w = np.clip(scale * rng.normal(size=n), numbers.lower, numbers.upper)
        found = certificate(oracle, SparseVector.of_dense(w), numbers.penalty).bound
        assert found <= run.fun * (1 + 1e-12)
    at_the_end = certificate(oracle, run.weights, numbers.penalty).bound
    assert at_the_end <= run.fun * (1 + 1e-12)


@pytest.mark.parametrize(
    "how",
    [
        {"lam": 4.0},
        {"lam": np.linspace(1.0, 8.0, 25)},
        {"lam": 4.0, "l2": 1.0},
        {"lam": 4.0, "l2": np.where(np.arange(25) < 12, 1.0, 0.0)},
        {"lam": 4.0, "lower": 0.0},
        {"lam": 4.0, "lower": -0.1, "upper": 0.2},
        {"lam": 4.0, "lower": np.where(np.arange(25) < 12, -0.1, -np.inf)},
        {"lam": np.where(np.arange(25) < 3, 0.0, 4.0), "lower": -5.0, "upper": 5.0},
        {"lam": 0.0, "l2": 1.0},
    ],
    ids=[
        "plain",
        "own",
        "ridge",
        "some ridge",
        "positive",
        "box",
        "some box",
        "free box",
        "smooth",
    ],
)
def test_the_gap_closes_at_the_optimum(how):
    loss, numbers = Logistic(1), Numbers.of(25, **how)
    result = minimize(loss.oracle(), **numbers.arguments(), stop="gap", tol=1e-8, max_iter=3000)
    assert result.status is Status.GAP
    assert 0 <= result.gap <= 1e-8 * result.fun
    found = certificate(loss.oracle(), result.weights, numbers.penalty)
    assert found.bound == pytest.approx(result.fun, rel=1e-7)


def test_a_free_weight_without_bounds_leaves_nothing_proved():
    loss = Logistic(1)
    penalty = Separable(np.where(np.arange(25) == 2, 0.0, 4.0))
    found = certificate(loss.oracle(), random_weights(25, 0, scale=0.1), penalty)
    assert found.bound == -np.inf
    assert found.missing is Status.UNPENALISED
    bounded = Separable(np.where(np.arange(25) == 2, 0.0, 4.0), lower=-9.0, upper=9.0)
    assert np.isfinite(certificate(loss.oracle(), SparseVector.empty(), bounded).bound)


def test_a_function_without_a_lower_bound_proves_nothing():
    found = certificate(Logistic(1).oracle(proved=False), SparseVector.empty(), ElasticNet(4.0))
    assert found.bound == -np.inf
    assert found.missing is Status.KKT


def test_a_loss_that_is_not_convex_proves_nothing():
    point = Logistic(1).oracle().at(SparseVector.empty())
    at, _ = gather(point, ElasticNet(4.0), SparseVector.empty())
    found = bound.certify(point, at, convex=False)
    assert found == Certificate(-np.inf, at.violation, Status.STATIONARY)


# --- scales and stopping ---------------------------------------------------------------------


@given(seed=st.integers(0, 2**32))
def test_the_largest_scale_lets_no_derivative_exceed_its_lam(seed):
    rng, n = np.random.default_rng(seed), 9
    numbers, g = random_numbers(rng, n), 8.0 * rng.normal(size=n)
    penalty = numbers.penalty.on(np.arange(n))
    s = bound.largest_scale(penalty, g)
    assert 0.0 <= s <= 1.0
    room = np.where(g < 0, numbers.upper, -numbers.lower) > 0
    assert (s * np.abs(g[room]) <= numbers.lam[room] * (1 + 1e-12)).all()
    if s < 1.0:  # and no larger one does
        assert (1.001 * s * np.abs(g[room]) > numbers.lam[room]).any() or s == 0.0


@given(seed=st.integers(0, 2**32))
def test_no_bound_exceeds_what_is_provable_without_asking_the_loss(seed):
    rng, loss = np.random.default_rng(seed), Logistic(seed, n=30, d=8)
    penalty = random_numbers(rng, 8).penalty
    w = random_weights(8, seed, scale=0.3)
    point = loss.oracle().at(w)
    at, _ = gather(point, penalty, w)
    most = bound.most_provable(point.value, at)
    assert bound.certify(point, at, convex=True).bound <= most + 1e-9 * abs(point.value)


@given(seed=st.integers(0, 2**32))
def test_what_is_provable_is_the_best_of_what_fenchel_allows(seed):
    """Every scale that is tried, its price paid: nothing is added, nothing left out."""
    rng, loss = np.random.default_rng(seed), Logistic(seed, n=30, d=8)
    penalty = ElasticNet(rng.uniform(0.5, 6.0), rng.uniform(0.1, 3.0))
    w = random_weights(8, seed, scale=0.3)
    point = loss.oracle().at(w)
    at, _ = gather(point, penalty, w)
    inner = float(at.w @ at.g)
    scales = {1.0, bound.largest_scale(at.penalty, at.g)}
    truth = max(point.value - s * inner - at.penalty.conjugate(s * at.g) for s in scales)
    assert bound.most_provable(point.value, at) == pytest.approx(truth, rel=1e-12)


def test_kkt_is_the_largest_subgradient_entry_over_all_variables():
    loss = Logistic(2)
    w = random_weights(25, 1, share=0.3)
    for penalty in (ElasticNet(0.6, 0.1), random_numbers(np.random.default_rng(0), 25).penalty):
        local = penalty.on(w.coordinates)
        inside = np.clip(w.values, local.lower, local.upper)
        here = SparseVector(w.coordinates, inside).nonzero()
        truth = kkt_residual(loss.oracle(), here, penalty)
        assert truth > 0.0
        assert certificate(loss.oracle(), here, penalty).kkt == pytest.approx(truth, rel=1e-12)


def test_reached():
    penalty = ElasticNet(2.0)
    known, unknown = Certificate(99.0, 5.0), Certificate(-np.inf, 0.02)
    assert bound.reached(known, 100.0, penalty, 0.01) is Status.GAP
    assert bound.reached(known, 100.0, penalty, 0.009) is None
    assert bound.reached(unknown, 100.0, penalty, 0.01) is Status.KKT
    assert bound.reached(unknown, 100.0, penalty, 0.009) is None


@pytest.mark.parametrize("missing", [Status.KKT, Status.UNPENALISED, Status.STATIONARY])
def test_without_a_bound_the_residual_is_compared_with_the_smallest_lam_above_0(missing):
    unknown = Certificate(-np.inf, 0.02, missing)
    penalty = Separable(np.array([0.0, 2.0, 7.0]))
    assert bound.reached(unknown, 100.0, penalty, 0.01) is missing
    assert bound.reached(unknown, 100.0, penalty, 0.009) is None
    free = Separable(np.zeros(3))
    assert bound.reached(unknown, 100.0, free, 0.02) is missing
    assert bound.reached(unknown, 100.0, free, 0.019) is None
