"""What columns are divided by: typical values, not outliers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn.features import column_sizes
from proxqn.features.dense import DenseColumns
from proxqn.features.matrix import FeatureIndexed


def features(X, *, dense=False):
    slots = np.arange(len(X), dtype=np.int32)
    if not dense:
        return FeatureIndexed.from_csr(sp.csr_array(X), slots)
    found = FeatureIndexed.from_csr(sp.csr_array(X.shape), slots)
    columns = DenseColumns.of(X, np.arange(X.shape[1]))
    return found.with_dense(columns.columns, columns.at(slots, len(X)))


def matrix(seed=0):
    return np.random.default_rng(seed).normal(size=(300, 4))


@pytest.mark.parametrize("dense", [False, True])
def test_usual_columns_are_left_alone(dense):
    X = matrix() * [0.1, 1.0, 10.0, 30.0]
    assert column_sizes.of_features(features(X, dense=dense)) is None
    assert column_sizes.of_features(features((np.abs(matrix()) > 1).astype(float))) is None


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("factor", [1e-300, 1e-8, 1e4, 1e9, 1e300])
def test_a_column_of_another_size_is_divided_exactly(dense, factor):
    X = matrix()
    X[:, 1] *= factor
    data = features(X, dense=dense)
    sizes = column_sizes.of_features(data)
    assert sizes.unit[[0, 2, 3]].tolist() == [1.0, 1.0, 1.0]
    assert not sizes.outlying.any()
    divided = column_sizes.divided(data, sizes.unit)
    np.testing.assert_array_equal(divided.column_values(1) * sizes.unit[1], X[:, 1])
    np.testing.assert_array_equal(divided.column_values(3), X[:, 3])
    assert 0.1 < np.sqrt(divided.squares()[1] / 300) < 10


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("value", [1e3, -1e9, 1e100, 1e300])
def test_an_outlier_is_noted_and_does_not_make_its_column_vanish(dense, value):
    X = matrix()
    X[7, 2] = value
    sizes = column_sizes.of_features(features(X, dense=dense))
    assert sizes.outlying.tolist() == [False, False, True, False]
    assert sizes.resolved == (abs(value) < 1e12)
    if sizes.resolved:
        assert sizes.unit.tolist() == [1.0] * 4


def test_sums_of_squares_do_not_lose_small_columns_behind_large_ones():
    X = matrix() * [1e12, 1e-3, 1.0, 1.0]
    np.testing.assert_allclose(features(X).squares(), np.square(X).sum(axis=0), rtol=1e-14)


def test_edges_are_sized_in_the_same_way():
    X = sp.csr_array(matrix() * [1e6, 1.0, 1.0, 1e-6])
    sizes = column_sizes.of_matrix(X)
    assert sizes.unit[1:3].tolist() == [1.0, 1.0]
    back = column_sizes.divided_matrix(X, sizes.unit).toarray() * sizes.unit
    np.testing.assert_array_equal(back, X.toarray())
