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

from proxqn.losses.chain.oracle import Pairs
from proxqn.losses.lattice import reference as lattice_reference
from proxqn.problem import abilities
from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import SpentPointError
from proxqn.problem.sparse import SparseVector

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": lattice_reference}, id="reference")


def at_random_point(problem: LatticeProblem, seed: int = 1, scale: float = 1.0, **options):
    oracle = problem.oracle(**options)
    w = random_weights(oracle, seed, scale=scale)
    return oracle, dense(w, oracle.n_coordinates), go_to(oracle, w)


def losses(point):
    return point._chain.losses()


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(("binary", "weighted"), [(True, False), (False, True)])
def test_equals_enumeration_of_all_labelings(options, n_labels, binary, weighted):
    problem = random_lattice(
        n_labels, n_labels=n_labels, n_sequences=10, max_length=5, edge_binary=binary
    )
    problem = problem.with_weights() if weighted else problem
    oracle, w, point = at_random_point(problem, **options)
    truth = enumerate_lattice(problem, oracle, w)
    np.testing.assert_allclose(point.value, truth.value, **EXACT)
    np.testing.assert_allclose(losses(point), truth.losses, **EXACT)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, **EXACT)
    np.testing.assert_allclose(point.value - w @ g, truth.entropy, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(point.conjugate(1.0), -truth.entropy, rtol=1e-12, atol=1e-11)
    swept = point.sweep(-1.0)
    np.testing.assert_allclose(dense(swept.gradient, len(w)), truth.gradient, **EXACT)
    np.testing.assert_allclose(swept.largest, np.abs(truth.gradient).max(), **EXACT)


@pytest.mark.parametrize("scale", [300.0, 1e4])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_huge_scores_agree_with_enumeration(options, scale):
    problem = random_lattice(3, n_labels=4, n_sequences=12, max_length=5, density=0.3)
    oracle = problem.oracle(**options)
    w = np.round(np.random.default_rng(0).uniform(-scale, scale, oracle.n_coordinates))
    point = go_to(oracle, sparse(w))
    truth = enumerate_lattice(problem, oracle, w)
    rounding = 2e-15 * scale * problem.chain.lengths.sum()
    np.testing.assert_allclose(point.value, truth.value, rtol=1e-12, atol=rounding)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, atol=10 * rounding)
    swept = dense(point.sweep(-1.0).gradient, len(w))
    np.testing.assert_allclose(swept, truth.gradient, atol=10 * rounding)


@pytest.mark.parametrize("factor", [1e4, 2e2])
def test_one_huge_edge_leaves_the_other_sequences_alone(factor):
    """A pattern out of range sends its own sequences to the log domain; others stay scaled."""
    problem = random_lattice(8, n_labels=3, lengths=[4] * 9, n_edge_features=3, edge_density=0.5)
    edges = problem.edges.toarray()
    edges[1] *= factor  # a step of the first sequence
    problem = replace(problem, edges=sp.csr_array(edges))
    oracle, w, point = at_random_point(problem)
    truth = enumerate_lattice(problem, oracle, w)
    np.testing.assert_allclose(losses(point)[1:], truth.losses[1:], **EXACT)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, rtol=1e-9, atol=1e-9 * factor)


def test_gradient_is_the_derivative():
    problem = random_lattice(4, n_labels=3, edge_binary=False).with_weights()
    _, w, point = at_random_point(problem)
    g = full_gradient(point, len(w))
    direction = np.random.default_rng(5).normal(size=len(w))
    h = 1e-5
    line = point.along(sparse(direction))
    slope = (line.value(h) - line.value(-h)) / (2 * h)
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
        line = go_to(oracle, w).along(more)
        values = [line.value(step) for step in (1.0, 0.25)]
        point = line.accept(0.25)
        found.append((values, full_gradient(point, oracle.n_coordinates), point.sweep(0.3)))
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
        _, w, point = at_random_point(problem, n_jobs=n_jobs)
        found.append((point.value, full_gradient(point, len(w)), point.sweep(0.5).gradient.values))
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
    swept = go_to(oracle, SparseVector.empty()).sweep(-1.0).gradient.coordinates
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
    found, true = go_to(oracle, SparseVector(moved, w.values)), go_to(plain, w)
    np.testing.assert_allclose(found.value, true.value, **EXACT)
    g = full_gradient(found, oracle.n_coordinates)
    expected = full_gradient(true, plain.n_coordinates)
    np.testing.assert_allclose(g[:-9], expected, **EXACT)
    np.testing.assert_allclose(g[-9:], expected[-9:], **EXACT)
    for scale in (0.3, 1.0):
        np.testing.assert_allclose(found.conjugate(scale), true.conjugate(scale), **EXACT)


def test_first_rows_of_edges_are_not_used():
    problem = random_lattice(7, n_labels=3)
    changed = problem.edges.toarray()
    changed[np.cumsum(problem.chain.lengths) - problem.chain.lengths] = 5.0
    other = replace(problem, edges=sp.csr_array(changed))
    a, w, point = at_random_point(problem)
    b = other.oracle()
    assert a.n_coordinates == b.n_coordinates
    assert go_to(b, sparse(w)).value == point.value


def test_all_sequences_are_the_whole():
    problem = random_lattice(9, n_labels=3, n_sequences=40).with_weights()
    oracle, w, point = at_random_point(problem)
    part = go_to(oracle.restrict(np.arange(40)), sparse(w))
    assert part.value == point.value
    np.testing.assert_array_equal(*(full_gradient(p, len(w)) for p in (part, point)))


@pytest.mark.parametrize("pairs", list(Pairs))
def test_some_sequences_are_the_loss_of_these(pairs):
    problem = random_lattice(9, n_labels=3, n_sequences=64, max_length=7)
    oracle, w, whole = at_random_point(problem, pairs=pairs)
    chosen = np.sort(np.random.default_rng(1).choice(64, 20, replace=False))
    part = oracle.restrict(chosen, 3.2)
    assert (part.n_coordinates, part.n_samples) == (oracle.n_coordinates, 20)
    assert part.n_parameters == oracle.n_parameters
    point = go_to(part, sparse(w))
    np.testing.assert_allclose(point.value, 3.2 * losses(whole)[chosen].sum(), rtol=1e-12)
    factors = np.zeros(64)
    factors[chosen] = 3.2
    chain = replace(problem.chain, sample_weight=factors)
    by_hand = go_to(replace(problem, chain=chain).oracle(pairs=pairs), sparse(w))
    np.testing.assert_allclose(*(full_gradient(p, len(w)) for p in (point, by_hand)), **EXACT)
    sweeps = point.sweep(0.3), by_hand.sweep(0.3)
    np.testing.assert_array_equal(*(sweep.gradient.coordinates for sweep in sweeps))
    np.testing.assert_allclose(point.conjugate(0.4), by_hand.conjugate(0.4), **EXACT)
    direction = np.random.default_rng(5).normal(size=len(w))
    g, line = full_gradient(point, len(w)), point.along(sparse(direction))
    slope = (line.value(1e-5) - line.value(-1e-5)) / 2e-5
    np.testing.assert_allclose(slope, g @ direction, rtol=1e-7)


# --- points and lines ------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_an_accepted_trial_is_the_point_of_its_weights(alpha, unknown):
    problem = random_lattice(2, n_labels=3, edge_binary=False).with_weights()
    problem = problem.with_unknown(3) if unknown else problem
    oracle = problem.oracle()
    n, (w, d, other) = oracle.n_coordinates, (random_weights(oracle, i) for i in (1, 2, 3))
    direct = go_to(problem.oracle(), w.plus(d, alpha))
    expected = full_gradient(direct, n)
    for before in (
        lambda point, line: line.value(alpha),
        lambda point, line: (line.value(1.0), line.value(alpha)),
        lambda point, line: None,  # another forward pass, of the right edges
        lambda point, line: (line.value(alpha), line.value(2.0)),
        lambda point, line: (line.value(alpha), point.along(other).value(alpha)),
    ):
        point = go_to(oracle, w)
        line = point.along(d)
        before(point, line)
        there = line.accept(alpha)
        assert there.value == pytest.approx(direct.value, rel=1e-13)
        np.testing.assert_allclose(full_gradient(there, n), expected, rtol=1e-11, atol=1e-11)


def test_derivatives_stand_until_a_trial():
    oracle, w, point = at_random_point(random_lattice(3))
    g, swept = full_gradient(point, len(w)), point.sweep(0.1).gradient.values
    line = point.along(random_weights(oracle, 7))
    np.testing.assert_array_equal(full_gradient(point, len(w)), g)
    np.testing.assert_array_equal(point.sweep(0.1).gradient.values, swept)
    bound = point.conjugate(0.5)
    assert bound == pytest.approx(go_to(oracle, sparse(w)).conjugate(0.5), rel=1e-13)
    with pytest.raises(SpentPointError, match="this point is spent"):
        line.value(1.0)


def test_spent_points_say_so():
    oracle, w, point = at_random_point(random_lattice(3))
    line = point.along(random_weights(oracle, 7))
    line.value(1.0)
    asked = (
        lambda point: point.gradient(np.arange(len(w))),
        lambda point: point.gradient(np.arange(len(w) - 3, len(w))),  # edges alone
        lambda point: point.sweep(0.1),
        lambda point: point.conjugate(0.5),
    )
    for ask in asked:
        with pytest.raises(SpentPointError, match="this point is spent"):
            ask(point)
    point.along(sparse(w))
    there = line.accept(1.0)
    with pytest.raises(SpentPointError, match="this point is spent"):
        point.along(sparse(w))
    for ask in asked:
        ask(there)


@pytest.mark.parametrize("level", [0.0, 0.5, np.inf])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_a_sweep_keeps_what_it_is_told_to(level, pairs):
    _, w, point = at_random_point(random_lattice(3), pairs=pairs)
    keep = np.flatnonzero(np.random.default_rng(0).random(len(w)) < 0.3)
    plain, sweep = point.sweep(level), point.sweep(level, keep)
    expected = plain.gradient.including(keep, point.gradient)
    np.testing.assert_array_equal(sweep.gradient.coordinates, expected.coordinates)
    np.testing.assert_array_equal(sweep.gradient.values, expected.values)
    assert sweep.largest == plain.largest


@pytest.mark.parametrize("scale", [0.0, 0.01, 0.5, 1.0])
def test_the_conjugate_is_an_upper_bound(scale):
    """Fenchel: ``ℓ*(s g) ≥ s⟨g, v⟩ - ℓ(v)`` for every v, so that much it must be."""
    problem = random_lattice(3, n_labels=3, edge_binary=False).with_weights()
    oracle, w, point = at_random_point(problem)
    point.sweep(0.5, np.flatnonzero(w))
    bound, g, other = point.conjugate(scale), full_gradient(point, len(w)), problem.oracle()
    for seed in range(15):
        v = random_weights(oracle, seed, scale=[0.1, 1.0, 10.0][seed % 3])
        assert bound >= scale * (g @ dense(v, len(w))) - go_to(other, v).value - 1e-9
    here = scale * (g @ w) - point.value
    assert bound >= here - 1e-9
    if scale == 1.0:
        assert bound == pytest.approx(here, abs=1e-9)


@pytest.mark.parametrize("count", [False, True])
def test_abilities(count):
    oracle = random_lattice(1).oracle()
    oracle = metered(oracle, Calls()) if count else oracle
    has = {ability.__name__ for ability in abilities.ABILITIES if isinstance(oracle, ability)}
    assert has == {"Diagonal", "Subsamples", "Rescalable", "Priced"}
    assert not isinstance(oracle.at(SparseVector.empty()), abilities.Draws)
    assert oracle.pass_cost() > 0.0
    assert (oracle.curvatures(np.arange(oracle.n_coordinates)) > 0.0).all()


def test_pack_and_unpack_are_inverse():
    problem = random_lattice(10, n_labels=3)
    oracle = problem.oracle()
    w = random_weights(oracle, 1)
    back = oracle.pack(*oracle.unpack(w))
    np.testing.assert_array_equal(back.coordinates, w.coordinates)
    np.testing.assert_array_equal(back.values, w.values)


def test_edges_must_have_a_row_a_token():
    problem = random_lattice(1)
    with pytest.raises(ValueError, match="one row of edges a row of X"):
        replace(problem, edges=problem.edges[:-1]).oracle()
