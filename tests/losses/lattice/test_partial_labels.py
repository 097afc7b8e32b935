"""Chains with unknown labels against enumeration of all labelings, and solvers on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lattice_problems import enumerate_lattice, random_lattice
from tests.problems import dense, full_gradient, go_to, random_weights, sparse

from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.lattice import reference as lattice_reference
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem.sparse import SparseVector

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": lattice_reference}, id="reference")


def losses(point):
    return point._chain.losses()


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(("with_edges", "weighted"), [(True, False), (False, True), (True, True)])
def test_equals_enumeration_of_all_labelings(options, n_labels, with_edges, weighted):
    problem = random_lattice(
        n_labels,
        n_labels=n_labels,
        n_sequences=12,
        max_length=5,
        edge_density=0.3 if with_edges else 0.0,
    ).with_unknown(n_labels)
    problem = problem.with_weights() if weighted else problem
    oracle = problem.oracle(**options)
    assert not oracle.convex
    w = random_weights(oracle, 1)
    point = go_to(oracle, w)
    w = dense(w, oracle.n_coordinates)
    truth = enumerate_lattice(problem, oracle, w)
    np.testing.assert_allclose(point.value, truth.value, **EXACT)
    np.testing.assert_allclose(losses(point), truth.losses, **EXACT)
    np.testing.assert_allclose(full_gradient(point, len(w)), truth.gradient, **EXACT)
    swept = point.sweep(-1.0)
    np.testing.assert_allclose(dense(swept.gradient, len(w)), truth.gradient, **EXACT)
    assert point.conjugate(0.5) is point.conjugate(0.0) is None


@pytest.mark.parametrize("scale", [300.0, 1e4])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_huge_scores_agree_with_enumeration(options, scale):
    problem = random_lattice(3, n_labels=4, n_sequences=12, max_length=5, density=0.3)
    problem = problem.with_unknown(1)
    oracle = problem.oracle(**options)
    w = np.round(np.random.default_rng(0).uniform(-scale, scale, oracle.n_coordinates))
    point = go_to(oracle, sparse(w))
    truth = enumerate_lattice(problem, oracle, w)
    rounding = 4e-15 * scale * problem.chain.lengths.sum()
    np.testing.assert_allclose(point.value, truth.value, rtol=1e-12, atol=rounding)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, atol=10 * rounding)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_one_candidate_each_is_the_ordinary_loss(scale):
    """Known labels given through the path of unknown ones."""
    problem = random_lattice(4, n_labels=3, n_sequences=20).with_weights()
    labels = problem.chain.labels
    candidates = np.zeros((len(labels), 3), dtype=bool)
    candidates[np.arange(len(labels)), labels] = True
    other = replace(problem, partial=PartialLabels(np.full(len(labels), -1, np.int32), candidates))
    a, b = problem.oracle(), other.oracle()
    w = random_weights(a, 2, scale=scale)
    points = go_to(b, w), go_to(a, w)
    np.testing.assert_allclose(*(p.value for p in points), rtol=1e-12, atol=1e-11 * scale)
    gradients = (full_gradient(point, a.n_coordinates) for point in points)
    np.testing.assert_allclose(*gradients, atol=1e-11 * scale)


def test_known_labels_stay_convex():
    problem = random_lattice(4, n_labels=3)
    partial = PartialLabels.known(problem.chain.labels.astype(np.int32), 3)
    a, b = problem.oracle(), replace(problem, partial=partial).oracle()
    assert b.convex
    w = random_weights(a, 2)
    points = go_to(a, w), go_to(b, w)
    assert points[0].value == points[1].value
    assert points[0].conjugate(0.3) == points[1].conjugate(0.3)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 10),
    scale=st.sampled_from([0.1, 3.0, 300.0, 1e4]),
    observed=st.booleans(),
)
def test_compiled_equals_numpy(seed, n_labels, scale, observed):
    problem = random_lattice(seed, n_labels=n_labels, n_sequences=15, max_length=8)
    problem = problem.with_unknown(seed, 0.2).with_weights(seed)
    pairs = Pairs.OBSERVED if observed else Pairs.ALL
    found = []
    for options in ({}, {"kernels": lattice_reference}):
        oracle = problem.oracle(pairs=pairs, **options)
        w, more = (random_weights(oracle, seed + i, scale=scale) for i in (1, 2))
        line = go_to(oracle, w).along(more)
        values = [line.value(step) for step in (1.0, 0.25)]
        point = line.accept(0.25)
        g = full_gradient(point, oracle.n_coordinates)
        found.append((values, g, point.sweep(0.0).largest))
    (values, g, largest), (true_values, true_g, true_largest) = found
    noise = 1e-10 * max(scale, 1.0)
    np.testing.assert_allclose(values, true_values, rtol=1e-11, atol=noise)
    np.testing.assert_allclose(g, true_g, rtol=1e-9, atol=noise)
    np.testing.assert_allclose(largest, true_largest, rtol=1e-9, atol=noise)


def test_any_number_of_threads_gives_the_same_bits():
    problem = random_lattice(1, n_labels=5, n_sequences=1500, max_length=9).with_unknown()
    found = []
    for n_jobs in (1, 2, 3):
        oracle = problem.oracle(n_jobs=n_jobs)
        point = go_to(oracle, random_weights(oracle, 1))
        found.append((point.value, full_gradient(point, oracle.n_coordinates)))
    for value, g in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(g, found[0][1])


def test_observed_pairs_are_those_that_may_be_true():
    problem = random_lattice(2, n_labels=4, n_sequences=9, edge_binary=False).with_unknown(3)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    chain, marks = problem.chain, problem.partial.allowed()
    marks[marks.all(axis=1)] = False  # any label: no evidence
    X, E = chain.X.toarray() != 0, problem.edges.toarray() != 0
    firsts = set((np.cumsum(chain.lengths) - chain.lengths).tolist())
    states = {(f, y) for t, f in zip(*np.nonzero(X), strict=True) for y in np.flatnonzero(marks[t])}
    steps = [t for t in range(len(marks)) if t not in firsts]
    pairs = {
        (t, i, j)
        for t in steps
        for i in np.flatnonzero(marks[t - 1])
        for j in np.flatnonzero(marks[t])
    }
    edges = {(f, i, j) for t, i, j in pairs for f in np.flatnonzero(E[t])}
    expected = len(states) + len({(i, j) for _, i, j in pairs}) + len(edges)
    assert oracle.n_parameters == expected
    swept = go_to(oracle, random_weights(oracle, 1)).sweep(0.0).gradient.coordinates
    coef, transitions, edge_coef = oracle.unpack(SparseVector(swept, np.ones(len(swept))))
    assert set(zip(*coef.T.nonzero(), strict=True)) <= states
    assert set(zip(*np.nonzero(transitions), strict=True)) <= {(i, j) for _, i, j in pairs}
    found = zip(edge_coef.nonzero()[1], *np.divmod(edge_coef.nonzero()[0], 4), strict=True)
    assert set(found) <= edges


@pytest.mark.parametrize("pairs", list(Pairs))
def test_some_sequences_are_the_loss_of_these(pairs):
    problem = random_lattice(9, n_labels=3, n_sequences=64, max_length=7).with_unknown()
    oracle = problem.oracle(pairs=pairs)
    n, w = oracle.n_coordinates, random_weights(oracle, 1)
    chosen = np.sort(np.random.default_rng(0).choice(64, 20, replace=False))
    part = oracle.restrict(chosen, 3.2)
    assert not part.convex
    assert part.n_parameters == oracle.n_parameters
    whole, point = go_to(oracle, w), go_to(part, w)
    np.testing.assert_allclose(point.value, 3.2 * losses(whole)[chosen].sum(), rtol=1e-12)
    factors = np.zeros(64)
    factors[chosen] = 3.2
    chain = replace(problem.chain, sample_weight=factors)
    by_hand = go_to(replace(problem, chain=chain).oracle(pairs=pairs), w)
    np.testing.assert_allclose(*(full_gradient(p, n) for p in (point, by_hand)), **EXACT)
    direction = np.random.default_rng(5).normal(size=n)
    g, line = full_gradient(point, n), point.along(sparse(direction))
    slope = (line.value(1e-5) - line.value(-1e-5)) / 2e-5
    np.testing.assert_allclose(slope, g @ direction, rtol=1e-7)


def test_sequences_whose_labels_are_all_known_are_convex():
    problem = random_lattice(9, n_labels=3, n_sequences=30, max_length=4).with_unknown(0, 0.1)
    oracle = problem.oracle()
    unknown = np.repeat(np.arange(30), problem.chain.lengths)[problem.partial.labels < 0]
    known = np.setdiff1d(np.arange(30), unknown)
    assert 0 < len(known) < 30
    part, w = oracle.restrict(known), random_weights(oracle, 1)
    assert part.convex
    point = go_to(part, w)
    g = full_gradient(point, part.n_coordinates)
    inner = g @ dense(w, part.n_coordinates)
    assert point.conjugate(1.0) == pytest.approx(inner - point.value, abs=1e-10)
    np.testing.assert_allclose(point.value, losses(go_to(oracle, w))[known].sum(), rtol=1e-12)


def test_bad_candidates_are_refused():
    problem = random_lattice(1, n_labels=3)
    labels = problem.chain.labels.astype(np.int32)
    labels[0] = -1
    for marks in (np.zeros((1, 3), dtype=bool), np.ones((2, 3), dtype=bool)):
        with pytest.raises(ValueError, match="candidates must mark at least one"):
            replace(problem, partial=PartialLabels(labels, marks)).oracle()
    with pytest.raises(ValueError, match="labels must be numbers from 0"):
        LatticeOracle(problem.chain.X, labels, problem.chain.lengths, n_labels=3)


def test_no_edges_and_nothing_unknown_is_the_plain_chain():
    chain = random_lattice(5, n_labels=4).chain
    plain, other = (
        chain.oracle(),
        LatticeOracle(chain.X, chain.labels, chain.lengths, n_labels=4),
    )
    w = random_weights(plain, 3)
    points = go_to(other, w), go_to(plain, w)
    np.testing.assert_allclose(*(point.value for point in points), **EXACT)
    gradients = (full_gradient(point, plain.n_coordinates) for point in points)
    np.testing.assert_allclose(*gradients, **EXACT)
    assert sp.issparse(other.unpack(w)[2])
