"""The prediction kernels against NumPy, to the last bit, and what a model keeps of its weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn import ChainCRF, _kernels
from proxqn.aligned_array import aligned_zeros
from proxqn.estimators.chain_weights import ChainWeights
from proxqn.estimators.inference.tagger import Tagger, tagger_of, token_of_slot
from proxqn.features.layout import SequenceLayout
from proxqn.losses.chain import tagging_reference
from proxqn.losses.chain.scores import chain_kernel

N_FEATURES = 300


def random_weights(n_labels: int, seed: int = 0, density: float = 0.1) -> ChainWeights:
    rng = np.random.default_rng(seed)
    coef = sp.random_array((n_labels, N_FEATURES), density=density, rng=rng, format="csr")
    coef.data = rng.normal(size=coef.nnz)
    transitions, ends = rng.normal(size=(n_labels, n_labels)), rng.normal(size=(2, n_labels))
    return ChainWeights(coef, transitions, *ends, sp.csr_array((n_labels**2, 0)))


def random_tokens(lengths, seed: int = 1, binary: bool = False) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    X = sp.random_array((sum(lengths), N_FEATURES), density=0.05, rng=rng, format="csr")
    X.data = np.ones(X.nnz) if binary else rng.normal(size=X.nnz)
    return X


LENGTHS = np.array([1, 7, 2, 1, 30, 5])


@pytest.mark.parametrize("n_labels", [1, 2, 7, 8, 9, 17, 31, 33, 60])
@pytest.mark.parametrize("density", [0.0, 0.001, 0.1, 1.0])
@pytest.mark.parametrize("most_in_a_table", [10**6, 0])
def test_equals_the_reference(n_labels, density, most_in_a_table):
    weights, X = random_weights(n_labels, density=density), random_tokens(LENGTHS)
    ours, truth = (
        Tagger(weights, kernels, most_in_a_table) for kernels in (_kernels, tagging_reference)
    )
    assert (ours.best_labels(X, LENGTHS, 1) == truth.best_labels(X, LENGTHS, 1)).all()
    tokens = token_of_slot(SequenceLayout.from_lengths(LENGTHS), 0)
    found, expected = (t.slot_scores(t.entries(X), tokens, 1) for t in (ours, truth))
    assert (found == expected).all()  # to the last bit: no fused multiply-adds
    np.testing.assert_allclose(
        found[:, SequenceLayout.from_lengths(LENGTHS).token_slot],
        weights.coef @ X.toarray().T,
        atol=1e-12,
    )


@pytest.mark.parametrize("n_labels", [1, 2, 8, 9, 33])
@pytest.mark.parametrize("density", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("scale", [1.0, 300.0])  # of the weights: the second is for logarithms
def test_marginals_equal_the_reference(n_labels, density, scale):
    weights, X = random_weights(n_labels, density=density), random_tokens(LENGTHS)
    weights.coef.data *= scale
    ours, truth = (Tagger(weights, kernels) for kernels in (_kernels, tagging_reference))
    found, expected = (t.marginals(t.entries(X), LENGTHS, 1) for t in (ours, truth))
    np.testing.assert_allclose(found, expected, atol=1e-12 * scale)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-10)


def test_marginals_do_not_depend_on_threads_or_on_other_sequences():
    lengths = np.random.default_rng(3).integers(1, 60, size=200)  # more than a piece of work
    weights, X = random_weights(9), random_tokens(lengths)
    tagger = Tagger(weights)
    found = tagger.marginals(tagger.entries(X), lengths, 1)
    assert (tagger.marginals(tagger.entries(X), lengths, 3) == found).all()
    ends = np.cumsum(lengths)
    for i in (0, 17, 199):
        rows = slice(ends[i] - lengths[i], ends[i])
        alone = tagger.marginals(tagger.entries(sp.csr_array(X[rows])), lengths[i : i + 1], 1)
        assert (alone == found[rows]).all()


@pytest.mark.parametrize("n_labels", [2, 9, 60])
@pytest.mark.parametrize("kernels", [_kernels, tagging_reference])
def test_entries_by_their_place_among_the_used(n_labels, kernels):
    weights = random_weights(n_labels, density=0.3 / n_labels)
    tagger = Tagger(weights, kernels)
    assert 0 < len(tagger.used) < N_FEATURES
    for binary in (False, True):
        X = random_tokens(LENGTHS, binary=binary)
        part = sp.csr_array(X[:, tagger.used])
        arrays = part.indptr.astype(np.int64), part.indices, None if binary else part.data
        found = tagger.tag_used(*arrays, LENGTHS, 1)
        assert (found == Tagger(weights).best_labels(X, LENGTHS, 1)).all()
        marginals = tagger.marginals_used(*arrays, LENGTHS, 1)
        assert (marginals == tagger.marginals(tagger.entries(X), LENGTHS, 1)).all()


def test_rows_that_would_take_too_much_memory_stay_sparse():
    """2¹⁵ features with one weight each and 65 labels: dense rows would take 18 MB."""
    n_labels, n_features = 65, 1 << 15
    rng = np.random.default_rng(0)
    coef = sp.csr_array(
        (
            rng.normal(size=n_features),
            (rng.integers(n_labels, size=n_features), np.arange(n_features)),
        ),
        shape=(n_labels, n_features),
    )
    ends = np.zeros(n_labels)
    weights = ChainWeights(
        coef, rng.normal(size=(n_labels, n_labels)), ends, ends, sp.csr_array((1, 0))
    )
    X = sp.random_array((sum(LENGTHS), n_features), density=1e-3, rng=rng, format="csr")
    ours, truth = (Tagger(weights, kernels) for kernels in (_kernels, tagging_reference))
    assert (ours.best_labels(X, LENGTHS, 1) == truth.best_labels(X, LENGTHS, 1)).all()
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.int32), None, LENGTHS
    assert (ours.tag_used(*arrays, 1) == truth.tag_used(*arrays, 1)).all()


@pytest.mark.parametrize("n_labels", [2, 9, 40])
def test_equals_the_best_path_of_the_batched_kernel(n_labels):
    weights, X = random_weights(n_labels), random_tokens(LENGTHS)
    tagger = Tagger(weights)
    layout = SequenceLayout.from_lengths(LENGTHS)
    scores = tagger.slot_scores(tagger.entries(X), token_of_slot(layout, 0), 1)
    ends = np.cumsum(LENGTHS)
    scores[:, layout.token_slot[ends - LENGTHS]] += weights.start[:, None]
    scores[:, layout.token_slot[ends - 1]] += weights.end[:, None]
    path = np.zeros(layout.stride, dtype=np.int32)
    kernel = chain_kernel(_kernels, layout, scores, labels=None, weights=None)
    kernel.viterbi(np.ascontiguousarray(weights.transitions), path, 1)
    assert (tagger.best_labels(X, LENGTHS, 1) == path[layout.token_slot]).all()


@pytest.mark.parametrize("n_labels", [2, 8, 20])
def test_ties_go_to_the_smaller_label(n_labels):
    ends, nothing = np.zeros(n_labels), sp.csr_array((n_labels, N_FEATURES))
    transitions = np.zeros((n_labels, n_labels))
    tagger = Tagger(ChainWeights(nothing, transitions, ends, ends, sp.csr_array((1, 0))))
    assert not tagger.best_labels(random_tokens(LENGTHS), LENGTHS, 1).any()


def test_does_not_depend_on_the_number_of_threads():
    lengths = np.random.default_rng(0).integers(1, 60, size=400)
    weights, X = random_weights(12), random_tokens(lengths)
    tagger = Tagger(weights)
    one = tagger.best_labels(X, lengths, 1)
    tokens = token_of_slot(SequenceLayout.from_lengths(lengths), 0)
    scores = tagger.slot_scores(tagger.entries(X), tokens, 1)
    for n_jobs in (2, 5):
        assert (tagger.best_labels(X, lengths, n_jobs) == one).all()
        assert (tagger.slot_scores(tagger.entries(X), tokens, n_jobs) == scores).all()


def test_slots_to_rows():
    layout = SequenceLayout.from_lengths(LENGTHS)
    array = aligned_zeros((3, layout.stride))
    array[:] = np.random.default_rng(0).normal(size=array.shape)
    tokens = token_of_slot(layout, 0)
    found, expected = np.empty((2, layout.n_tokens, 3))
    _kernels.rows_of_slots(array, tokens, found)
    tagging_reference.rows_of_slots(array, tokens, expected)
    assert (found == expected).all()


def test_damaged_matrices_are_refused():
    tagger, X = Tagger(random_weights(3)), random_tokens([4])
    beyond = X.copy()
    beyond.indices[3] = N_FEATURES
    with pytest.raises(IndexError, match="below the number of columns"):
        tagger.best_labels(beyond, np.array([4]), 1)
    falling = X.copy()
    falling.indptr[2] = -1
    with pytest.raises(IndexError, match="indptr must rise"):
        tagger.best_labels(falling, np.array([4]), 1)
    with pytest.raises(ValueError, match="lengths must sum"):
        tagger.best_labels(X, np.array([3]), 1)
    arrays = np.array([0, 1]), np.array([len(tagger.used)], dtype=np.int32)
    with pytest.raises(IndexError, match="below the number of columns"):
        tagger.tag_used(*arrays, None, np.array([1]), 1)
    with pytest.raises(ValueError, match="expected a CSR matrix"):
        tagger.tag_used(*arrays, np.ones(2), np.array([1]), 1)


# --- the estimator -------------------------------------------------------------------------------


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return ChainCRF(lam=0.1).fit(X, np.where(X[:, 0] > 0, "up", "down"), lengths=[20] * 3), X


def test_weights_changed_in_place_are_noticed(fitted):
    model, X = fitted
    before = model.predict(X, [60])
    tagger = tagger_of(model, model._weights())
    assert tagger_of(model, model._weights()) is tagger
    model.coef_.data *= -1.0
    after = model.predict(X, [60])
    assert (after != before).any()
    assert (model.predict(X, [60], forced=[None] * 60) == after).all()


def test_a_new_weight_of_a_named_feature_is_noticed():
    X, y = [[{"a": 1.0}, {"b": 1.0}]] * 4, [["A", "B"]] * 4
    model = ChainCRF(lam=0.1).fit([*X, [{"rare": 1.0}]], [*y, ["A"]])
    model.coef_ = model.coef_.tolil()
    model.coef_[:, model.vocabulary_["rare"]] = 0.0
    model.coef_ = model.coef_.tocsr()
    assert [s.tolist() for s in model.predict([[{"rare": 1.0}], *X[:1]])][1] == ["A", "B"]
    for label, row in (("A", 0), ("B", 1)):
        coef = model.coef_.tolil()
        coef[:, model.vocabulary_["rare"]] = 0.0
        coef[row, model.vocabulary_["rare"]] = 50.0
        model.coef_ = coef.tocsr()
        assert model.predict([[{"rare": 1.0}]])[0].tolist() == [label]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_matrices_of_all_types(fitted, dtype, index):
    model, X = fitted
    given = sp.csr_array(np.abs(X).round().astype(dtype))
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    dense = given.toarray().astype(np.float64)
    assert (model.predict(given, [60]) == model.predict(dense, [60])).all()


def test_what_is_not_in_order_is_read_as_before(fitted):
    """Unsorted columns, columns that stand twice, stored zeros; the matrix is left alone."""
    model, _ = fitted
    given = sp.csr_array(
        (np.array([1.0, 2.0, 0.5, 0.0]), np.array([3, 0, 3, 1]), np.array([0, 4])), shape=(1, 4)
    )
    data, indices = given.data.copy(), given.indices.copy()
    same = sp.csr_array(np.array([[2.0, 0.0, 0.0, 1.5]]))
    assert (model.predict_marginals(given, [1]) == model.predict_marginals(same, [1])).all()
    assert (given.data == data).all()
    assert (given.indices == indices).all()


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
def test_the_checks_that_are_skipped_for_good_matrices(fitted, form):
    model, X = fitted
    with pytest.raises(ValueError, match="3 features, but ChainCRF is expecting 4"):
        model.predict(form(X[:, :3]), [60])
    X = X.copy()
    X[5, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(form(X), [60])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(form((0, 4)), [])
