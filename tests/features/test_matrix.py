"""Feature-indexed data equal the columns of the matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proxqn.features import matrix as features
from proxqn.features.matrix import FeatureIndexed


@st.composite
def matrices(draw):
    """CSR with unsorted indices, explicit zeros, columns of ones, empty columns, any width."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.sampled_from([1, 7, 40, 5000, 10**7]))
    occurring = np.unique(rng.integers(n_columns, size=12))
    dense = rng.random((n_rows, len(occurring))) < draw(st.sampled_from([0.0, 0.1, 0.7]))
    rows, columns = np.nonzero(dense)
    order = np.lexsort([rng.random(len(rows)), rows])
    values = rng.choice(
        draw(st.sampled_from([[1.0], [0.0, 1.0, 2.0], [0.5, -1.0, 1.0]])), len(rows)
    )
    index = draw(st.sampled_from([np.int32, np.int64]))
    X = sp.csr_array((n_rows, n_columns))
    X.data = values.astype(draw(st.sampled_from([np.float64, np.float32])))
    X.indices = occurring[columns[order]].astype(index)
    X.indptr = np.concatenate([[0], np.cumsum(dense.sum(axis=1))]).astype(index)
    slots = rng.permutation(2 * n_rows)[:n_rows].astype(np.int32)
    return X, slots


@settings(max_examples=200, deadline=None)
@given(matrices())
def test_equals_the_columns_of_the_matrix(matrix):
    X, slots = matrix
    data = FeatureIndexed.from_csr(X, slots)
    entries = sp.coo_array(X)
    assert data.n_features == X.shape[1]
    assert data.n_entries == len(X.data)
    np.testing.assert_array_equal(data.columns, np.unique(X.indices))
    for c, column in enumerate(data.columns):
        rows = data.slots[data.start[c] : data.start[c + 1]]
        assert (np.diff(rows) > 0).all()
        mine = entries.col == column
        order = np.argsort(slots[entries.row[mine]])
        np.testing.assert_array_equal(rows, slots[entries.row[mine]][order])
        true = entries.data[mine][order]
        first = data.value_start[c]
        if first < 0:
            assert (true == 1.0).all()
        else:
            assert (true != 1.0).any()  # columns of ones take no memory
            np.testing.assert_array_equal(data.values[first : first + len(rows)], true)
    stored = sum(
        data.start[c + 1] - data.start[c] for c in range(data.n_columns) if data.value_start[c] >= 0
    )
    assert len(data.values) == stored


def test_binary_data_store_no_values():
    X = sp.csr_array(np.array([[1, 0, 1], [1, 0, 0]]))
    data = FeatureIndexed.from_csr(X, np.array([0, 1], dtype=np.int32))
    assert len(data.values) == 0
    assert data.columns.tolist() == [0, 2]
    assert data.n_columns == 2


def test_the_matrix_is_left_as_it_was():
    X = sp.csr_array(np.array([[0.0, 2.0], [1.0, 1.0]]))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    FeatureIndexed.from_csr(X, np.array([1, 0], dtype=np.int32))
    for old, new in zip(before, (X.data, X.indices, X.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("n_features", [50, 10**9])
def test_memory_does_not_follow_the_number_of_features(n_features):
    """The dense and the sparse renumbering give the same columns."""
    indices = np.array([49, 3, 3, 20])
    X = sp.csr_array((np.ones(4), indices, [0, 2, 3, 4]), shape=(3, n_features))
    data = FeatureIndexed.from_csr(X, np.arange(3, dtype=np.int32))
    assert data.columns.tolist() == [3, 20, 49]
    assert data.slots.tolist() == [0, 1, 2, 0]


# --- lists by slot ---------------------------------------------------------------------------


@st.composite
def corpora(draw):
    """Sparse data with frequent and rare columns of ones and of values; more slots than rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(1, 60)), draw(st.integers(1, 30))
    dense = (rng.random((n_rows, n_columns)) < rng.random(n_columns) / 8).astype(float)
    dense[:, rng.random(n_columns) < draw(st.sampled_from([0.0, 0.3]))] *= 2.0
    index = draw(st.sampled_from([np.int32, np.int64]))
    X = sp.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X, rng.permutation(2 * n_rows)[:n_rows].astype(np.int32)


@settings(max_examples=200, deadline=None)
@given(corpora(), st.integers(1, 4), st.sampled_from([3, 1 << 16]))
def test_lists_name_the_frequent_columns_of_ones_of_every_slot(corpus, rare, most):
    X, slots = corpus
    n_slots = 2 * X.shape[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "_RARE", rare)
        patch.setattr(features, "_MOST", most)
        patch.setattr(features, "_DENSE", 1)  # no data are so dense
        patch.setattr(features, "_VALUES", 1)  # nor have so many values
        data = FeatureIndexed.from_csr(X, slots, n_slots)
    counts = np.diff(data.start)
    if data.lists is None:
        assert most == 3 or ((counts < rare) | (data.value_start >= 0)).all()
        return
    lists = data.lists
    ours = (data.value_start < 0) & (counts >= rare)
    if most == 3:
        assert len(lists.columns) <= most
        assert ours[lists.columns].all()
    else:
        np.testing.assert_array_equal(lists.columns, np.flatnonzero(ours))
    dense = X.toarray()[:, data.columns]
    row_of = dict(zip(slots.tolist(), range(len(slots)), strict=True))
    for slot in range(n_slots):
        named = lists.columns[lists.places[lists.start[slot] : lists.start[slot + 1]]]
        true = np.flatnonzero(dense[row_of[slot]]) if slot in row_of else []
        np.testing.assert_array_equal(named, np.intersect1d(true, lists.columns))


def test_dense_data_have_no_lists():
    X = sp.csr_array(np.ones((100, 3)))
    assert FeatureIndexed.from_csr(X, np.arange(100, dtype=np.int32), 104).lists is None


@pytest.mark.parametrize(("n_real", "listed"), [(0, True), (1, True), (3, False)])
def test_data_with_many_values_have_no_lists(n_real, listed):
    dense = (np.random.default_rng(0).random((4000, 10)) < 0.025).astype(float)
    dense[:, :n_real] *= 0.5
    data = FeatureIndexed.from_csr(sp.csr_array(dense), np.arange(4000, dtype=np.int32), 4008)
    assert (data.lists is not None) == listed


def test_lists_of_some_slots_are_those_of_all():
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((4000, 10)) < 0.025).astype(float))
    lists = FeatureIndexed.from_csr(X, np.arange(4000, dtype=np.int32), 4008).lists
    part = lists.restrict(np.array([7, 9, 4000]), np.array([0, 2, 3]), 8)
    np.testing.assert_array_equal(part.slot_list, [7, -1, 9, 4000, -1, -1, -1, -1])
    again = part.restrict(np.array([2, 3]), np.array([1, 0]), 2)
    np.testing.assert_array_equal(again.slot_list, [4000, 9])
