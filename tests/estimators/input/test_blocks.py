"""Dense features beside sparse ones: a model says of them what it says of all columns stacked."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import proxqn
from proxqn import ChainCRF, Constraints

LAM = 0.5


@pytest.fixture(scope="module")
def data():
    """Embeddings and words of 60 sequences, labels that depend on both, and lengths."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 8, 60)
    n = int(lengths.sum())
    embeddings = rng.normal(size=(n, 6)).astype(np.float32)
    words = sp.csr_array((rng.random((n, 20)) < 0.2).astype(np.float32))
    truth = rng.normal(size=(26, 4))
    scores = np.concatenate([embeddings, words.toarray()], axis=1) @ truth
    y = np.array(list("abcd"))[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    return embeddings, words, y, lengths


def fitted(X, y, lengths, **options):
    """A ridge makes the weights unique."""
    return ChainCRF(lam=LAM, l2=0.1, tol=1e-10, **options).fit(X, y, lengths)


def cut(array, lengths):
    ends = np.cumsum(lengths)
    return [array[end - n : end] for end, n in zip(ends, lengths, strict=True)]


def assert_same_model(a, b):
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)
    np.testing.assert_allclose(a.coef_.toarray(), b.coef_.toarray(), atol=1e-4)
    np.testing.assert_allclose(a.transitions_, b.transitions_, atol=1e-4)


@pytest.mark.parametrize("pairs", ["all", "observed"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True, "end_weights": True}])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["dense first", "sparse first"])
def test_blocks_make_the_model_of_their_columns_stacked(data, order, pairs, options):
    *blocks, y, lengths = data
    X = tuple(blocks[k] for k in order)
    # Columns so many that sparse data are not looked through for dense ones: the sparse route.
    stacked = sp.csr_array(sp.hstack([sp.csr_array(block) for block in X]))
    wide = sp.csr_array(
        (*stacked.data[None], stacked.indices, stacked.indptr), shape=(len(y), 9999)
    )
    model = fitted(X, y, lengths, pairs=pairs, **options)
    other = fitted(wide, y, lengths, pairs=pairs, **options)
    assert model.n_features_in_ == 26
    other.coef_ = other.coef_[:, :26]
    assert_same_model(model, other)


def test_what_a_model_says_does_not_depend_on_the_form(data):
    embeddings, words, y, lengths = data
    model = fitted((embeddings, words), y, lengths)
    stacked = sp.csr_array(sp.hstack([sp.csr_array(embeddings), words]))
    rules = Constraints.from_transitions(np.eye(4, k=1) == 0)
    asked = [
        lambda X: model.predict_marginals(X, lengths),
        lambda X: model.log_probability(X, y, lengths),
        lambda X: model.score(X, y, lengths),
        lambda X: [p for best in model.predict_n_best(X, lengths, n=3) for _, p in best],
    ]
    for X in (stacked, stacked.toarray(), (stacked[:, :2].toarray(), stacked[:, 2:])):
        for question in asked:
            expected = question((embeddings, words))
            np.testing.assert_allclose(question(X), expected, atol=1e-9)
        same = model.predict(X, lengths) == model.predict((embeddings, words), lengths)
        assert same.all()
        again = model.predict(X, lengths, constraints=rules)
        assert (again == model.predict((embeddings, words), lengths, constraints=rules)).all()


def test_blocks_of_lists_of_sequences(data):
    embeddings, words, y, lengths = data
    X = cut(embeddings, lengths), cut(words, lengths)
    model = fitted(X, cut(y, lengths), None)
    assert_same_model(model, fitted((embeddings, words), y, lengths))
    labels = model.predict(X)
    assert [len(own) for own in labels] == lengths.tolist()
    flat = model.predict((embeddings, words), lengths)
    np.testing.assert_array_equal(np.concatenate(labels), flat)


def test_a_column_transformer_makes_sparse_data_with_dense_columns(data):
    embeddings, _, y, lengths = data
    word = np.random.default_rng(1).integers(0, 30, len(y))
    table = np.column_stack([embeddings, word])
    transformer = ColumnTransformer(
        [("scale", StandardScaler(), list(range(6))), ("word", OneHotEncoder(), [6])],
        sparse_threshold=1.0,
    )
    X = transformer.fit_transform(table)
    assert sp.issparse(X)
    model = fitted(X, y, lengths)
    assert_same_model(model, fitted((X[:, :6].toarray(), X[:, 6:]), y, lengths))
    np.testing.assert_array_equal(model.predict(X, lengths), model.predict(X.toarray(), lengths))


def test_sequences_with_weight_zero_edges_and_unknown_labels(data):
    embeddings, words, y, lengths = data
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 3, len(lengths)).astype(float)
    edges = sp.csr_array((rng.random((len(y), 2)) < 0.3).astype(float))
    unknown = [None if rng.random() < 0.2 else label for label in y]
    stacked = np.concatenate([embeddings, words.toarray()], axis=1)
    stacked = sp.csr_array(stacked)
    for labels, edge in ((y, None), (y, edges), (unknown, None)):
        models = [
            ChainCRF(lam=LAM, tol=1e-9, max_iter=200).fit(
                X, labels, lengths, sample_weight=weight, edges=edge
            )
            for X in ((embeddings, words), stacked)
        ]
        assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-6)


def test_threads_change_no_bit(data):
    embeddings, words, y, lengths = data
    models = [fitted((embeddings, words), y, lengths, n_jobs=n) for n in (1, 3)]
    np.testing.assert_array_equal(*(model.coef_.toarray() for model in models))
    np.testing.assert_array_equal(
        *(model.predict_marginals((embeddings, words), lengths) for model in models)
    )


def test_a_model_file_knows_columns_in_their_order(data, tmp_path):
    embeddings, words, y, lengths = data
    model = fitted((words, embeddings), y, lengths)
    proxqn.save(model, tmp_path / "model.safetensors")
    read = proxqn.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(read.coef_.toarray(), model.coef_.toarray())
    np.testing.assert_array_equal(
        read.predict((words, embeddings), lengths), model.predict((words, embeddings), lengths)
    )
    warm = ChainCRF(lam=LAM, l2=0.1, tol=1e-8).fit((words, embeddings), y, lengths, initial=read)
    assert warm.objective_ == pytest.approx(model.objective_, rel=1e-7)


def test_the_caller_s_arrays_are_not_changed(data):
    embeddings, words, y, lengths = data
    before = embeddings.copy(), words.copy()
    fitted((embeddings, words), y, lengths)
    np.testing.assert_array_equal(embeddings, before[0])
    np.testing.assert_array_equal(words.toarray(), before[1].toarray())


A, B = np.random.default_rng(0).normal(size=(4, 2)), np.eye(4)
NAN = A.copy()
NAN[2, 1] = np.nan
BAD = {
    "rows": ((A, B[:3]), [4], "block 1 of X has 3 rows, but block 0 has 4; expected one row a to"),
    "NaN": ((B, NAN), [4], "Input block 1 of X contains NaN"),
    "infinity": (
        (sp.csr_array(np.where(np.isnan(NAN), np.inf, NAN)), B),
        [4],
        "Input block 0 of X contains",
    ),
    "text": (
        (A, np.array([["a"]] * 4, dtype=object)),
        [4],
        "block 1 of X has dtype object, and no",
    ),
    "complex": ((A, A + 1j), [4], "Complex data not supported"),
    "lengths": ((A, B), [3], "lengths sum to 3, but X has 4 rows"),
    "lengths of lists": (([A], [B]), [4], "lengths came with blocks that are lists of sequences"),
    "one more sequence": (([A], [B, B]), None, "block 1 of X has 2 sequences, but block 0 has 1"),
    "a longer sequence": (
        ([A, A], [B, B[:3]]),
        None,
        "sequence 1 has 3 tokens in block 1 of X, but 4 in block 0; expected one row a token",
    ),
    "no features": ((A[:, :0], sp.csr_array((4, 0))), [4], r"0 feature\(s\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_blocks_are_refused(name):
    X, lengths, message = BAD[name]
    y = list("abab") if lengths else [list("abab")] * len(X[0])
    with pytest.raises(ValueError, match=message):
        ChainCRF().fit(X, y, lengths)


def test_another_number_of_columns_is_refused(data):
    embeddings, words, y, lengths = data
    model = fitted((embeddings, words), y, lengths)
    with pytest.raises(ValueError, match="X has 25 features, but ChainCRF is expecting 26"):
        model.predict((embeddings[:, 1:], words), lengths)


def test_a_tuple_of_sequences_is_what_it_was():
    X = A, A
    model = ChainCRF().fit(X, [list("abab"), list("baba")])
    assert len(model.predict(X)) == 2
