"""The certificate against the dual problem written out, one probability per labeling."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import (
    ChainProblem,
    dense,
    enumerate_labelings,
    full_gradient,
    go_to,
    random_chain,
    random_weights,
)

from proxqn import minimize
from proxqn.losses.chain.oracle import Pairs
from proxqn.penalties import ElasticNet
from proxqn.problem import SparseVector
from proxqn.solvers.certificate import bound as stopping
from proxqn.solvers.certificate.bound import Certificate, Status
from proxqn.solvers.working_set import gather


def certificate(oracle, w: SparseVector, penalty) -> Certificate:
    loss = go_to(oracle, w)
    return stopping.certify(oracle, penalty, loss, *gather(oracle, w, penalty.lam))


def explicit_dual(problem: ChainProblem, oracle, w: SparseVector, penalty, s: float) -> float:
    """Return Σ_i H(q_i) - Ω*(Σ_i E_q φ - φ(y_i)) at q_i = (1-s) δ_{y_i} + s P_i.

    Every q_i is a distribution over all labelings, so this is a dual value whatever s is; it is
    finite where the moments lie in Ω*'s domain.
    """
    truth = enumerate_labelings(problem, oracle, dense(w, oracle.n_coordinates))
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
    return entropy - penalty.conjugate(moments)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [0.3, 2.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_dual_value_of_a_feasible_mixture(seed, lam, weighted):
    problem = random_chain(seed, n_sequences=8, max_length=5)
    problem = problem.with_weights() if weighted else problem
    oracle, penalty = problem.oracle(), ElasticNet(lam)
    w = random_weights(oracle, seed)
    found = certificate(oracle, w, penalty)
    s = min(1.0, lam / np.abs(full_gradient(oracle)).max())
    truth = explicit_dual(problem, oracle, w, penalty, s)
    assert found.bound == pytest.approx(truth, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("lam", "l2"), [(0.3, 5.0), (2.0, 0.1), (1000.0, 1.0)])
def test_with_a_ridge_the_bound_is_the_better_of_two_dual_values(seed, lam, l2):
    problem = random_chain(seed, n_sequences=8, max_length=5)
    oracle, penalty = problem.oracle(), ElasticNet(lam, l2)
    w = random_weights(oracle, seed)
    found = certificate(oracle, w, penalty)
    scales = [1.0, min(1.0, lam / np.abs(full_gradient(oracle)).max())]
    truth = max(explicit_dual(problem, oracle, w, penalty, s) for s in scales)
    assert found.bound == pytest.approx(truth, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("l2", [0.0, 0.7])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_the_gap_is_never_smaller_than_what_is_left_to_gain(l2, pairs):
    problem = random_chain(5, n_labels=4, n_sequences=20).with_weights()
    oracle, penalty = problem.oracle(pairs=pairs), ElasticNet(0.8, l2)
    best = minimize(problem.oracle(pairs=pairs), 0.8, l2=l2, tol=1e-11, max_iter=3000)
    assert best.success
    admitted = oracle.n_coordinates
    for seed in range(20):
        w = random_weights(oracle, seed, scale=10.0 ** (seed % 5 - 3), share=0.3)
        if pairs is Pairs.OBSERVED:
            w = oracle.pack(*oracle.unpack(w))
        found = certificate(oracle, w, penalty)
        assert found.bound <= best.fun + 1e-9 * best.fun
        value = go_to(oracle, w) + penalty.value(w.values)
        assert value - found.bound >= value - best.fun - 1e-9 * value
    assert admitted == oracle.n_coordinates


def test_a_start_on_pairs_without_a_weight_does_not_break_the_bound():
    """Their derivative is not in the sweep, yet a nonzero weight there is part of the problem."""
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    go_to(oracle, SparseVector.empty())
    observed = set(oracle.sweep(0.0).gradient.coordinates)
    outside = np.array(sorted(set(range(oracle.n_coordinates)) - observed))
    w = SparseVector(outside, np.full(len(outside), 3.0))
    penalty = ElasticNet(0.5)
    found = certificate(oracle, w, penalty)
    s = min(1.0, 0.5 / np.abs(full_gradient(oracle)[outside]).max())
    assert s < 1
    assert found.bound <= explicit_dual(problem, oracle, w, penalty, s) + 1e-9


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_the_gap_closes_at_the_optimum(l2):
    result = minimize(random_chain(6).oracle(), 0.5, l2=l2, tol=1e-10, max_iter=2000)
    assert result.status is Status.GAP
    assert 0 <= result.gap <= 1e-10 * result.fun


def test_kkt_is_the_largest_subgradient_entry_over_all_variables():
    oracle, penalty = random_chain(7, n_features=20).oracle(), ElasticNet(0.6, 0.1)
    w = random_weights(oracle, 1, share=0.3)
    found = certificate(oracle, w, penalty)
    truth = penalty.min_norm_subgradient(dense(w, oracle.n_coordinates), full_gradient(oracle))
    assert found.kkt == pytest.approx(np.abs(truth).max(), rel=1e-12)


def test_samples_that_are_certain_do_no_harm():
    """p = 1 and p = 0 to working precision."""
    oracle, penalty = random_chain(8).oracle(), ElasticNet(0.5)
    w = random_weights(oracle, 1, scale=2000.0)
    assert np.isfinite(certificate(oracle, w, penalty).bound)
    assert certificate(oracle, w, penalty).bound >= -1e-6


def test_reached():
    penalty = ElasticNet(2.0)
    known, unknown = Certificate(99.0, 5.0), Certificate(-np.inf, 0.02)
    assert stopping.reached(known, 100.0, penalty, 0.01) is Status.GAP
    assert stopping.reached(known, 100.0, penalty, 0.009) is None
    assert stopping.reached(unknown, 100.0, penalty, 0.01) is Status.KKT
    assert stopping.reached(unknown, 100.0, penalty, 0.009) is None


def test_every_status_is_a_sentence_and_only_three_are_success():
    assert {s for s in Status if s.success} == {Status.GAP, Status.KKT, Status.STATIONARY}
    for status in Status:
        assert ": " in status.value
        assert len(status.value) > 20


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_cannot_be_enough_gets_a_weaker_bound(seed, l2, weighted):
    problem = random_chain(seed, n_sequences=8, max_length=5)
    problem = problem.with_weights() if weighted else problem
    oracle, penalty = problem.oracle(), ElasticNet(0.3, l2)
    w = random_weights(oracle, seed)
    full = certificate(oracle, w, penalty).bound
    loss = go_to(oracle, w)
    at, sweep = gather(oracle, w, penalty.lam)

    def bound(enough: float) -> float:
        return stopping.certify(oracle, penalty, loss, at, sweep, enough).bound

    assert bound(full) == full  # what is enough is never missed
    assert bound(full - 1.0) == full
    assert bound(np.inf) < full
