"""The chain oracle against enumeration of all labelings, finite differences and NumPy."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
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

from proxqn.aligned_array import aligned_zeros
from proxqn.features.layout import SequenceLayout
from proxqn.losses.chain import reference
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.chain.scores import chain_kernel
from proxqn.problem.sparse import SparseVector

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": reference}, id="reference")


def at_random_point(problem: ChainProblem, seed: int = 1, scale: float = 1.0, **options):
    oracle = problem.oracle(**options)
    w = random_weights(oracle, seed, scale=scale)
    return oracle, dense(w, oracle.n_coordinates), go_to(oracle, w)


def go_by_a_line(oracle: ChainOracle, w: SparseVector):
    """Scores, forward and backward pass one after the other, where ``at`` may do them at once."""
    line = oracle.at(SparseVector.empty()).along(w)
    line.value(1.0)
    return line.accept(1.0)


# --- enumeration -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(("binary", "weighted"), [(True, False), (False, True)])
def test_equals_enumeration_of_all_labelings(options, n_labels, binary, weighted):
    problem = random_chain(n_labels, n_labels=n_labels, n_sequences=10, max_length=5, binary=binary)
    problem = problem.with_weights() if weighted else problem
    oracle, w, point = at_random_point(problem, **options)
    truth = enumerate_labelings(problem, oracle, w)
    np.testing.assert_allclose(point.value, truth.value, **EXACT)
    np.testing.assert_allclose(point.losses(), truth.losses, **EXACT)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, **EXACT)
    np.testing.assert_allclose(point.value - w @ g, truth.entropy, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(point.conjugate(1.0), -truth.entropy, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("kernels", [None, reference])
def test_log_partition_and_marginals_equal_enumeration(kernels):
    """Without labels the kernels leave log Z and the marginals themselves."""
    problem = random_chain(5, n_labels=3, n_sequences=11, max_length=6)
    oracle = problem.oracle()
    w = random_weights(oracle, 2)
    truth = enumerate_labelings(problem, oracle, dense(w, oracle.n_coordinates))
    coef, transitions = oracle.unpack(w)
    layout = SequenceLayout.from_lengths(problem.lengths)
    scores, alpha = aligned_zeros((3, layout.stride)), aligned_zeros((3, layout.stride))
    scores[:, layout.token_slot] = (problem.X @ coef.T).toarray().T
    options = {} if kernels is None else {"kernels": kernels}
    chain = chain_kernel(
        **({"kernels": pytest.importorskip("proxqn._kernels")} | options),
        layout=layout,
        scores=scores,
        labels=None,
        weights=None,
    )
    log_z, pairs = np.empty(layout.n_sequences), np.empty((3, 3))
    chain.forward(alpha, transitions, log_z, 1)
    chain.backward(alpha, transitions, pairs, 1)
    np.testing.assert_allclose(log_z, [s.log_z for s in truth.sequences], **EXACT)
    marginals = np.concatenate([s.token_marginals for s in truth.sequences], axis=1)
    np.testing.assert_allclose(alpha[:, layout.token_slot], marginals, **EXACT)
    expected = sum(np.exp(s.log_p) @ s.phi[:, -9:] for s in truth.sequences)
    np.testing.assert_allclose(pairs.ravel(), expected, **EXACT)


@pytest.mark.parametrize("kernels", [None, reference])
@pytest.mark.parametrize("n_labels", [1, 2, 4, 9])
def test_viterbi_finds_the_best_of_all_labelings(kernels, n_labels):
    rng = np.random.default_rng(n_labels)
    lengths = np.concatenate([rng.integers(1, 5, 20), [1, 4]])
    layout = SequenceLayout.from_lengths(lengths)
    scores = aligned_zeros((n_labels, layout.stride))
    x = rng.integers(-2, 3, (n_labels, layout.n_tokens)).astype(float)  # small integers: many ties
    scores[:, layout.token_slot] = x
    transitions = rng.integers(-2, 3, (n_labels, n_labels)).astype(float)
    module = kernels or pytest.importorskip("proxqn._kernels")
    chain = chain_kernel(module, layout, scores, labels=None, weights=None)
    path = np.zeros(layout.stride, dtype=np.int32)
    chain.viterbi(transitions, path, 2)

    def score(y, rows):
        inner = sum(transitions[a, b] for a, b in itertools.pairwise(y))
        return rows[list(y), range(len(y))].sum() + inner

    start = 0
    for length in lengths:
        rows = x[:, start : start + length]
        found = path[layout.token_slot[start : start + length]]
        best = max(score(y, rows) for y in itertools.product(range(n_labels), repeat=int(length)))
        assert score(found, rows) == best
        start += length


@pytest.mark.parametrize("scale", [300.0, 1e4])
@pytest.mark.parametrize("options", [COMPILED, NUMPY])
def test_huge_scores_agree_with_enumeration(options, scale):
    """Scores of ±1e4 leave the scaled recursion: the log domain must take over, lane by lane."""
    problem = random_chain(3, n_labels=4, n_sequences=12, max_length=5, density=0.3)
    oracle = problem.oracle(**options)
    rng = np.random.default_rng(0)
    w = np.round(rng.uniform(-scale, scale, oracle.n_coordinates))
    truth = enumerate_labelings(problem, oracle, w)
    rounding = 2e-15 * scale * problem.lengths.sum()  # of sums of that many scores of that size
    for go in (go_to, go_by_a_line):
        point = go(oracle, sparse(w))
        np.testing.assert_allclose(point.losses(), truth.losses, rtol=1e-12, atol=rounding)
        np.testing.assert_allclose(point.value, truth.value, rtol=1e-12, atol=rounding)
        g = full_gradient(point, len(w))
        np.testing.assert_allclose(g, truth.gradient, atol=10 * rounding)


def test_huge_scores_in_one_lane_only_do_not_disturb_the_others():
    problem = random_chain(8, n_labels=3, lengths=[4] * 8, n_features=5)
    X = problem.X.toarray()
    X[:4] *= 1e4  # the first sequence alone
    problem = replace(problem, X=sp.csr_array(X))
    oracle, w, point = at_random_point(problem)
    truth = enumerate_labelings(problem, oracle, w)
    np.testing.assert_allclose(point.losses()[1:], truth.losses[1:], **EXACT)
    np.testing.assert_allclose(point.value, truth.value, rtol=1e-12, atol=1e-9)
    g = full_gradient(point, len(w))
    np.testing.assert_allclose(g, truth.gradient, rtol=1e-10, atol=1e-6)


@pytest.mark.parametrize("spread", [100.0, 500.0, 590.0, 599.9, 600.1, 700.0])
def test_scaled_and_log_domain_meet_without_a_seam(spread):
    """The scaled recursion may be used up to a range of 600; on both sides it is as exact."""
    lengths = [40] * 8 + [300]
    problem = random_chain(2, n_labels=3, lengths=lengths, n_features=3, density=1.0)
    oracles = [problem.oracle(), problem.oracle(kernels=reference)]
    values, gradients = [], []
    for oracle in oracles:
        w = np.zeros(oracle.n_coordinates)
        w[1] = 0.4 * spread
        w[-9:] = np.linspace(-0.3 * spread, 0.3 * spread, 9)
        point = go_to(oracle, sparse(w))
        values.append(point.value)
        gradients.append(full_gradient(point, len(w)))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-13)
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("lengths", [[4] * 8, [4, 4, 3, 3, 2], [9]])
@pytest.mark.parametrize("where", [0, 2, -9, -1])
def test_a_score_that_is_not_a_number_is_seen_in_the_value(bad, where, lengths):
    """Otherwise a line search would accept the point: NaN must not turn into a small score.

    The true labels are all 1, so that the bad weight is not on the true path.
    """
    problem = random_chain(8, n_labels=3, lengths=lengths, n_features=5, density=0.9)
    oracle = replace(problem, labels=np.ones_like(problem.labels)).oracle()
    d = SparseVector(np.array([where % oracle.n_coordinates]), np.array([bad]))
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(oracle.at(SparseVector.empty()).along(d).value(1.0))
        assert not np.isfinite(oracle.at(d).value)


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_gradient_equals_finite_differences(options, pairs):
    problem = random_chain(4, n_labels=3, binary=False).with_weights()
    oracle, w, point = at_random_point(problem, pairs=pairs, **options)
    g = full_gradient(point, len(w))
    h = 1e-5
    for j in range(oracle.n_coordinates):
        up, down = w.copy(), w.copy()
        up[j] += h
        down[j] -= h
        slope = (oracle.at(sparse(up)).value - oracle.at(sparse(down)).value) / (2 * h)
        assert slope == pytest.approx(g[j], rel=1e-6, abs=1e-6)


# --- compiled against NumPy ------------------------------------------------------------------


def assert_compiled_equals_reference(problem: ChainProblem, seed: int = 0, **options) -> None:
    compiled, plain = problem.oracle(**options), problem.oracle(kernels=reference, **options)
    w, d = random_weights(compiled, seed), random_weights(compiled, seed + 1, share=0.2)
    lines = [go_to(oracle, w).along(d) for oracle in (compiled, plain)]
    np.testing.assert_allclose(*([line.value(1.0), line.value(0.3)] for line in lines), **EXACT)
    points = [line.accept(0.3) for line in lines]
    # The reference adds up log-scores without rescaling: its error grows with the length, while
    # the compiled one's does not (test_a_long_sequence_is_as_exact_as_a_short_one).
    longest, tokens = problem.lengths.max(), problem.lengths @ problem.weight
    losses = (point.losses() for point in points)
    np.testing.assert_allclose(*losses, rtol=1e-12, atol=1e-13 * longest)
    error = max(1e-12, 2e-15 * longest * tokens)
    gradients = (full_gradient(point, compiled.n_coordinates) for point in points)
    np.testing.assert_allclose(*gradients, rtol=1e-12, atol=error)
    found, true = (point.sweep(0.5) for point in points)
    np.testing.assert_array_equal(found.gradient.coordinates, true.gradient.coordinates)
    np.testing.assert_allclose(found.gradient.values, true.gradient.values, rtol=1e-12, atol=error)
    assert found.largest == pytest.approx(true.largest, rel=1e-12, abs=error)
    for scale in (0.0, 0.4, 1.0):
        bounds = [point.conjugate(scale) for point in points]
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-11, abs=100 * error)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 26, 33, 40])
def test_compiled_equals_reference_for_any_number_of_labels(n_labels):
    problem = random_chain(
        n_labels, n_labels=n_labels, n_sequences=21, max_length=9, n_features=12, binary=False
    )
    assert_compiled_equals_reference(problem.with_weights(n_labels))


@pytest.mark.parametrize("n_labels", [2, 9])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_compiled_equals_reference_with_a_long_sequence(n_labels, pairs):
    """It stands in a batch of width one, others in full batches and in one with empty lanes."""
    lengths = [3, 200, 1, 2, 2, 3, 3, 3, 4, 1, 1, 35]
    problem = random_chain(n_labels, n_labels=n_labels, lengths=lengths, n_features=15)
    layout = problem.oracle().layout
    assert set(layout.width) == {1, 8}
    assert_compiled_equals_reference(problem, pairs=pairs)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_long_sequence_is_as_exact_as_a_short_one(scale):
    """Against the log-domain recursion in extended precision."""
    problem = random_chain(2, n_labels=3, lengths=[3, 2000, 1, 4], n_features=15)
    oracle = problem.oracle()
    w = random_weights(oracle, 0, scale=scale)
    point = go_to(oracle, w)
    true_value, true_gradient = extended_precision(problem, oracle, w)
    assert point.value == pytest.approx(true_value, rel=1e-13)
    g = full_gradient(point, oracle.n_coordinates)
    np.testing.assert_allclose(g, true_gradient, rtol=0, atol=1e-11)


def extended_precision(problem: ChainProblem, oracle: ChainOracle, w: SparseVector):
    coef, transitions = oracle.unpack(w)
    theta, lam = coef.toarray().astype(np.longdouble), transitions.astype(np.longdouble)
    X = problem.X.toarray().astype(np.longdouble)
    g_theta, g_lam = np.zeros_like(theta), np.zeros_like(lam)
    value, start = np.longdouble(0), 0
    for length in problem.lengths:
        rows, y = X[start : start + length], problem.labels[start : start + length]
        x = rows @ theta.T
        alpha, beta = [x[0]], [np.zeros(len(theta), np.longdouble)]
        for t in range(1, length):
            alpha.append(x[t] + np.logaddexp.reduce(alpha[-1][:, None] + lam, axis=0))
            back = lam + x[length - t] + beta[-1]
            beta.append(np.logaddexp.reduce(back, axis=1))
        beta = beta[::-1]
        log_z = np.logaddexp.reduce(alpha[-1])
        value += log_z - x[np.arange(length), y].sum() - lam[y[:-1], y[1:]].sum()
        for t in range(length):
            p = np.exp(alpha[t] + beta[t] - log_z)
            p[y[t]] -= 1
            g_theta += np.outer(p, rows[t])
            if t > 0:
                g_lam += np.exp(alpha[t - 1][:, None] + lam + x[t] + beta[t] - log_z)
                g_lam[y[t - 1], y[t]] -= 1
        start += length
    g = np.concatenate([g_theta[:, oracle.data.columns].T.ravel(), g_lam.ravel()])
    return float(value), g.astype(float)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n_labels=st.integers(1, 12),
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=25),
    density=st.sampled_from([0.0, 0.1, 0.6]),
    binary=st.booleans(),
    weighted=st.booleans(),
    pairs=st.sampled_from(Pairs),
)
def test_compiled_equals_reference(seed, n_labels, lengths, density, binary, weighted, pairs):
    problem = random_chain(seed, n_labels=n_labels, lengths=lengths, density=density, binary=binary)
    problem = problem.with_weights(seed) if weighted else problem
    assert_compiled_equals_reference(problem, seed, pairs=pairs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64, bool])
def test_any_numeric_dtype_and_index_width(dtype):
    problem = random_chain(6)
    value = go_to(problem.oracle(), random_weights(problem.oracle(), 0)).value
    X = problem.X.astype(dtype)
    for index in (np.int32, np.int64):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        oracle = replace(problem, X=X).oracle()
        assert go_to(oracle, random_weights(oracle, 0)).value == value


def test_order_and_form_of_the_entries_do_not_matter():
    """Unsorted indices, explicit zeros, duplicates, other sparse formats: the same matrix."""
    problem = random_chain(6, binary=False, n_features=8)
    w = random_weights(problem.oracle(), 0)
    value = go_to(problem.oracle(), w).value
    rng = np.random.default_rng(0)
    unsorted = problem.X.copy()
    for row in range(unsorted.shape[0]):
        span = slice(*unsorted.indptr[row : row + 2])
        order = rng.permutation(unsorted.indptr[row + 1] - unsorted.indptr[row])
        unsorted.indices[span] = unsorted.indices[span][order]
        unsorted.data[span] = unsorted.data[span][order]
    unsorted.has_sorted_indices = False
    entries = problem.X.tocoo()
    _, columns = entries.coords
    halves = sp.csr_array(
        (
            np.repeat(entries.data / 2, 2),
            np.repeat(columns, 2),
            2 * problem.X.indptr,
        ),
        shape=problem.X.shape,
    )
    zeros = problem.X.copy()
    zeros.data[::3] = 0.0
    for X in (unsorted, halves, problem.X.tocsc(), problem.X.tocoo()):
        assert go_to(replace(problem, X=X).oracle(), w).value == pytest.approx(value, rel=1e-13)
    explicit = replace(problem, X=zeros).oracle()
    pruned = zeros.copy()
    pruned.eliminate_zeros()
    without = replace(problem, X=pruned).oracle()
    assert go_to(explicit, w).value == pytest.approx(
        go_to(without, without.pack(*explicit.unpack(w))).value, rel=1e-13
    )


def test_columns_that_never_occur_have_no_coordinates():
    problem = random_chain(6)
    wide = sp.csr_array(
        (problem.X.data, 1000 * problem.X.indices.astype(np.int64), problem.X.indptr),
        shape=(problem.X.shape[0], 10_000_000),
    )
    narrow, oracle = problem.oracle(), replace(problem, X=wide).oracle()
    assert oracle.n_coordinates == narrow.n_coordinates
    assert oracle.n_parameters == 3 * 10_000_000 + 9
    w = random_weights(oracle, 0)
    assert go_to(oracle, w).value == go_to(narrow, w).value


def test_a_corpus_without_any_active_feature():
    problem = replace(random_chain(6), X=sp.csr_array((random_chain(6).X.shape[0], 4)))
    oracle = problem.oracle()
    assert oracle.n_coordinates == 9
    truth = enumerate_labelings(problem, oracle, np.zeros(9))
    point = go_to(oracle, SparseVector.empty())
    assert point.value == pytest.approx(truth.value, rel=1e-13)
    np.testing.assert_allclose(full_gradient(point, 9), truth.gradient, **EXACT)
    assert point.sweep(0.0).largest == pytest.approx(np.abs(truth.gradient).max())
