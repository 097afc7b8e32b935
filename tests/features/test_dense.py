"""Dense columns: which they are, and that they are taken as they came."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn.features.dense import DenseColumns, joined, split


def whole(sparse, dense):
    """Return both parts as one matrix."""
    X = sparse.toarray().astype(float)
    assert not X[:, dense.columns].any()
    X[:, dense.columns] = dense.values
    return X


def embeddings_and_words(seed=0, n=40):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 3)).astype(np.float32)
    words = (rng.random((n, 9)) < 0.3).astype(np.float32)
    return values, words


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_of_measurements_is_shared(dtype):
    X = embeddings_and_words()[0].astype(dtype)
    sparse, dense = split(X)
    assert sparse.shape == X.shape
    assert sparse.nnz == 0
    assert dense.values is X
    np.testing.assert_array_equal(dense.columns, [0, 1, 2])


def test_measurements_among_many_words_are_cut_out():
    values, words = embeddings_and_words()
    X = np.concatenate([words[:, :4], values, words[:, 4:]], axis=1)
    for given in (X, sp.csr_array(X)):
        sparse, dense = split(given)
        np.testing.assert_array_equal(dense.columns, [4, 5, 6])
        assert dense.values.dtype == np.float32
        np.testing.assert_array_equal(whole(sparse, dense), X)
    assert (X[:, 4:7] == values).all()  # not changed


def test_a_few_numbers_among_many_words_stay_sparse():
    values, words = embeddings_and_words()
    X = np.concatenate([values[:, :1], words], axis=1)  # 1 and 2.7 a row
    for given in (X, sp.csr_array(X)):
        sparse, dense = split(given)
        assert dense is None
        np.testing.assert_array_equal(sparse.toarray(), X)


def test_words_are_not_dense_however_frequent():
    words = np.ones((10, 3))
    assert split(words)[1] is None
    assert split(sp.csr_array(words))[1] is None
    assert split(sp.csr_array((0, 5)))[1] is None
    assert split(np.zeros((0, 5)))[1] is None


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.uint8, np.float32),
        (np.int16, np.float32),
        (np.float16, np.float32),
        (np.int32, np.float64),
        (np.int64, np.float64),
        (np.longdouble, np.float64),
    ],
)
def test_other_numbers_become_floats_that_hold_them(dtype, kept):
    X = np.arange(2, 26).reshape(8, 3).astype(dtype)
    values = split(X)[1].values
    assert values.dtype == kept
    np.testing.assert_array_equal(values, X)


def test_rows_in_another_order_of_memory_are_copied():
    X = np.asfortranarray(embeddings_and_words()[0])
    values = DenseColumns.of(X, np.arange(3)).values
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, X)


def test_what_is_known_is_not_looked_for():
    X = sp.csr_array(embeddings_and_words()[0])
    known = DenseColumns(np.ones((40, 1)), np.array([0]))
    sparse, dense = split(X, known)
    assert dense is known
    assert sparse.nnz == X.nnz


def test_blocks_stand_side_by_side_in_the_order_given():
    values, words = embeddings_and_words()
    for blocks in ([values, sp.csr_array(words)], [sp.csr_array(words), values]):
        sparse, dense = joined(blocks)
        stacked = sp.hstack([sp.csr_array(block) for block in blocks]).toarray()
        np.testing.assert_array_equal(whole(sparse, dense), stacked)
        assert dense.values is values
    sparse, dense = joined([values, sp.csr_array(words), values[:, :1]])
    np.testing.assert_array_equal(dense.columns, [0, 1, 2, 12])
    np.testing.assert_array_equal(dense.values[:, 3], values[:, 0])
    assert joined([sp.csr_array(words)])[1] is None
    assert joined([values[:, :0], sp.csr_array(words)])[1] is None


def test_rows_find_their_slots_and_squares_are_of_these_alone():
    values = embeddings_and_words()[0]
    indexed = DenseColumns(values, np.arange(3)).at(np.arange(40, dtype=np.int32)[::-1] * 2, 90)
    assert indexed.slot_row[78] == 0
    np.testing.assert_allclose(indexed.squares, (values.astype(float) ** 2).sum(axis=0), rtol=1e-6)
    few = indexed.restrict(np.array([78, 0]), np.array([3, 5]), 8)
    assert few.values is values
    np.testing.assert_array_equal(few.slot_row, [-1, -1, -1, 0, -1, 39, -1, -1])
    np.testing.assert_allclose(few.squares, (values[[0, 39]] ** 2).sum(axis=0), rtol=1e-6)
