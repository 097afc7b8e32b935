"""The chain oracle as solvers use it: pairs, lines, sweeps, threads, packing, input."""

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

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.problem.sparse import SparseVector

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
    point = go_to(oracle, random_weights(oracle, 3))
    np.testing.assert_array_equal(point.sweep(0.0).gradient.coordinates, observed)


def test_the_largest_entry_ignores_pairs_without_a_weight():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=6, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    point = go_to(oracle, random_weights(oracle, 3))
    sweep = point.sweep(0.0)
    assert sweep.largest == np.abs(sweep.gradient.values).max()
    assert sweep.largest < np.abs(full_gradient(point, oracle.n_coordinates)).max()


# --- lines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 500.0])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_rejected_trials_leave_no_trace(options, scale):
    problem = random_chain(9, n_labels=4, lengths=[5, 5, 4, 3, 60, 2, 2, 1, 1, 1]).with_weights()
    start = random_weights(problem.oracle(), 1)
    d = random_weights(problem.oracle(), 2, scale=scale, share=0.3)
    points = []
    for trials in ([0.25], [1.0, 4.0, 0.5, 0.25]):
        line = go_to(problem.oracle(**options), start).along(d)
        values = [line.value(step) for step in trials]
        points.append(line.accept(trials[-1]))
        assert values[-1] == points[-1].value
        assert values[-1] == pytest.approx(points[-1].losses() @ problem.weight, rel=1e-14)
    fresh = problem.oracle(**options)
    n = fresh.n_coordinates
    direct, searching = (full_gradient(point, n) for point in points)
    np.testing.assert_array_equal(direct, searching)
    point = go_to(fresh, sparse(dense(start, n) + 0.25 * dense(d, n)))
    assert values[-1] == pytest.approx(point.value, rel=1e-12)
    g = full_gradient(point, n)
    np.testing.assert_allclose(searching, g, rtol=1e-9, atol=1e-10 * scale)


def test_a_direction_that_is_not_taken_is_forgotten():
    problem = random_chain(9)
    oracle = problem.oracle()
    start, d = random_weights(oracle, 1), random_weights(oracle, 2)
    point = go_to(oracle, start)
    point.along(d).value(1.0)
    line = point.along(SparseVector.empty())
    assert line.value(1.0) == point.value
    n = oracle.n_coordinates
    expected = full_gradient(go_to(problem.oracle(), start), n)
    np.testing.assert_array_equal(full_gradient(line.accept(1.0), n), expected)


def test_zero_is_where_nothing_is_known():
    problem = random_chain(9)
    oracle = problem.oracle()
    zero = oracle.at(SparseVector.empty()).value
    go_to(oracle, random_weights(oracle, 1)).along(random_weights(oracle, 2)).value(0.5)
    assert oracle.at(SparseVector.empty()).value == zero
    assert zero == pytest.approx(problem.lengths.sum() * np.log(3))


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize(
    ("level", "single"), [(-1.0, False), (0.0, True), (0.5, False), (0.5, True), (1e9, True)]
)
def test_a_sweep_keeps_what_it_is_told_to(pairs, level, single, monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=30, density=0.1)
    oracle = problem.oracle(pairs=pairs)
    oracle = oracle.rounded() if single else oracle
    point = go_to(oracle, random_weights(oracle, 3))
    keep = np.flatnonzero(np.random.default_rng(0).random(oracle.n_coordinates) < 0.3)
    plain, sweep = point.sweep(level), point.sweep(level, keep)
    expected = plain.gradient.including(keep, point.gradient)
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
def test_at_is_a_line_a_forward_and_a_backward_pass(options, lengths, scale):
    problem = random_chain(9, n_labels=5, lengths=lengths, binary=False).with_weights()
    steps, once = problem.oracle(**options), problem.oracle(**options)
    w, d = (random_weights(once, seed, scale=scale) for seed in (1, 2))
    go_to(once, d).along(random_weights(once, 3))  # not taken: it must be forgotten
    once._passes._workspace._bytes[:] = 0xFF  # not a number
    line = steps.at(SparseVector.empty()).along(w)
    line.value(1.0)
    points = once.at(w), line.accept(1.0)
    n = once.n_coordinates
    assert points[0].value == points[1].value
    np.testing.assert_array_equal(*(point.losses() for point in points))
    np.testing.assert_array_equal(*(full_gradient(point, n) for point in points))
    lines = [point.along(d) for point in points]
    assert lines[0].value(0.5) == lines[1].value(0.5)
    drawn = [point.draw(np.arange(n), 50, 3) for point in points]
    np.testing.assert_array_equal(drawn[0].value, drawn[1].value)


def test_three_hundred_steps_do_not_drift():
    problem = random_chain(10, n_labels=5, n_sequences=30, max_length=12, binary=False)
    oracle = problem.oracle()
    n = oracle.n_coordinates
    w, point = np.zeros(n), oracle.at(SparseVector.empty())
    rng = np.random.default_rng(0)
    for i in range(300):
        d, step = random_weights(oracle, i, scale=0.5, share=0.1), rng.choice([1.0, 0.5, 0.3])
        line = point.along(d)
        line.value(1.0)
        line.value(step)
        point = line.accept(step)
        w += step * dense(d, n)
    drifted, value = full_gradient(point, n), point.value
    fresh = go_to(oracle, sparse(w))
    assert value == pytest.approx(fresh.value, rel=1e-13)
    np.testing.assert_allclose(drifted, full_gradient(fresh, n), rtol=0, atol=1e-11)


# --- sweep, threads, packing -----------------------------------------------------------------


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("level", [0.0, 0.7, 3.0, np.inf])
def test_sweep_is_the_gradient_above_the_level(pairs, level):
    problem = random_chain(11, n_labels=9, n_features=70, n_sequences=40, binary=False)
    oracle = problem.oracle(pairs=pairs)
    point = go_to(oracle, random_weights(oracle, 1))
    g = full_gradient(point, oracle.n_coordinates)
    admitted = np.full(oracle.n_coordinates, pairs is Pairs.ALL)
    admitted[observed_coordinates(problem, oracle)] = True
    sweep = point.sweep(level)
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
        line = go_to(oracle, random_weights(oracle, 1, scale=scale)).along(
            random_weights(oracle, 2)
        )
        line.value(0.5)
        point = line.accept(0.5)
        sweep = point.sweep(1.0)
        results.append(
            [
                np.array([point.value, sweep.largest, point.conjugate(0.5)]),
                full_gradient(point, oracle.n_coordinates),
                point.losses().copy(),
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
    value = go_to(oracle, w).value
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
    point = oracle.at(SparseVector.empty())
    oracle._passes.expected[0, 0] = np.nan
    assert np.isnan(point.sweep(0.1).largest)
