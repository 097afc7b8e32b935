"""Single precision against double: the same answers to six digits, and never a wrong one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import full_gradient, go_to, random_chain, random_weights

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import passes, reference
from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.chain.scores import DoubleScores, SingleScores
from proxqn.losses.chain.weights import moved
from proxqn.problem.oracle import SpentPointError
from proxqn.problem.sparse import SparseVector


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Let small problems use it, too."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)


def single(problem, **options):
    oracle = problem.oracle(**options).rounded()
    assert oracle is not None
    return oracle


def precision(oracle):
    return type(oracle._passes.scores)


def test_small_problems_and_the_reference_have_nothing_to_gain(monkeypatch):
    problem = random_chain(1)
    assert problem.oracle(kernels=reference).rounded() is None
    assert single(problem).rounded() is None
    monkeypatch.setattr(chain, "_MANY_SCORES", 1 << 17)
    assert problem.oracle().rounded() is None


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n_labels=st.integers(1, 40),
    n_sequences=st.integers(1, 30),
    binary=st.booleans(),
    weighted=st.booleans(),
    pairs=st.sampled_from(list(Pairs)),
)
def test_agrees_with_double(seed, n_labels, n_sequences, binary, weighted, pairs):
    problem = random_chain(
        seed, n_labels=n_labels, n_features=9, n_sequences=n_sequences, binary=binary
    )
    problem = problem.with_weights(seed) if weighted else problem
    exact, rounded = problem.oracle(pairs=pairs), single(problem, pairs=pairs)
    w, step = (random_weights(exact, seed + i, scale=0.7) for i in (0, 1))
    values, gradients, sweeps = [], [], []
    for oracle, kind in ((exact, DoubleScores), (rounded, SingleScores)):
        line = go_to(oracle, w).along(step)
        values.append([line.value(alpha) for alpha in (1.0, 0.25)])
        point = line.accept(0.25)
        gradients.append(full_gradient(point, oracle.n_coordinates))
        sweeps.append(point.sweep(0.0))
        values[-1] += [point.conjugate(scale) for scale in (0.5, 1.0)]
        assert precision(oracle) is kind
    size = max(np.abs(problem.weight).sum() * n_labels, 1.0)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-5, atol=1e-5 * size)
    np.testing.assert_allclose(gradients[1], gradients[0], atol=1e-5 * size)
    assert sweeps[1].largest == pytest.approx(sweeps[0].largest, rel=1e-5, abs=1e-5 * size)


@pytest.mark.parametrize("lengths", [[500], [3000, 2], [1] * 9, [40] * 200])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_agrees_on_long_and_on_many_sequences(lengths, density):
    """More slots than a block: columns are cut, and dense ones treated apart."""
    problem = random_chain(3, n_labels=11, n_features=30, lengths=lengths, density=density)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 5, scale=0.3, share=0.3)
    found, true = go_to(rounded, w), go_to(exact, w)
    assert found.value == pytest.approx(true.value, rel=1e-6)
    some = w.coordinates
    expected = true.gradient(some)
    tolerance = 1e-6 * np.abs(expected).max() + 1e-4
    np.testing.assert_allclose(found.gradient(some), expected, atol=tolerance)
    level = float(np.median(np.abs(expected)))
    swept = found.sweep(level).gradient
    np.testing.assert_allclose(
        swept.values,
        full_gradient(true, exact.n_coordinates)[swept.coordinates],
        atol=tolerance,
    )


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("n_labels", [5, 11, 19, 30, 43])
@pytest.mark.parametrize("density", [0.0004, 0.003, 0.05, 0.6])
def test_sweeps_agree_for_rare_and_frequent_columns(pairs, n_labels, density):
    """Columns with an entry or more in 255 slots are summed block by block, others directly."""
    problem = random_chain(
        21, n_labels=n_labels, n_features=40, lengths=[25] * 250, density=density, binary=True
    )
    exact, rounded = problem.oracle(pairs=pairs), single(problem, pairs=pairs)
    w = random_weights(exact, 22, scale=0.3, share=0.3)
    expected, found = go_to(exact, w).sweep(-1.0), go_to(rounded, w).sweep(-1.0)
    np.testing.assert_array_equal(found.gradient.coordinates, expected.gradient.coordinates)
    tolerance = 1e-6 * expected.largest + 1e-5
    np.testing.assert_allclose(found.gradient.values, expected.gradient.values, atol=tolerance)
    assert found.largest == np.abs(found.gradient.values).max()


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("density", [0.05, 0.6])
def test_a_working_set_is_turned_round_after_a_step(binary, density):
    """Then its columns are listed slot by slot, and steps of most of it use what was sorted out."""
    problem = random_chain(
        14, n_labels=19, n_features=60, lengths=[30] * 200, density=density, binary=binary
    )
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 15, scale=0.3, share=0.7)
    most = np.arange(len(w.values)) % 20 != 7
    subsets = [SparseVector(w.coordinates[k], w.values[k]) for k in (most, most & (w.values > 0))]
    for turn in range(4):
        for direction in (w, *subsets):
            lines = [o.at(SparseVector.empty()).along(direction) for o in (exact, rounded)]
            values = [line.value(1.0) for line in lines]
            assert values[1] == pytest.approx(values[0], rel=1e-6), turn
        true, found = (line.accept(1.0) for line in lines)
        for wanted in (subsets[0], w, subsets[1]):  # lists of most of it serve all of it
            expected = true.gradient(wanted.coordinates)
            tolerance = 1e-6 * np.abs(expected).max() + 1e-4
            g = found.gradient(wanted.coordinates)
            np.testing.assert_allclose(g, expected, atol=tolerance)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("density", [0.02, 0.24, 0.6])
def test_threads_change_no_bit(binary, density):
    """Lists hold rows with more and with fewer entries than are summed in single precision."""
    problem = random_chain(
        4, n_labels=10, n_features=50, lengths=[30] * 300, density=density, binary=binary
    )
    answers = []
    for n_jobs in (1, 2, 3):
        oracle = single(problem, n_jobs=n_jobs)
        w = random_weights(oracle, 6, scale=0.2, share=0.4)
        point = go_to(oracle, w)
        value, swept = point.value, point.sweep(0.0).gradient.values
        by_column = full_gradient(point, oracle.n_coordinates)
        by_slot = full_gradient(go_to(oracle, w), oracle.n_coordinates)
        np.testing.assert_allclose(by_slot, by_column, rtol=2e-6, atol=1e-4)
        answers.append((value, swept, by_column, by_slot))
    for other in answers[1:]:
        for ours, theirs in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("scale", [40.0, 1e4])
def test_scores_too_far_apart_end_it(scale):
    """Floats end at e^88: beyond, the oracle goes on in double precision, where it stands."""
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=scale, share=1.0)
    found, true = go_to(rounded, w), go_to(exact, w)
    assert found.value == pytest.approx(true.value, rel=1e-5)
    assert precision(rounded) is DoubleScores
    gradients = (full_gradient(point, exact.n_coordinates) for point in (found, true))
    np.testing.assert_allclose(*gradients, atol=1e-3)
    go_to(rounded, SparseVector.empty())
    assert precision(rounded) is DoubleScores, "what has ended stays ended"
    go_to(rounded.rounded(), SparseVector.empty())  # until somebody asks for it again
    assert precision(rounded) is SingleScores


@pytest.mark.parametrize("make", [single, lambda problem: problem.oracle()])
def test_entries_that_stand_twice_are_added_up(make):
    """A dense column is held as bits, which could not tell."""
    problem = random_chain(12, lengths=[8] * 8, density=0.9)
    X = problem.X
    twice = sp.csr_array(
        (np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    oracle, expected = make(replace(problem, X=twice)), make(replace(problem, X=X + X))
    w = random_weights(expected, 13, scale=0.3)
    found, true = go_to(oracle, w), go_to(expected, w)
    assert found.value == true.value
    gradients = (full_gradient(point, oracle.n_coordinates) for point in (found, true))
    np.testing.assert_array_equal(*gradients)


def test_some_of_the_samples_are_in_the_same_precision():
    problem = random_chain(9, lengths=[5] * 64)
    for oracle, kind in ((single(problem), SingleScores), (problem.oracle(), DoubleScores)):
        part = oracle.restrict(np.arange(32))
        go_to(part, SparseVector.empty())
        assert precision(part) is kind


def test_nan_is_not_hidden():
    oracle = single(random_chain(10))
    d = SparseVector(np.array([0]), np.array([np.nan]))
    assert not np.isfinite(oracle.at(SparseVector.empty()).along(d).value(1.0))
    assert np.isnan(oracle.at(d).value)


def test_a_trial_too_far_out_is_refused_and_single_precision_stays():
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=0.1, share=1.0)
    line = go_to(rounded, w).along(SparseVector(w.coordinates, 1e4 * w.values))
    assert line.value(1.0) == np.inf
    assert precision(rounded) is SingleScores
    shorter = go_to(exact, SparseVector(w.coordinates, 2.0 * w.values))
    assert line.value(1e-4) == pytest.approx(shorter.value, rel=1e-5)
    gradients = (full_gradient(p, exact.n_coordinates) for p in (line.accept(1e-4), shorter))
    np.testing.assert_allclose(*gradients, atol=1e-3)


def test_a_refused_trial_can_be_gone_to_all_the_same():
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=0.1, share=1.0)
    line = go_to(rounded, w).along(SparseVector(w.coordinates, 1e4 * w.values))
    assert line.value(1.0) == np.inf
    found, true = line.accept(1.0), go_to(exact, moved(w, w, 1e4))
    assert found.value == pytest.approx(true.value, rel=1e-5)
    assert precision(rounded) is DoubleScores


def test_many_trials_too_far_out_end_it(monkeypatch):
    monkeypatch.setattr(passes, "_MAX_REFUSED", 2)
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=0.1, share=1.0)
    line = go_to(rounded, w).along(SparseVector(w.coordinates, 1e4 * w.values))
    assert [line.value(1.0) for _ in range(2)] == [np.inf] * 2
    far = go_to(exact, SparseVector(w.coordinates, (1.0 + 1e4) * w.values))
    assert line.value(1.0) == pytest.approx(far.value, rel=1e-5)
    assert precision(rounded) is DoubleScores
    line.value(1e-4)  # and on along the line
    shorter = go_to(exact, SparseVector(w.coordinates, 2.0 * w.values))
    assert line.accept(1e-4).value == pytest.approx(shorter.value, rel=1e-12)


# --- memory ----------------------------------------------------------------------------------


def test_many_steps_leave_no_rounding_errors():
    problem = random_chain(5, n_labels=11, n_features=20, lengths=[9] * 40)
    walked, direct = single(problem), single(problem)
    w = random_weights(walked, 0)
    point = go_to(walked, w)
    for seed in range(1, 60):
        step = random_weights(walked, seed, scale=30.0)
        line = point.along(step)
        line.value(1.0)
        line.value(0.25)
        point = line.accept(0.25)
        w = moved(w, step, 0.25)
    true, line = go_to(direct, w), point.along(SparseVector.empty())
    assert line.value(1.0) == true.value
    gradients = (full_gradient(p, direct.n_coordinates) for p in (line.accept(1.0), true))
    np.testing.assert_array_equal(*gradients)


def test_draws_are_at_the_point_after_a_trial_that_was_not_taken():
    problem = random_chain(5, n_labels=4, n_features=9, lengths=[9] * 40)
    oracle = single(problem)
    w, d = (random_weights(oracle, seed) for seed in (1, 2))
    coordinates = np.arange(oracle.n_coordinates)
    point = go_to(oracle, w)
    before = point.draw(coordinates, 50, 3)
    point.along(d).value(1.0)
    after = point.draw(coordinates, 50, 3)
    np.testing.assert_array_equal(after.value, before.value)
    np.testing.assert_array_equal(after.row, before.row)


@pytest.mark.parametrize("n_labels", [3, 11, 17])
def test_one_precision_leaves_nothing_behind_for_the_other(n_labels):
    lengths = [30, 7, 7, 5, 3, 3, 2, 2, 1]  # lanes of unequal length: slots without a token
    problem = random_chain(2, n_labels=n_labels, n_features=9, lengths=lengths)
    oracle = problem.oracle()
    both = {True: oracle.rounded(), False: oracle}
    n, w, memory = oracle.n_coordinates, random_weights(oracle, 1), oracle._passes
    for rounded in (True, False, True, False):
        go_to(both[not rounded], w)
        memory._workspace._bytes[:] = 0xFF  # not a number
        point = go_to(both[rounded], w)
        fresh = single(problem) if rounded else problem.oracle()
        other = go_to(fresh, w)
        assert point.value == other.value
        np.testing.assert_array_equal(full_gradient(point, n), full_gradient(other, n))
        sweeps = point.sweep(0.5), other.sweep(0.5)
        np.testing.assert_array_equal(*(sweep.gradient.values for sweep in sweeps))
        assert sweeps[0].largest == sweeps[1].largest
        np.testing.assert_array_equal(memory.scores._alpha, fresh._passes.scores._alpha)


def test_a_point_in_one_precision_spends_those_in_the_other():
    problem = random_chain(2)
    exact = problem.oracle()
    rounded, w = exact.rounded(), random_weights(exact, 1)
    double = go_to(exact, w)
    go_to(rounded, w)
    with pytest.raises(SpentPointError, match="this point is spent"):
        double.gradient(w.coordinates)
    with pytest.raises(SpentPointError):
        double.along(w)
