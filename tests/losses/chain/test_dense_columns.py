"""A chain's loss on dense columns: everything as on the same data held sparse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems import full_gradient, random_weights

from proxqn import _kernels, minimize
from proxqn.features.dense import DenseColumns, split
from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain import reference
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem.sparse import SparseVector

BOTH = pytest.mark.parametrize("pairs", list(Pairs))
N_LABELS, N_COLUMNS = 5, 12


class Problem:
    """Twelve columns, the first eight of which are dense, or else the last."""

    def __init__(self, seed, *, dense_first=True, n_sequences=40, dtype=np.float32):
        rng = np.random.default_rng(seed)
        self.lengths = rng.integers(1, 9, n_sequences)
        n = int(self.lengths.sum())
        dense = rng.normal(size=(n, 8)).astype(dtype)
        dense[:, 1] *= rng.random(n) < 0.5
        words = (rng.random((n, 4)) < 0.2).astype(dtype)
        words[0] = 1
        blocks = [dense, words] if dense_first else [words, dense]
        self.X = np.concatenate(blocks, axis=1)
        columns = np.arange(8) + (0 if dense_first else 4)
        rest = self.X.copy()
        rest[:, columns] = 0
        self.rest, self.dense = sp.csr_array(rest), DenseColumns(dense, columns)
        truth = rng.normal(size=(N_COLUMNS, N_LABELS))
        self.labels = (self.X @ truth + rng.gumbel(size=(n, N_LABELS))).argmax(axis=1)
        self.weight = rng.uniform(0.5, 2.0, n_sequences)

    def sparse_oracle(self, kind=ChainOracle, **options):
        return self._oracle(kind, sp.csr_array(self.X), **options)

    def oracle(self, kind=ChainOracle, **options):
        return self._oracle(kind, self.rest, dense=self.dense, **options)

    def _oracle(self, kind, X, labels=None, **options):
        labels = self.labels if labels is None else labels
        options = {"n_labels": N_LABELS, "sample_weight": self.weight} | options
        return kind(X, labels, self.lengths, **options)


def on(other, own, w):
    """Return the same weights with another oracle's numbers of columns."""
    return other.pack(*own.unpack(w))


def assert_same_point(own, other, w, *, atol=1e-9):
    point, true = own.at(w), other.at(on(other, own, w))
    assert point.value == pytest.approx(true.value, rel=1e-12)
    gradients = [oracle.unpack(_all(oracle, at)) for oracle, at in ((own, point), (other, true))]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(_array(a), _array(b), atol=atol)
    assert point.conjugate(0.7) == pytest.approx(true.conjugate(0.7), rel=1e-9)
    level = 0.5
    found, expected = point.sweep(level), true.sweep(level)
    assert found.largest == pytest.approx(expected.largest, rel=1e-9)
    for a, b in zip(own.unpack(found.gradient), other.unpack(expected.gradient), strict=True):
        np.testing.assert_allclose(_array(a), _array(b), atol=atol)


def _all(oracle, point):
    everything = np.arange(oracle.n_coordinates)
    return SparseVector(everything, point.gradient(everything))


def _array(x):
    return x.toarray() if sp.issparse(x) else x


@BOTH
@pytest.mark.parametrize("dense_first", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernels", [_kernels, reference], ids=["kernels", "reference"])
def test_points_are_those_of_sparse_data(pairs, dense_first, dtype, kernels):
    problem = Problem(1, dense_first=dense_first, dtype=dtype)
    own = problem.oracle(pairs=pairs, kernels=kernels)
    other = problem.sparse_oracle(pairs=pairs, kernels=kernels)
    assert own.n_parameters == other.n_parameters
    for seed in range(3):
        w = on(own, other, random_weights(other, seed))
        assert_same_point(own, other, w)


@BOTH
def test_lines_and_curvature_are_those_of_sparse_data(pairs):
    problem = Problem(2)
    own, other = problem.oracle(pairs=pairs), problem.sparse_oracle(pairs=pairs)
    w, d = (on(own, other, random_weights(other, seed)) for seed in (0, 1))
    line = own.at(w).along(d)
    true = other.at(on(other, own, w)).along(on(other, own, d))
    for alpha in (0.25, 1.0):
        assert line.value(alpha) == pytest.approx(true.value(alpha), rel=1e-12)
    n = own.n_coordinates
    accepted = full_gradient(line.accept(0.25), n)
    np.testing.assert_allclose(accepted, full_gradient(true.accept(0.25), n), atol=1e-9)
    everything = np.arange(n)
    np.testing.assert_allclose(own.curvatures(everything), other.curvatures(everything))


def test_draws_are_those_of_sparse_data():
    problem = Problem(3)
    w = random_weights(problem.oracle(), 0)
    found = []
    for oracle in (problem.oracle(), problem.sparse_oracle()):
        everything = np.arange(oracle.n_coordinates)
        J = oracle.at(w).draw(everything, 200, 5)
        columns = np.repeat(np.arange(len(J.start) - 1), np.diff(J.start))
        size = J.n_rows, len(everything)
        found.append(sp.coo_array((J.value, (J.row, columns)), shape=size).toarray())
    np.testing.assert_allclose(*found, atol=1e-6)


def test_draws_of_dense_columns_take_no_more_memory_than_residuals():
    """Rows beyond those asked for are cheap only as long as their entries are few."""
    rng = np.random.default_rng(10)
    X, labels = rng.normal(size=(1200, 40)), rng.integers(60, size=1200)
    found = []
    for data in (X, sp.csr_array(X)):
        oracle = ChainOracle(data, labels, np.full(200, 6), n_labels=60)
        everything = np.arange(oracle.n_coordinates)
        found.append(len(oracle.at(SparseVector.empty()).draw(everything, 1, 0).row))
    assert found[0] < 0.2 * 60 * len(X)
    assert found[1] > 0.4 * 60 * len(X)


@BOTH
def test_some_sequences_are_those_of_sparse_data(pairs):
    problem = Problem(4)
    chosen = np.sort(np.random.default_rng(0).permutation(40)[:17])
    parts = [
        oracle.restrict(chosen, 2.0)
        for oracle in (problem.oracle(pairs=pairs), problem.sparse_oracle(pairs=pairs))
    ]
    assert parts[0].data.dense.values is problem.dense.values  # shared
    assert_same_point(*parts, random_weights(parts[1], 1))
    twice = [part.restrict(np.array([1, 4, 5])) for part in parts]
    assert_same_point(*twice, random_weights(parts[1], 2))


@BOTH
@pytest.mark.parametrize("dense_first", [True, False])
def test_single_precision_agrees_with_double(pairs, dense_first, monkeypatch):
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)
    problem = Problem(5, dense_first=dense_first)
    double = problem.oracle(pairs=pairs)
    w = random_weights(double, 0, scale=0.3)
    n = double.n_coordinates
    expected = full_gradient(double.at(w), n)
    single = problem.oracle(pairs=pairs).rounded()
    point = single.at(w)
    np.testing.assert_allclose(full_gradient(point, n), expected, atol=2e-4)
    found = point.sweep(0.5, keep=w.coordinates).gradient
    np.testing.assert_allclose(found.values, expected[found.coordinates], atol=2e-4)


def test_an_array_is_taken_as_it_is():
    problem = Problem(7)
    oracle = ChainOracle(problem.X[:, :8].copy(), problem.labels, problem.lengths, n_labels=5)
    assert oracle.data.n_dense == 8
    X = np.ascontiguousarray(problem.X[:, :8])
    assert np.shares_memory(X, split(X)[1].values)


@pytest.mark.parametrize("solver", ["prox-qn", "sgd", "bcd"])
def test_answers_are_those_of_sparse_data(solver):
    """The rivals, which read sparse columns only, have a copy."""
    problem = Problem(8)
    expected = minimize(problem.sparse_oracle(), 1.0, tol=1e-10).fun
    options = {} if solver == "prox-qn" else {"solver": solver, "max_iter": 100}
    found = minimize(problem.oracle(), 1.0, tol=1e-10, **options).fun
    assert found == pytest.approx(expected, rel=1e-8 if solver == "prox-qn" else 1e-2)


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.filterwarnings("error")
def test_a_column_of_zeros_changes_nothing_even_without_penalty(l2):
    problem = Problem(11)
    found = []
    for X in (problem.X[:, :8].copy(), np.insert(problem.X[:, :8], 3, 0.0, axis=1)):
        oracle = ChainOracle(X, problem.labels, problem.lengths, n_labels=N_LABELS)
        lam = np.ones(oracle.n_coordinates)
        lam[: 4 * N_LABELS] = 0.0
        lam[3 * N_LABELS : 4 * N_LABELS] = X.shape[1] == 8
        found.append(minimize(oracle, lam, l2=l2, tol=1e-9))
    assert found[1].fun == pytest.approx(found[0].fun, rel=1e-7)
    assert not found[1].weights.on(np.arange(3 * N_LABELS, 4 * N_LABELS)).any()


@BOTH
def test_lattices_take_dense_columns_as_well(pairs):
    problem = Problem(9)
    rng = np.random.default_rng(0)
    edges = sp.csr_array((rng.random((len(problem.X), 2)) < 0.3).astype(float))
    unknown = problem.labels.copy()
    unknown[::4] = -1
    candidates = rng.random((int((unknown < 0).sum()), N_LABELS)) < 0.6
    candidates[:, 0] = True
    for labels in (problem.labels, PartialLabels(unknown, candidates)):
        options = {"pairs": pairs, "labels": labels, "edges": edges}
        own = problem.oracle(LatticeOracle, **options)
        other = problem.sparse_oracle(LatticeOracle, **options)
        assert own.n_parameters == other.n_parameters
        w = on(own, other, random_weights(other, 3))  # without pairs that have no weight
        value = own.at(w).value
        assert value == pytest.approx(other.at(on(other, own, w)).value, rel=1e-12)
