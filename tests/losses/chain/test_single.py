"""Single precision against double: the same answers to six digits, and never a wrong one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import full_gradient, go_to, random_chain, random_weights

from proxqn import _kernels, minimize
from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.chain.scores import DoubleScores, SingleScores
from proxqn.losses.trials import moved
from proxqn.penalties import ElasticNet
from proxqn.problem import MeteredOracle, SparseVector
from proxqn.solvers.prox_qn import float_search as unseen
from proxqn.solvers.prox_qn.loop import ProxQN, _Run
from proxqn.solvers.recording import Recorder


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Let small problems use it, too."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)


def single(problem, **options):
    oracle = problem.oracle(**options)
    oracle.set_single(True)
    return oracle


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
    for oracle in (exact, rounded):
        go_to(oracle, w)
        oracle.move(step)
        values.append([oracle.value_at(alpha) for alpha in (1.0, 0.25)])
        oracle.accept(0.25)
        gradients.append(full_gradient(oracle))
        sweeps.append(oracle.sweep(0.0))
    assert rounded.single
    assert not exact.single
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
    assert go_to(rounded, w) == pytest.approx(go_to(exact, w), rel=1e-6)
    some = w.coordinates
    expected = exact.gradient(some)
    tolerance = 1e-6 * np.abs(expected).max() + 1e-4
    np.testing.assert_allclose(rounded.gradient(some), expected, atol=tolerance)
    level = float(np.median(np.abs(expected)))
    swept = rounded.sweep(level).gradient
    np.testing.assert_allclose(
        swept.values, full_gradient(exact)[swept.coordinates], atol=tolerance
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
    go_to(exact, w)
    go_to(rounded, w)
    expected, found = exact.sweep(-1.0), rounded.sweep(-1.0)
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
            for oracle in (exact, rounded):
                oracle.reset()
                oracle.move(direction)
            assert rounded.value_at(1.0) == pytest.approx(exact.value_at(1.0), rel=1e-6), turn
        exact.accept(1.0)
        rounded.accept(1.0)
        for wanted in (subsets[0], w, subsets[1]):  # lists of most of it serve all of it
            expected = exact.gradient(wanted.coordinates)
            tolerance = 1e-6 * np.abs(expected).max() + 1e-4
            found = rounded.gradient(wanted.coordinates)
            np.testing.assert_allclose(found, expected, atol=tolerance)


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
        value, swept = go_to(oracle, w), oracle.sweep(0.0).gradient.values
        by_column = full_gradient(oracle)
        go_to(oracle, w)
        by_slot = full_gradient(oracle)
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
    assert go_to(rounded, w) == pytest.approx(go_to(exact, w), rel=1e-5)
    assert isinstance(rounded._scores, DoubleScores)
    assert rounded.single, "what was rounded stays rounded until the next reset"
    np.testing.assert_allclose(full_gradient(rounded), full_gradient(exact), atol=1e-3)


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
    assert go_to(oracle, w) == go_to(expected, w)
    np.testing.assert_array_equal(full_gradient(oracle), full_gradient(expected))


def test_a_subsample_is_of_the_same_precision():
    problem = random_chain(9, lengths=[5] * 64)
    part = single(problem).subsample(0.5, 0)
    assert isinstance(part._scores, SingleScores)
    assert isinstance(problem.oracle().subsample(0.5, 0)._scores, DoubleScores)


def test_nan_is_not_hidden():
    oracle = single(random_chain(10))
    oracle.reset()
    oracle.move(SparseVector(np.array([0]), np.array([np.nan])))
    assert np.isnan(oracle.value_at(1.0))


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("seed", range(4))
def test_the_solver_ends_in_double_precision_at_the_same_optimum(seed, pairs):
    problem = random_chain(seed, n_labels=5, n_features=40, n_sequences=60, density=0.2)
    penalty, tol = ElasticNet(1.0), 1e-10
    ours, theirs = (
        ProxQN(single=flag).minimize(
            problem.oracle(pairs=pairs), penalty, SparseVector.empty(), tol=tol, max_iter=500
        )
        for flag in (True, False)
    )
    assert ours.gap <= tol * ours.objective
    assert ours.objective == pytest.approx(theirs.objective, rel=2 * tol)
    exact = go_to(problem.oracle(pairs=pairs), ours.weights)
    assert ours.objective == pytest.approx(exact + penalty.value(ours.weights.values), rel=1e-14)
    assert (ours.trace.column("gap") >= 0.0).all()


def test_a_run_cut_short_is_certified_in_double_precision():
    problem = random_chain(11, n_labels=5, n_features=40, n_sequences=60, density=0.2)
    oracle = problem.oracle()
    found = ProxQN().minimize(oracle, ElasticNet(1.0), SparseVector.empty(), tol=1e-9, max_iter=3)
    assert not oracle.single
    exact = go_to(replace(problem).oracle(), found.weights)
    assert found.objective == pytest.approx(exact + np.abs(found.weights.values).sum(), rel=1e-14)
    assert np.isfinite(found.gap)


def test_a_trial_too_far_out_is_refused_and_single_precision_stays():
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=0.1, share=1.0)
    go_to(rounded, w)
    rounded.move(SparseVector(w.coordinates, 1e4 * w.values))
    assert rounded.value_at(1.0) == np.inf
    assert isinstance(rounded._scores, SingleScores)
    shorter = SparseVector(w.coordinates, 2.0 * w.values)
    assert rounded.value_at(1e-4) == pytest.approx(go_to(exact, shorter), rel=1e-5)
    rounded.accept(1e-4)
    np.testing.assert_allclose(full_gradient(rounded), full_gradient(exact), atol=1e-3)


def test_many_trials_too_far_out_end_it(monkeypatch):
    monkeypatch.setattr(chain, "_MAX_REFUSED", 2)
    problem = random_chain(7, n_labels=4, n_features=5)
    exact, rounded = problem.oracle(), single(problem)
    w = random_weights(exact, 8, scale=0.1, share=1.0)
    go_to(rounded, w)
    rounded.move(SparseVector(w.coordinates, 1e4 * w.values))
    assert [rounded.value_at(1.0) for _ in range(2)] == [np.inf] * 2
    far = SparseVector(w.coordinates, (1.0 + 1e4) * w.values)
    assert rounded.value_at(1.0) == pytest.approx(go_to(exact, far), rel=1e-5)
    assert isinstance(rounded._scores, DoubleScores)


LAST_STEPS = random_chain(8, n_labels=5, n_features=60, n_sequences=400, max_length=12)


class _Precisions:
    """Where a run is in single precision, and the objective there."""

    def __init__(self, oracle):
        self.oracle, self.single, self.objectives = oracle, [], []

    def __call__(self, row):
        self.single.append(self.oracle.single)
        self.objectives.append(row.objective)


def test_steps_below_the_rounding_of_the_loss_stay_in_single_precision(monkeypatch):
    runs = {}
    for least in (1.0, 1e-11):  # of the objective; 1 makes all such steps in double precision
        monkeypatch.setattr(unseen, "_LEAST", least)
        oracle = LAST_STEPS.oracle()
        runs[least] = seen = _Precisions(oracle)
        found = ProxQN().minimize(
            oracle, ElasticNet(2.0), SparseVector.empty(), tol=1e-9, max_iter=500, callback=seen
        )
        assert found.status.success
        assert found.gap <= 1e-9 * found.objective
    assert sum(runs[1e-11].single) > sum(runs[1.0].single) + 3
    assert runs[1e-11].objectives[-1] == pytest.approx(runs[1.0].objectives[-1], rel=2e-9)
    in_single = np.array(runs[1e-11].objectives)[runs[1e-11].single]
    assert (np.diff(in_single) < 0.0).all()  # what derivatives tell is not hidden by rounding


def test_rounding_does_not_keep_it_in_single_precision_for_ever(monkeypatch):
    monkeypatch.setattr(unseen, "_LEAST", 0.0)
    found = ProxQN().minimize(
        LAST_STEPS.oracle(), ElasticNet(2.0), SparseVector.empty(), tol=1e-12, max_iter=500
    )
    assert found.status.success


def near_the_optimum():
    """Return a run in single precision, its recorder, and the way to the optimum."""
    oracle, penalty = single(LAST_STEPS), ElasticNet(2.0)
    found = ProxQN().minimize(oracle, penalty, SparseVector.empty(), tol=1e-9, max_iter=500)
    oracle.set_single(True)
    record = Recorder(MeteredOracle(oracle), penalty, tol=0.0, max_iter=9, callback=None)
    run = _Run(ProxQN(), record, _kernels)
    off = SparseVector(found.weights.coordinates, found.weights.values * (1.0 + 1e-4))
    record.begin(off)
    run.at, _ = record.look(penalty.lam, off, record.point.loss)
    way = np.zeros(len(run.at))
    place = np.searchsorted(run.at.coordinates, found.weights.coordinates)
    way[place] = found.weights.values - off.values
    return run, record, way


@pytest.mark.parametrize("times", [4.0, 64.0])  # the rise of the first trials with 64 is seen
def test_a_step_that_is_too_long_is_shortened_by_its_derivatives(times):
    """Along a direction four times too long a quarter of it is taken, without the objective."""
    run, record, way = near_the_optimum()
    step, g = run._step(times * way)
    assert (step.alpha, step.trials) == (1.0 / times, 1 + np.log2(times))
    assert -1e-6 < step.objective / record.point.objective - 1.0 < 0.0
    np.testing.assert_array_equal(g, record.oracle.gradient(run.at.coordinates))
    assert record.oracle.single
    assert run._step(-4.0 * way) is None  # uphill: nothing is tried
    np.testing.assert_array_equal(g, record.oracle.gradient(run.at.coordinates))


def test_where_no_step_is_short_enough_it_goes_back_to_the_iterate():
    run, record, way = near_the_optimum()
    oracle, at, back = record.oracle, run.at, -64.0 * way  # and away from the optimum
    promise = 1e-9 * record.point.objective  # which no length of it keeps
    oracle.move(SparseVector(at.coordinates, back).nonzero())
    assert run.unseen.search(record, at, back, -promise, run.settings.armijo) is None
    left = np.abs(oracle.gradient(at.coordinates) - at.g).max()
    oracle.move(SparseVector(at.coordinates, back / 128).nonzero())  # where the last trial was
    oracle.value_at(1.0)
    oracle.accept(1.0)
    away = np.abs(oracle.gradient(at.coordinates) - at.g).max()
    assert left < 0.1 * away


def test_a_run_that_is_stopped_returns_the_objective_of_double_precision():
    problem = random_chain(1, n_labels=6, n_features=40, n_sequences=300, density=0.1)
    ends = set()
    for max_iter in range(1, 16):
        result = minimize(problem.oracle(), 3.0, max_iter=max_iter, tol=1e-12)
        w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
        true = go_to(problem.oracle(), w) + 3.0 * np.abs(w.values).sum()
        assert result.fun == pytest.approx(true, rel=1e-13)
        ends.add(result.trace[-1].certified)
    assert ends == {True}


# --- memory ----------------------------------------------------------------------------------


def test_many_steps_leave_no_rounding_errors():
    problem = random_chain(5, n_labels=11, n_features=20, lengths=[9] * 40)
    walked, direct = single(problem), single(problem)
    w = random_weights(walked, 0)
    go_to(walked, w)
    for seed in range(1, 60):
        step = random_weights(walked, seed, scale=30.0)
        walked.move(step)
        walked.value_at(1.0)
        walked.value_at(0.25)
        walked.accept(0.25)
        w = moved(w, step, 0.25)
    value = go_to(direct, w)
    walked.move(SparseVector.empty())
    assert walked.value_at(1.0) == value
    walked.accept(1.0)
    np.testing.assert_array_equal(full_gradient(walked), full_gradient(direct))


def test_draws_are_at_the_point_after_a_trial_that_was_not_taken():
    problem = random_chain(5, n_labels=4, n_features=9, lengths=[9] * 40)
    oracle = single(problem)
    w, d = (random_weights(oracle, seed) for seed in (1, 2))
    coordinates = np.arange(oracle.n_coordinates)
    go_to(oracle, w)
    before = oracle.sample_curvature(coordinates, 50, 3)
    oracle.move(d)
    oracle.value_at(1.0)
    after = oracle.sample_curvature(coordinates, 50, 3)
    np.testing.assert_array_equal(after.value, before.value)
    np.testing.assert_array_equal(after.row, before.row)


@pytest.mark.parametrize("n_labels", [3, 11, 17])
def test_one_precision_leaves_nothing_behind_for_the_other(n_labels):
    lengths = [30, 7, 7, 5, 3, 3, 2, 2, 1]  # lanes of unequal length: slots without a token
    problem = random_chain(2, n_labels=n_labels, n_features=9, lengths=lengths)
    oracle = problem.oracle()
    w = random_weights(oracle, 1)
    for precision in (True, False, True, False):
        oracle._workspace._bytes[:] = 0xFF  # not a number
        oracle._workspace.clean = False
        oracle.set_single(precision)
        oracle.reset()
        value = go_to(oracle, w)
        fresh = problem.oracle()
        fresh.set_single(precision)
        assert value == go_to(fresh, w)
        np.testing.assert_array_equal(full_gradient(oracle), full_gradient(fresh))
        sweeps = oracle.sweep(0.5), fresh.sweep(0.5)
        np.testing.assert_array_equal(*(sweep.gradient.values for sweep in sweeps))
        assert sweeps[0].largest == sweeps[1].largest
        np.testing.assert_array_equal(oracle._scores._alpha, fresh._scores._alpha)
