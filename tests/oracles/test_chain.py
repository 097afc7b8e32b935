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

from proxqn.data.sequences import SequenceLayout
from proxqn.oracles import reference
from proxqn.oracles.chain import ChainOracle, Pairs
from proxqn.oracles.chain_kernel import aligned_zeros, chain_kernel
from proxqn.problem import SparseVector

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMPILED = pytest.param({}, id="compiled")
NUMPY = pytest.param({"kernels": reference}, id="reference")


def at_random_point(problem: ChainProblem, seed: int = 1, scale: float = 1.0, **options):
    oracle = problem.oracle(**options)
    w = random_weights(oracle, seed, scale=scale)
    value = go_to(oracle, w)
    return oracle, dense(w, oracle.n_coordinates), value


# --- enumeration -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize(("binary", "weighted"), [(True, False), (False, True)])
def test_equals_enumeration_of_all_labelings(options, n_labels, binary, weighted):
    problem = random_chain(n_labels, n_labels=n_labels, n_sequences=10, max_length=5, binary=binary)
    problem = problem.with_weights() if weighted else problem
    oracle, w, value = at_random_point(problem, **options)
    truth = enumerate_labelings(problem, oracle, w)
    np.testing.assert_allclose(value, truth.value, **EXACT)
    np.testing.assert_allclose(oracle.sample_losses()[0], truth.losses, **EXACT)
    g = full_gradient(oracle)
    np.testing.assert_allclose(g, truth.gradient, **EXACT)
    np.testing.assert_allclose(value - w @ g, truth.entropy, rtol=1e-12, atol=1e-11)


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
    chain.forward(alpha, None, 0.0, transitions, log_z, 1)
    chain.backward(alpha, None, 0.0, transitions, pairs, 1)
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
    value = go_to(oracle, sparse(w))
    truth = enumerate_labelings(problem, oracle, w)
    rounding = 2e-15 * scale * problem.lengths.sum()  # of sums of that many scores of that size
    np.testing.assert_allclose(oracle.sample_losses()[0], truth.losses, rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(value, truth.value, rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(full_gradient(oracle), truth.gradient, atol=10 * rounding)


def test_huge_scores_in_one_lane_only_do_not_disturb_the_others():
    problem = random_chain(8, n_labels=3, lengths=[4] * 8, n_features=5)
    X = problem.X.toarray()
    X[:4] *= 1e4  # the first sequence alone
    problem = replace(problem, X=sp.csr_array(X))
    oracle, w, value = at_random_point(problem)
    truth = enumerate_labelings(problem, oracle, w)
    np.testing.assert_allclose(oracle.sample_losses()[0][1:], truth.losses[1:], **EXACT)
    np.testing.assert_allclose(value, truth.value, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(full_gradient(oracle), truth.gradient, rtol=1e-10, atol=1e-6)


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
        values.append(go_to(oracle, sparse(w)))
        gradients.append(full_gradient(oracle))
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
        oracle.move(d)
        value = oracle.value_at(1.0)
    assert not np.isfinite(value)


@pytest.mark.parametrize("options", [COMPILED, NUMPY])
@pytest.mark.parametrize("pairs", list(Pairs))
def test_gradient_equals_finite_differences(options, pairs):
    problem = random_chain(4, n_labels=3, binary=False).with_weights()
    oracle, w, _ = at_random_point(problem, pairs=pairs, **options)
    g = full_gradient(oracle)
    h = 1e-5
    for j in range(oracle.n_coordinates):
        up, down = w.copy(), w.copy()
        up[j] += h
        down[j] -= h
        slope = (go_to(oracle, sparse(up)) - go_to(oracle, sparse(down))) / (2 * h)
        assert slope == pytest.approx(g[j], rel=1e-6, abs=1e-6)


# --- compiled against NumPy ------------------------------------------------------------------


def assert_compiled_equals_reference(problem: ChainProblem, seed: int = 0, **options) -> None:
    compiled, plain = problem.oracle(**options), problem.oracle(kernels=reference, **options)
    w, d = random_weights(compiled, seed), random_weights(compiled, seed + 1, share=0.2)
    for oracle in (compiled, plain):
        go_to(oracle, w)
        oracle.move(d)
    trials = [(o.value_at(1.0), o.value_at(0.3)) for o in (compiled, plain)]
    np.testing.assert_allclose(*trials, **EXACT)
    for oracle in (compiled, plain):
        oracle.accept(0.3)
    # The reference adds up log-scores without rescaling: its error grows with the length, while
    # the compiled one's does not (test_a_long_sequence_is_as_exact_as_a_short_one).
    longest, tokens = problem.lengths.max(), problem.lengths @ problem.weight
    np.testing.assert_allclose(
        compiled.sample_losses()[0], plain.sample_losses()[0], rtol=1e-12, atol=1e-13 * longest
    )
    error = max(1e-12, 2e-15 * longest * tokens)
    g = full_gradient(plain)
    np.testing.assert_allclose(full_gradient(compiled), g, rtol=1e-12, atol=error)
    found, true = compiled.sweep(0.5), plain.sweep(0.5)
    np.testing.assert_array_equal(found.gradient.coordinates, true.gradient.coordinates)
    np.testing.assert_allclose(found.gradient.values, true.gradient.values, rtol=1e-12, atol=error)
    assert found.largest == pytest.approx(true.largest, rel=1e-12, abs=error)


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
    value = go_to(oracle, w)
    true_value, true_gradient = extended_precision(problem, oracle, w)
    assert value == pytest.approx(true_value, rel=1e-13)
    np.testing.assert_allclose(full_gradient(oracle), true_gradient, rtol=0, atol=1e-11)


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
    value = go_to(problem.oracle(), random_weights(problem.oracle(), 0))
    X = problem.X.astype(dtype)
    for index in (np.int32, np.int64):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        oracle = replace(problem, X=X).oracle()
        assert go_to(oracle, random_weights(oracle, 0)) == value


def test_order_and_form_of_the_entries_do_not_matter():
    """Unsorted indices, explicit zeros, duplicates, other sparse formats: the same matrix."""
    problem = random_chain(6, binary=False, n_features=8)
    w = random_weights(problem.oracle(), 0)
    value = go_to(problem.oracle(), w)
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
        assert go_to(replace(problem, X=X).oracle(), w) == pytest.approx(value, rel=1e-13)
    explicit = replace(problem, X=zeros).oracle()
    pruned = zeros.copy()
    pruned.eliminate_zeros()
    without = replace(problem, X=pruned).oracle()
    assert go_to(explicit, w) == pytest.approx(
        go_to(without, without.pack(*explicit.unpack(w))), rel=1e-13
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
    assert go_to(oracle, w) == go_to(narrow, w)


def test_a_corpus_without_any_active_feature():
    problem = replace(random_chain(6), X=sp.csr_array((random_chain(6).X.shape[0], 4)))
    oracle = problem.oracle()
    assert oracle.n_coordinates == 9
    truth = enumerate_labelings(problem, oracle, np.zeros(9))
    assert go_to(oracle, SparseVector.empty()) == pytest.approx(truth.value, rel=1e-13)
    np.testing.assert_allclose(full_gradient(oracle), truth.gradient, **EXACT)
    assert oracle.sweep(0.0).largest == pytest.approx(np.abs(truth.gradient).max())


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
    oracle, _, _ = at_random_point(problem, pairs=pairs)
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
    np.testing.assert_allclose(losses, whole[chosen], **EXACT)
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
