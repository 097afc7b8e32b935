"""Chains with edge features against enumeration of all labelings, finite differences and NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lattice_problems import LatticeProblem, enumerate_lattice, random_lattice
from tests.problems import dense, full_gradient, go_to, random_weights, sparse

from proxqn import minimize
from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.lattice import reference as lattice_reference
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem import SparseVector

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": lattice_reference}, id="reference")


def at_random_point(problem: LatticeProblem, seed: int = 1, scale: float = 1.0, **options):
    oracle = problem.oracle(**options)
    w = random_weights(oracle, seed, scale=scale)
    value = go_to(oracle, w)
    return oracle, dense(w, oracle.n_coordinates), value


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(("binary", "weighted"), [(True, False), (False, True)])
def test_equals_enumeration_of_all_labelings(options, n_labels, binary, weighted):
    problem = random_lattice(
        n_labels, n_labels=n_labels, n_sequences=10, max_length=5, edge_binary=binary
    )
    problem = problem.with_weights() if weighted else problem
    oracle, w, value = at_random_point(problem, **options)
    truth = enumerate_lattice(problem, oracle, w)
    np.testing.assert_allclose(value, truth.value, **EXACT)
    np.testing.assert_allclose(oracle.sample_losses()[0], truth.losses, **EXACT)
    g = full_gradient(oracle)
    np.testing.assert_allclose(g, truth.gradient, **EXACT)
    np.testing.assert_allclose(value - w @ g, truth.entropy, rtol=1e-12, atol=1e-11)
    swept = oracle.sweep(-1.0)
    np.testing.assert_allclose(dense(swept.gradient, len(w)), truth.gradient, **EXACT)
    np.testing.assert_allclose(swept.largest, np.abs(truth.gradient).max(), **EXACT)


@pytest.mark.parametrize("scale", [300.0, 1e4])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_huge_scores_agree_with_enumeration(options, scale):
    problem = random_lattice(3, n_labels=4, n_sequences=12, max_length=5, density=0.3)
    oracle = problem.oracle(**options)
    w = np.round(np.random.default_rng(0).uniform(-scale, scale, oracle.n_coordinates))
    value = go_to(oracle, sparse(w))
    truth = enumerate_lattice(problem, oracle, w)
    rounding = 2e-15 * scale * problem.chain.lengths.sum()
    np.testing.assert_allclose(value, truth.value, rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(full_gradient(oracle), truth.gradient, atol=10 * rounding)
    swept = dense(oracle.sweep(-1.0).gradient, len(w))
    np.testing.assert_allclose(swept, truth.gradient, atol=10 * rounding)


@pytest.mark.parametrize("factor", [1e4, 2e2])
def test_one_huge_edge_leaves_the_other_sequences_alone(factor):
    """A pattern out of range sends its own sequences to the log domain; others stay scaled."""
    problem = random_lattice(8, n_labels=3, lengths=[4] * 9, n_edge_features=3, edge_density=0.5)
    edges = problem.edges.toarray()
    edges[1] *= factor  # a step of the first sequence
    problem = replace(problem, edges=sp.csr_array(edges))
    oracle, w, _ = at_random_point(problem)
    truth = enumerate_lattice(problem, oracle, w)
    np.testing.assert_allclose(oracle.sample_losses()[0][1:], truth.losses[1:], **EXACT)
    np.testing.assert_allclose(full_gradient(oracle), truth.gradient, rtol=1e-9, atol=1e-9 * factor)


def test_gradient_is_the_derivative():
    problem = random_lattice(4, n_labels=3, edge_binary=False).with_weights()
    oracle, w, _ = at_random_point(problem)
    g = full_gradient(oracle)
    direction = np.random.default_rng(5).normal(size=len(w))
    h = 1e-5
    oracle.move(sparse(direction))
    slope = (oracle.value_at(h) - oracle.value_at(-h)) / (2 * h)
    np.testing.assert_allclose(slope, g @ direction, rtol=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_labels=st.integers(1, 11),
    scale=st.sampled_from([0.1, 3.0, 300.0, 1e4]),
    binary=st.booleans(),
    observed=st.booleans(),
)
def test_compiled_equals_numpy(seed, n_labels, scale, binary, observed):
    problem = random_lattice(
        seed, n_labels=n_labels, n_sequences=20, max_length=9, edge_binary=binary
    ).with_weights(seed)
    pairs = Pairs.OBSERVED if observed else Pairs.ALL
    oracles = [problem.oracle(pairs=pairs, **o) for o in ({}, {"kernels": lattice_reference})]
    w, more = (random_weights(oracles[0], seed + i, scale=scale) for i in (1, 2))
    found = []
    for oracle in oracles:
        go_to(oracle, w)
        oracle.move(more)
        values = [oracle.value_at(step) for step in (1.0, 0.25)]
        oracle.accept(0.25)
        swept = oracle.sweep(0.3)
        found.append((values, full_gradient(oracle), swept))
    (values, g, swept), (true_values, true_g, true_swept) = found
    noise = 1e-13 * max(scale, 1.0) * 10
    np.testing.assert_allclose(values, true_values, rtol=1e-11, atol=1e-11 * max(scale, 1.0))
    np.testing.assert_allclose(g, true_g, rtol=1e-9, atol=100 * noise)
    np.testing.assert_allclose(swept.largest, true_swept.largest, rtol=1e-9, atol=100 * noise)
    inside = np.abs(np.abs(true_g) - 0.3) > 1e3 * noise  # not at the threshold itself
    np.testing.assert_array_equal(
        dense(swept.gradient, len(g))[inside] != 0, dense(true_swept.gradient, len(g))[inside] != 0
    )


def test_any_number_of_threads_gives_the_same_bits():
    problem = random_lattice(1, n_labels=5, n_sequences=1500, max_length=9, n_edge_features=60)
    found = []
    for n_jobs in (1, 2, 3):
        oracle, _, value = at_random_point(problem, n_jobs=n_jobs)
        found.append((value, full_gradient(oracle), oracle.sweep(0.5).gradient.values))
    for value, g, swept in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(g, found[0][1])
        np.testing.assert_array_equal(swept, found[0][2])


def test_observed_pairs_are_those_of_the_data():
    problem = random_lattice(2, n_labels=3, n_sequences=6, edge_binary=False)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    chain, seen = problem.chain, set()
    edges, firsts = problem.edges.tocsr(), set(np.cumsum(chain.lengths) - chain.lengths)
    for t in range(edges.shape[0]):
        if t not in firsts:
            for c in edges.indices[edges.indptr[t] : edges.indptr[t + 1]].tolist():
                seen.add((c, int(chain.labels[t - 1]), int(chain.labels[t])))
    go_to(oracle, SparseVector.empty())
    swept = oracle.sweep(-1.0).gradient.coordinates
    _, _, edge_coef = oracle.unpack(SparseVector(swept, np.ones(len(swept))))
    pair, column = edge_coef.nonzero()
    found = zip(column.tolist(), *(part.tolist() for part in np.divmod(pair, 3)), strict=True)
    assert set(found) == seen
    assert oracle.n_parameters == chain.oracle(pairs=Pairs.OBSERVED).n_parameters + len(seen)


def test_edge_features_equal_to_labels_of_plain_transitions():
    """An edge feature that is always 1 says the same as the plain transitions."""
    problem = random_lattice(6, n_labels=3)
    ones = sp.csr_array(np.ones((problem.chain.X.shape[0], 1)))
    oracle, plain = replace(problem, edges=ones).oracle(), problem.chain.oracle()
    w = random_weights(plain, 3)
    at = np.searchsorted(w.coordinates, plain.n_coordinates - 9)
    moved = w.coordinates.copy()
    moved[at:] += 9  # from the transitions to the edge feature
    value = go_to(oracle, SparseVector(moved, w.values))
    np.testing.assert_allclose(value, go_to(plain, w), **EXACT)
    np.testing.assert_allclose(full_gradient(oracle)[:-9], full_gradient(plain), **EXACT)
    np.testing.assert_allclose(full_gradient(oracle)[-9:], full_gradient(plain)[-9:], **EXACT)


def test_first_rows_of_edges_are_not_used():
    problem = random_lattice(7, n_labels=3)
    changed = problem.edges.toarray()
    changed[np.cumsum(problem.chain.lengths) - problem.chain.lengths] = 5.0
    other = replace(problem, edges=sp.csr_array(changed))
    a, w, value = at_random_point(problem)
    b = other.oracle()
    assert a.n_coordinates == b.n_coordinates
    assert go_to(b, sparse(w)) == value


def test_subsample_of_everything_is_the_whole():
    problem = random_lattice(9, n_labels=3, n_sequences=40).with_weights()
    oracle, w, value = at_random_point(problem)
    part = oracle.subsample(1.0, 0)
    assert isinstance(part, LatticeOracle)
    np.testing.assert_allclose(go_to(part, sparse(w)), value, rtol=1e-13)
    np.testing.assert_allclose(full_gradient(part), full_gradient(oracle), **EXACT)


def test_subsample_is_the_loss_of_its_sequences():
    problem = random_lattice(9, n_labels=3, n_sequences=64, max_length=7)
    oracle, w, _ = at_random_point(problem)
    part = oracle.subsample(0.3, 0)
    chosen = oracle._chain.layout.sample(0.3, 0).sequences
    value = go_to(part, sparse(w))
    lengths = problem.chain.lengths
    factor = lengths.sum() / lengths[chosen].sum()
    np.testing.assert_allclose(value, factor * oracle.sample_losses()[0][chosen].sum(), rtol=1e-12)
    direction = np.random.default_rng(5).normal(size=len(w))
    g = full_gradient(part)
    part.move(sparse(direction))
    slope = (part.value_at(1e-5) - part.value_at(-1e-5)) / 2e-5
    np.testing.assert_allclose(slope, g @ direction, rtol=1e-7)


def test_pack_and_unpack_are_inverse():
    problem = random_lattice(10, n_labels=3)
    oracle = problem.oracle()
    w = random_weights(oracle, 1)
    back = oracle.pack(*oracle.unpack(w))
    np.testing.assert_array_equal(back.coordinates, w.coordinates)
    np.testing.assert_array_equal(back.values, w.values)


@pytest.mark.parametrize("pairs", list(Pairs))
def test_solvers_agree_and_certify(pairs):
    problem = random_lattice(11, n_labels=3, n_sequences=60, max_length=8)
    results = [
        minimize(problem.oracle(pairs=pairs), lam=1.0, solver=s, tol=1e-7, max_iter=3000)
        for s in ("prox-qn", "prox-gd", "owl-qn")
    ]
    for result in results:
        assert result.success
        assert result.fun <= results[0].fun * (1 + 2e-7)
    oracle = problem.oracle(pairs=pairs)
    w = results[0].x
    assert (w.coords[0] >= oracle._n_chain).any()  # edge weights are used
    value = go_to(oracle, SparseVector(w.coords[0].astype(np.int64), w.data))
    np.testing.assert_allclose(value + np.abs(w.data).sum(), results[0].fun, rtol=1e-10)


@pytest.mark.parametrize("solver", ["sgd", "bcd"])
def test_other_rivals_are_refused(solver):
    oracle = random_lattice(1).oracle()
    with pytest.raises(TypeError, match="LatticeOracle does not work with solver"):
        minimize(oracle, lam=1.0, solver=solver)


def test_edges_must_have_a_row_a_token():
    problem = random_lattice(1)
    with pytest.raises(ValueError, match="one row of edges a row of X"):
        replace(problem, edges=problem.edges[:-1]).oracle()
