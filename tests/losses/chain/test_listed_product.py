"""Products with transitions that are mostly zero, against NumPy's with all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems import ChainProblem, full_gradient, go_to, random_chain, sparse

from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.chain.scores import SingleScores
from proxqn.problem.sparse import SparseVector

N_LABELS = 43  # lists pay for up to 177 entries: (43² - 10 · 43) / 8
BOTH_WIDTHS = [3, 200, 1, 2, 2, 3, 3, 3, 4, 1, 1, 35, 30, 30, 31, 31, 32, 33, 34, 35]


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Let small problems use single precision, too."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)


def few(rng, share=0.05):
    return rng.normal(size=(N_LABELS, N_LABELS)) * (rng.random((N_LABELS, N_LABELS)) < share)


def none(_rng):
    return np.zeros((N_LABELS, N_LABELS))


def mild(rng):
    """Negative as far as they are listed as differences."""
    return -2.0 * (few(rng) != 0.0)


def forbidden(rng):
    """Into and out of a label: all its entries are listed, of its column or its row."""
    found = few(rng, share=0.02)
    found[5, 9] = found[5, 11] = -20.0
    return found


def many_forbidden(rng):
    return np.where(rng.random((N_LABELS, N_LABELS)) < 0.05, -20.0, 0.0)


def large(rng):
    return 15.0 * np.abs(few(rng, share=0.03))


def full(rng):
    return few(rng, share=1.0)


KINDS = pytest.mark.parametrize(
    "kind",
    [none, few, mild, forbidden, many_forbidden, large, full],
    ids=lambda kind: kind.__name__,
)


def weights(oracle, transitions, seed=0):
    w = np.random.default_rng(seed).normal(size=oracle.n_coordinates)
    w[-N_LABELS * N_LABELS :] = transitions.ravel()
    return sparse(w)


def some_problem(seed=1):
    return random_chain(seed, n_labels=N_LABELS, n_features=12, lengths=BOTH_WIDTHS, binary=False)


@KINDS
def test_double_precision_equals_reference(kind):
    problem = some_problem().with_weights(2)
    compiled, plain = problem.oracle(), problem.oracle(kernels=reference)
    assert set(compiled.layout.width) == {1, 8}
    w = weights(compiled, kind(np.random.default_rng(3)))
    found, true = go_to(compiled, w), go_to(plain, w)
    assert found.value == pytest.approx(true.value, rel=1e-13)
    np.testing.assert_allclose(found.losses(), true.losses(), rtol=1e-12, atol=1e-11)
    gradients = (full_gradient(point, compiled.n_coordinates) for point in (found, true))
    np.testing.assert_allclose(*gradients, atol=1e-10)


@KINDS
def test_single_precision_agrees_with_reference(kind):
    problem = some_problem().with_weights(2)
    rounded, plain = problem.oracle().rounded(), problem.oracle(kernels=reference)
    w = weights(rounded, kind(np.random.default_rng(3)))
    found, true = go_to(rounded, w), go_to(plain, w)
    assert found.value == pytest.approx(true.value, rel=2e-6)
    size = problem.lengths @ problem.weight
    gradients = (full_gradient(point, plain.n_coordinates) for point in (found, true))
    np.testing.assert_allclose(*gradients, atol=1e-6 * size)


@pytest.mark.parametrize("lengths", [[40] * 8, [40]])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("step", [-1.7, -2.0, -2.1, -20.0])
def test_what_is_left_of_a_difference_is_exact(step, single, lengths):
    """All paths take steps that the transitions are against: nothing else hides a wrong digit."""
    n = sum(lengths)
    X = sp.csr_array((np.ones(n), np.arange(n) % 2, np.arange(n + 1)), shape=(n, 2))
    problem = ChainProblem(X, np.arange(n) % 2, np.array(lengths), N_LABELS)
    values, gradients = [], []
    for kernels in ({}, {"kernels": reference}):
        oracle = problem.oracle(**kernels)
        oracle = oracle.rounded() or oracle if single else oracle
        w = np.zeros(oracle.n_coordinates)
        w[0] = w[N_LABELS + 1] = 50.0  # label 0 for even tokens, label 1 for odd ones
        w[-N_LABELS * N_LABELS :].reshape(N_LABELS, N_LABELS)[[0, 1], [1, 0]] = step
        point = go_to(oracle, sparse(w))
        values.append(point.value)
        gradients.append(full_gradient(point, len(w)))
        assert isinstance(oracle._passes.scores, SingleScores) == (single and not kernels)
    error = n * (2e-6 if single else 1e-12)
    assert values[0] == pytest.approx(values[1], abs=error)
    np.testing.assert_allclose(gradients[0], gradients[1], atol=error)


@KINDS
def test_reference_draws_the_same(kind):
    problem, found = some_problem(), []
    for options in ({}, {"n_jobs": 2}, {"kernels": reference}):
        oracle = problem.oracle(**options)
        point = go_to(oracle, weights(oracle, kind(np.random.default_rng(3))))
        everything = np.arange(oracle.n_coordinates, dtype=np.int64)
        columns = point.draw(everything, 200, 7)
        found.append((columns.start, columns.row, columns.value))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])
        np.testing.assert_allclose(other[2], found[0][2], rtol=1e-6)


@pytest.mark.parametrize("single", [False, True])
def test_threads_change_no_bit(single):
    problem = random_chain(4, n_labels=N_LABELS, n_features=20, lengths=[30] * 100, density=0.2)
    answers = []
    for n_jobs in (1, 2, 3):
        oracle = problem.oracle(n_jobs=n_jobs)
        oracle = oracle.rounded() if single else oracle
        point = go_to(oracle, weights(oracle, few(np.random.default_rng(5))))
        answers.append(np.append(full_gradient(point, oracle.n_coordinates), point.value))
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("single", [False, True])
def test_a_transition_that_is_not_a_number_is_seen_in_the_value(bad, single):
    oracle = some_problem().oracle()
    oracle = oracle.rounded() if single else oracle
    transitions = none(None)
    transitions[7, 8] = bad
    with np.errstate(invalid="ignore"):
        line = oracle.at(SparseVector.empty()).along(weights(oracle, transitions))
        assert not np.isfinite(line.value(1.0))
        assert not np.isfinite(oracle.at(weights(oracle, transitions)).value)
