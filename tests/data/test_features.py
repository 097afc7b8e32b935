"""Feature-indexed data equal the columns of the matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proxqn.data.features import FeatureIndexed


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
