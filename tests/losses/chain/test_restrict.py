"""The loss of some of the sequences: in the coordinates of all, and scaled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import ChainProblem, full_gradient, go_to, random_chain, random_weights

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.chain.oracle import Pairs

EXACT = {"rtol": 1e-12, "atol": 1e-11}


def alone(problem: ChainProblem, samples, factor: float) -> ChainProblem:
    """The chosen sequences, and nothing else."""
    chosen = np.zeros(len(problem.lengths), dtype=bool)
    chosen[samples] = True
    tokens = np.repeat(chosen, problem.lengths)
    return ChainProblem(
        problem.X[tokens],
        problem.labels[tokens],
        problem.lengths[chosen],
        problem.n_labels,
        problem.weight[chosen] * factor,
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 9),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    density=st.sampled_from([0.02, 0.3, 1.0]),
    binary=st.booleans(),
    weighted=st.booleans(),
    share=st.sampled_from([0.05, 0.5, 0.8, 1.0]),
    kernels=st.sampled_from([{}, {"n_jobs": 2}, {"kernels": reference}]),
)
def test_is_the_loss_of_these_sequences_alone(
    seed, n_labels, lengths, density, binary, weighted, share, kernels
):
    problem = random_chain(seed, n_labels=n_labels, lengths=lengths, density=density, binary=binary)
    problem = problem.with_weights(seed) if weighted else problem
    n = len(lengths)
    rng = np.random.default_rng(seed)
    samples = np.sort(rng.choice(n, max(1, round(share * n)), replace=False))
    oracle = problem.oracle(**kernels)
    part, by_hand = oracle.restrict(samples, 2.5), alone(problem, samples, 2.5).oracle()
    assert part.n_coordinates == oracle.n_coordinates
    assert part.n_samples == len(samples)
    w, more = random_weights(oracle, seed), random_weights(oracle, seed + 1)
    line = go_to(part, w).along(more)
    line.value(0.5)
    point = line.accept(0.5)
    packed = by_hand.pack(*oracle.unpack(w.plus(more, 0.5)))
    expected = go_to(by_hand, packed)
    np.testing.assert_allclose(point.value, expected.value, **EXACT)
    np.testing.assert_allclose(point.losses(), expected.losses(), **EXACT)
    coef, transitions = oracle.unpack(packed_gradient(point, oracle))
    true_coef, true_transitions = by_hand.unpack(packed_gradient(expected, by_hand))
    np.testing.assert_allclose(coef.toarray(), true_coef.toarray(), **EXACT)
    np.testing.assert_allclose(transitions, true_transitions, **EXACT)
    assert point.sweep(np.inf).largest == pytest.approx(
        expected.sweep(np.inf).largest, rel=1e-9, abs=1e-11
    )


def packed_gradient(point, oracle):
    return point.sweep(-1.0).gradient


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binary", [True, False])
def test_coordinates_and_pairs_with_a_weight_are_those_of_all(pairs, weighted, binary):
    problem = random_chain(14, n_labels=4, n_features=25, n_sequences=80, binary=binary)
    problem = problem.with_weights() if weighted else problem
    oracle = problem.oracle(pairs=pairs)
    samples = np.sort(np.random.default_rng(5).choice(80, 24, replace=False))
    part = oracle.restrict(samples, 80 / 24)
    assert part.n_coordinates == oracle.n_coordinates
    assert part.n_parameters == oracle.n_parameters
    w = random_weights(oracle, 1)
    whole, point = go_to(oracle, w), go_to(part, w)
    np.testing.assert_allclose(point.losses(), whole.losses()[samples], **EXACT)
    assert 0.5 * whole.value < point.value < 2.0 * whole.value
    factors = np.zeros(80)
    factors[samples] = 80 / 24 * problem.weight[samples]
    assert point.value == pytest.approx(factors @ whole.losses(), rel=1e-12)
    by_hand = go_to(replace(problem, sample_weight=factors).oracle(pairs=pairs), w)
    gradients = (full_gradient(p, oracle.n_coordinates) for p in (point, by_hand))
    np.testing.assert_allclose(*gradients, rtol=0, atol=1e-11)
    sweeps = point.sweep(0.3), by_hand.sweep(0.3)
    np.testing.assert_array_equal(*(sweep.gradient.coordinates for sweep in sweeps))
    assert whole.along(w).value(0.0) == whole.value  # the whole is left as it was


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_all_of_them_are_the_whole(weighted, rounded, monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(3, n_sequences=50, binary=False)
    problem = problem.with_weights() if weighted else problem
    oracle = problem.oracle().rounded() if rounded else problem.oracle()
    part, n = oracle.restrict(np.arange(50)), oracle.n_coordinates
    assert (part._passes.data.weights is None) != weighted  # and so no slower
    np.testing.assert_array_equal(part.layout.token_slot, oracle.layout.token_slot)
    points = [go_to(o, random_weights(oracle, 1)) for o in (oracle, part)]
    assert points[0].value == points[1].value
    np.testing.assert_array_equal(*(full_gradient(point, n) for point in points))
    np.testing.assert_array_equal(*(point.sweep(0.1).gradient.values for point in points))
    drawn = [point.draw(np.arange(n), 20, 1).value for point in points]
    np.testing.assert_array_equal(*drawn)


def test_part_of_a_part():
    problem = random_chain(3, n_sequences=50, binary=False).with_weights()
    oracle = problem.oracle()
    first = np.sort(np.random.default_rng(0).choice(50, 30, replace=False))
    second = np.sort(np.random.default_rng(1).choice(30, 10, replace=False))
    twice = oracle.restrict(first, 2.0).restrict(second, 1.5)
    once = oracle.restrict(first[second], 3.0)
    points = [go_to(part, random_weights(oracle, 1)) for part in (twice, once)]
    assert points[0].value == pytest.approx(points[1].value, rel=1e-13)
    gradients = (full_gradient(point, oracle.n_coordinates) for point in points)
    np.testing.assert_allclose(*gradients, **EXACT)


def test_the_mean_over_many_choices_is_the_loss():
    problem = random_chain(3, n_sequences=20).with_weights()
    oracle = problem.oracle()
    w, rng = random_weights(oracle, 1), np.random.default_rng(0)
    whole = go_to(oracle, w)
    values, gradients = [], []
    for _ in range(2000):
        samples = np.sort(rng.choice(20, 10, replace=False))
        point = go_to(oracle.restrict(samples, 20 / 10), w)
        values.append(point.value)
        gradients.append(full_gradient(point, oracle.n_coordinates))
    off = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(whole.value, abs=4 * off)
    off = np.std(gradients, axis=0) / np.sqrt(len(values))
    away = np.abs(np.mean(gradients, axis=0) - full_gradient(whole, oracle.n_coordinates))
    assert (away <= 5 * off + 1e-12).all()


def test_lists_by_slot_go_along(monkeypatch):
    """Frequent features are summed from the lists of the whole."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, 400)
    n = int(lengths.sum())
    X = sp.csr_array((np.ones(4 * n), rng.integers(0, 300, 4 * n), 4 * np.arange(n + 1)))
    X.sum_duplicates()
    X.data[:] = 1.0
    problem = ChainProblem(X, rng.integers(0, 5, n), lengths, 5)
    oracle = problem.oracle()
    assert oracle.data.lists is not None
    samples = np.sort(rng.choice(400, 130, replace=False))
    part = oracle.restrict(samples)
    assert part.data.lists is not None
    w = random_weights(oracle, 1, scale=0.3)
    point, by_hand = go_to(part, w), alone(problem, samples, 1.0).oracle()
    expected = go_to(by_hand, by_hand.pack(*oracle.unpack(w)))
    swept = point.sweep(-1.0).gradient
    g = full_gradient(point, oracle.n_coordinates)
    np.testing.assert_allclose(swept.values, g[swept.coordinates], **EXACT)
    assert point.value == pytest.approx(expected.value, rel=1e-12)
    rough = go_to(part.rounded(), w).sweep(-1.0).gradient
    np.testing.assert_allclose(rough.values, g, atol=1e-4)


@pytest.mark.parametrize("samples", [[], [2, 1], [1, 1], [-1, 2], [3, 12]])
def test_choices_that_are_none_are_refused(samples):
    oracle = random_chain(1, n_sequences=12).oracle()
    with pytest.raises(ValueError, match="samples must be ascending numbers from 0 to 11"):
        oracle.restrict(np.array(samples, dtype=np.int64))
