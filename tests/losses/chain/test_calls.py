"""The chain oracle as solvers use it: pairs, moves, sweeps, threads, packing, subsamples, input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems import (
    ChainProblem,
    dense,
    enumerate_labelings,
    full_gradient,
    go_to,
    random_chain,
    random_weights,
    sparse,
)

from proxqn.losses.chain import reference
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.problem import SparseVector

COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": reference}, id="reference")


# --- observed pairs --------------------------------------------------------------------------


def observed_coordinates(problem: ChainProblem, oracle: ChainOracle) -> np.ndarray:
    """Coordinates of the (feature, label) and (label, label) pairs that occur, the slow way."""
    L, found, start = problem.n_labels, set(), 0
    n_unigrams = oracle.n_coordinates - L * L
    for length in problem.lengths:
        for t in range(start, start + length):
            row = problem.X.indices[problem.X.indptr[t] : problem.X.indptr[t + 1]]
            columns = np.searchsorted(oracle.data.columns, row)
            found |= {int(c) * L + int(problem.labels[t]) for c in columns}
            if t > start:
                found.add(n_unigrams + int(problem.labels[t - 1] * L + problem.labels[t]))
        start += length
    return np.array(sorted(found))


def test_observed_pairs_are_those_of_the_data():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    observed = observed_coordinates(problem, oracle)
    assert oracle.n_parameters == len(observed)
    go_to(oracle, random_weights(oracle, 3))
    np.testing.assert_array_equal(oracle.sweep(0.0).gradient.coordinates, observed)


def test_the_largest_entry_ignores_pairs_without_a_weight():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    go_to(oracle, random_weights(oracle, 3))
    sweep = oracle.sweep(0.0)
    assert sweep.largest == np.abs(sweep.gradient.values).max()
    assert sweep.largest < np.abs(full_gradient(oracle)).max()


# --- moves -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 500.0])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_rejected_trials_leave_no_trace(options, scale):
    problem = random_chain(9, n_labels=4, lengths=[5, 5, 4, 3, 60, 2, 2, 1, 1, 1]).with_weights()
    start = random_weights(problem.oracle(), 1)
    d = random_weights(problem.oracle(), 2, scale=scale, share=0.3)
    direct, searching = problem.oracle(**options), problem.oracle(**options)
    for oracle, trials in ((direct, [0.25]), (searching, [1.0, 4.0, 0.5, 0.25])):
        go_to(oracle, start)
        oracle.move(d)
        values = [oracle.value_at(step) for step in trials]
        oracle.accept(trials[-1])
        assert values[-1] == pytest.approx(oracle.sample_losses()[0] @ problem.weight, rel=1e-14)
    np.testing.assert_array_equal(full_gradient(direct), full_gradient(searching))
    fresh = problem.oracle(**options)
    n = fresh.n_coordinates
    value = go_to(fresh, sparse(dense(start, n) + 0.25 * dense(d, n)))
    assert values[-1] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(
        full_gradient(searching), full_gradient(fresh), rtol=1e-9, atol=1e-10 * scale
    )


def test_a_direction_that_is_not_taken_is_forgotten():
    problem = random_chain(9)
    oracle = problem.oracle()
    start, d = random_weights(oracle, 1), random_weights(oracle, 2)
    value = go_to(oracle, start)
    oracle.move(d)
    oracle.value_at(1.0)
    oracle.move(SparseVector.empty())
    assert oracle.value_at(1.0) == value
    oracle.accept(1.0)
    np.testing.assert_array_equal(full_gradient(oracle), full_gradient(at(problem, start)))


def at(problem: ChainProblem, w: SparseVector) -> ChainOracle:
    oracle = problem.oracle()
    go_to(oracle, w)
    return oracle


def test_reset_forgets_everything():
    problem = random_chain(9)
    oracle = problem.oracle()
    zero = oracle.value_at(0.0)
    go_to(oracle, random_weights(oracle, 1))
    oracle.move(random_weights(oracle, 2))
    oracle.value_at(0.5)
    oracle.reset()
    assert oracle.value_at(1.0) == zero
    assert zero == pytest.approx(problem.lengths.sum() * np.log(3))


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("level", [-1.0, 0.5, 1e9])
@pytest.mark.parametrize("single", [False, True])
def test_a_sweep_keeps_what_it_is_told_to(pairs, level, single):
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=30, density=0.1)
    oracle = problem.oracle(pairs=pairs)
    oracle.set_single(single)
    go_to(oracle, random_weights(oracle, 3))
    kept = np.flatnonzero(np.random.default_rng(0).random(oracle.n_coordinates) < 0.3)
    plain, sweep = oracle.sweep(level), oracle.sweep_with(level, kept)
    expected = plain.gradient.including(kept, oracle.gradient)
    np.testing.assert_array_equal(sweep.gradient.coordinates, expected.coordinates)
    np.testing.assert_allclose(sweep.gradient.values, expected.values, atol=1e-5 * single)
    assert sweep.largest == plain.largest


@pytest.mark.parametrize("scale", [1.0, 500.0])  # recursions scaled, and on logarithms
@pytest.mark.parametrize(
    ("options", "lengths"),
    [
        ({"kernels": reference}, [5, 60, 1]),
        ({}, [5, 60, 1]),  # one chunk
        ({}, np.arange(599) % 23 + 1),  # many
        ({"n_jobs": 2}, np.arange(599) % 23 + 1),
    ],
)
def test_start_at_is_a_move_a_forward_and_a_backward_pass(options, lengths, scale):
    problem = random_chain(9, n_labels=5, lengths=lengths, binary=False).with_weights()
    steps, once = problem.oracle(**options), problem.oracle(**options)
    w, d = (random_weights(once, seed, scale=scale) for seed in (1, 2))
    go_to(once, d)
    once.move(random_weights(once, 3))  # not taken: it must be forgotten
    once._workspace._bytes[:] = 0xFF  # not a number
    assert once.start_at(w) == go_to(steps, w)
    np.testing.assert_array_equal(once.sample_losses()[0], steps.sample_losses()[0])
    np.testing.assert_array_equal(full_gradient(once), full_gradient(steps))
    once.move(d)
    steps.move(d)
    assert once.value_at(0.5) == steps.value_at(0.5)
    coordinates = np.arange(once.n_coordinates)
    drawn = [oracle.sample_curvature(coordinates, 50, 3) for oracle in (once, steps)]
    np.testing.assert_array_equal(drawn[0].value, drawn[1].value)


def test_three_hundred_moves_do_not_drift():
    problem = random_chain(10, n_labels=5, n_sequences=30, max_length=12, binary=False)
    oracle = problem.oracle()
    n = oracle.n_coordinates
    w = np.zeros(n)
    rng = np.random.default_rng(0)
    for i in range(300):
        d, step = random_weights(oracle, i, scale=0.5, share=0.1), rng.choice([1.0, 0.5, 0.3])
        oracle.move(d)
        oracle.value_at(1.0)
        value = oracle.value_at(step)
        oracle.accept(step)
        w += step * dense(d, n)
    drifted = full_gradient(oracle)
    assert value == pytest.approx(go_to(oracle, sparse(w)), rel=1e-13)
    np.testing.assert_allclose(drifted, full_gradient(oracle), rtol=0, atol=1e-11)


# --- sweep, threads, packing -----------------------------------------------------------------


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("level", [0.0, 0.7, 3.0, np.inf])
def test_sweep_is_the_gradient_above_the_level(pairs, level):
    problem = random_chain(11, n_labels=9, n_features=70, n_sequences=40, binary=False)
    oracle = problem.oracle(pairs=pairs)
    go_to(oracle, random_weights(oracle, 1))
    g = full_gradient(oracle)
    admitted = np.full(oracle.n_coordinates, pairs is Pairs.ALL)
    admitted[observed_coordinates(problem, oracle)] = True
    sweep = oracle.sweep(level)
    assert sweep.largest == pytest.approx(np.abs(g[admitted]).max(), rel=1e-13)
    np.testing.assert_array_equal(
        sweep.gradient.coordinates, np.flatnonzero(admitted & (np.abs(g) > level))
    )
    np.testing.assert_allclose(
        sweep.gradient.values, g[sweep.gradient.coordinates], rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("n_labels", [3, 26])
@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_bits_do_not_depend_on_the_number_of_threads(n_labels, scale):
    problem = random_chain(
        12,
        n_labels=n_labels,
        n_sequences=1500,
        max_length=14,
        n_features=90,
        density=0.05,
        binary=False,
    ).with_weights()
    results = []
    for n_jobs in (1, 2, 3, 50):
        oracle = problem.oracle(n_jobs=n_jobs)
        assert len(oracle.layout.chunks(n_labels)) > 4  # enough pieces to get their order wrong
        go_to(oracle, random_weights(oracle, 1, scale=scale))
        oracle.move(random_weights(oracle, 2))
        value = oracle.value_at(0.5)
        oracle.accept(0.5)
        sweep = oracle.sweep(1.0)
        results.append(
            [
                np.array([value, sweep.largest]),
                full_gradient(oracle),
                oracle.sample_losses()[0].copy(),
                sweep.gradient.coordinates,
                sweep.gradient.values,
            ]
        )
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("n_features", [6, 5000])
def test_pack_and_unpack_are_inverse(n_features):
    problem = random_chain(13, n_features=n_features, density=3 / n_features)
    oracle = problem.oracle()
    w = random_weights(oracle, 1)
    coef, transitions = oracle.unpack(w)
    assert coef.shape == (3, n_features)
    back = oracle.pack(coef, transitions)
    np.testing.assert_array_equal(back.coordinates, w.coordinates)
    np.testing.assert_array_equal(back.values, w.values)
    scores = problem.X @ coef.T.toarray()
    value = go_to(oracle, w)
    start = 0
    path = 0.0
    for length in problem.lengths:
        y = problem.labels[start : start + length]
        path += scores[np.arange(start, start + length), y].sum()
        path += transitions[y[:-1], y[1:]].sum()
        start += length
    truth = enumerate_labelings(problem, oracle, dense(w, oracle.n_coordinates))
    assert value == pytest.approx(sum(s.log_z for s in truth.sequences) - path, rel=1e-12)


def test_pack_leaves_out_features_the_data_do_not_have():
    problem = random_chain(13)
    oracle = problem.oracle()
    coef = np.zeros((3, 9))  # three features more than were seen
    coef[1, 2], coef[0, 8] = 5.0, 7.0
    packed = oracle.pack(sp.csr_array(coef), np.zeros((3, 3)))
    np.testing.assert_array_equal(packed.coordinates, [2 * 3 + 1])
    np.testing.assert_array_equal(packed.values, [5.0])


def test_pack_leaves_out_pairs_that_have_no_weight():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    packed = oracle.pack(sp.csr_array(np.ones((5, 20))), np.ones((5, 5)))
    np.testing.assert_array_equal(packed.coordinates, observed_coordinates(problem, oracle))


# --- subsamples ------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("binary", [True, False])
def test_a_subsample_is_the_scaled_loss_of_its_sequences_in_the_same_coordinates(pairs, binary):
    problem = random_chain(14, n_labels=4, n_features=25, n_sequences=80, binary=binary)
    problem = problem.with_weights()
    oracle = problem.oracle(pairs=pairs)
    part = oracle.subsample(0.3, seed=5)
    assert part.n_coordinates == oracle.n_coordinates
    assert 0.2 * 80 <= part.n_samples <= 0.4 * 80
    w = random_weights(oracle, 1)
    value = go_to(oracle, w)
    part_value = go_to(part, w)
    losses, part_weights = part.sample_losses()
    whole, _ = oracle.sample_losses()
    # Losses tell the sequences apart: find which were drawn, then weight them by hand.
    chosen = np.array([np.abs(whole - loss).argmin() for loss in losses])
    assert len(set(chosen)) == part.n_samples
    np.testing.assert_allclose(losses, whole[chosen], rtol=1e-12, atol=1e-12)
    scale = part_weights / problem.sample_weight[chosen]
    np.testing.assert_allclose(scale, scale[0], rtol=1e-13)  # one factor, up to the whole's size
    assert 0.5 * value < part_value < 2.0 * value
    factors = np.zeros(80)
    factors[chosen] = part_weights
    assert part_value == pytest.approx(factors @ whole, rel=1e-12)
    by_hand = replace(problem, sample_weight=factors).oracle(pairs=pairs)
    go_to(by_hand, w)
    np.testing.assert_allclose(full_gradient(part), full_gradient(by_hand), rtol=0, atol=1e-11)
    assert oracle.value_at(0.0) == value  # the whole is left as it was


def test_subsamples_depend_on_the_seed_and_only_on_it():
    oracle = random_chain(14, n_sequences=80).oracle()
    w = random_weights(oracle, 1)
    values = [go_to(oracle.subsample(0.3, seed), w) for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


# --- input errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": np.array([0, 1, 3, 0])}, "label"),
        ({"labels": np.array([0, -1, 1, 0])}, "label"),
        ({"labels": np.array([0, 1, 1])}, "label"),
        ({"lengths": np.array([2, 1])}, "length"),
        ({"lengths": np.array([2, 3])}, "length"),
        ({"lengths": np.array([4, 0])}, "length"),
        ({"lengths": np.array([5, -1])}, "length"),
        ({"sample_weight": np.array([1.0])}, "weight"),
        ({"sample_weight": np.array([1.0, -1.0])}, "weight"),
        ({"sample_weight": np.array([1.0, np.nan])}, "weight"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_before_any_kernel_sees_them(change, message):
    """The kernels index by labels and lengths unchecked: a wrong one would be a crash."""
    problem = ChainProblem(sp.csr_array(np.eye(4)), np.array([0, 1, 2, 0]), np.array([2, 2]), 3)
    with pytest.raises(ValueError, match=message):
        replace(problem, **change).oracle()


def test_a_nan_in_a_pair_derivative_shows_in_the_sweep():
    """The solver calls such a gradient not finite; a maximum that drops it would hide it."""
    oracle = random_chain(0).oracle()
    oracle.value_at(0.0)
    oracle.accept(0.0)
    oracle._expected[0, 0] = np.nan
    assert np.isnan(oracle.sweep(0.1).largest)
