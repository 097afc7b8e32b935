"""Sums of sparse vectors against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.losses.chain.weights import moved
from proxqn.problem import SparseVector


def test_a_sum_of_sparse_vectors_is_that_of_dense_ones_without_its_zeros():
    rng = np.random.default_rng(4)
    for n, m in [(0, 0), (0, 5), (7, 0), (1, 1), (40, 40), (60, 60)]:
        one, other = (
            SparseVector(np.sort(rng.choice(60, k, replace=False)), rng.integers(-2, 3, k) * 1.0)
            for k in (n, m)
        )
        dense = np.zeros(60)
        dense[one.coordinates] = one.values
        dense[other.coordinates] += 0.5 * other.values
        found = moved(one, other, 0.5)
        np.testing.assert_array_equal(found.coordinates, np.flatnonzero(dense))
        np.testing.assert_array_equal(found.values, dense[dense != 0.0])
    broken = moved(one, SparseVector(np.array([3]), np.array([np.nan])), 1.0)
    assert np.isnan(broken.values[broken.coordinates == 3]).all()
    with pytest.raises(ValueError, match="one value a coordinate"):
        moved(one, SparseVector(np.array([3, 4]), np.ones(1)), 1.0)
