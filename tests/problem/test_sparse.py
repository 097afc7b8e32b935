"""Vectors with few entries."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.problem.sparse import SparseVector, union


def test_sparse_vector_drops_its_zeros():
    w = SparseVector(np.array([1, 4, 9]), np.array([2.0, 0.0, -1.0])).nonzero()
    assert w.coordinates.tolist() == [1, 9]
    assert w.values.tolist() == [2.0, -1.0]
    assert len(SparseVector.empty().values) == 0


def test_including_asks_only_for_what_is_lacking():
    w = SparseVector(np.array([1, 4, 9]), np.array([2.0, 0.0, -1.0]))
    assert w.including(np.array([1, 9]), pytest.fail) is w
    asked = []

    def values_of(coordinates):
        asked.extend(coordinates)
        return -1.0 * coordinates

    found = w.including(np.array([0, 4, 5, 11]), values_of)
    assert asked == [0, 5, 11]
    assert found.coordinates.tolist() == [0, 1, 4, 5, 9, 11]
    assert found.values.tolist() == [0.0, 2.0, 0.0, -5.0, -1.0, -11.0]


def test_a_union_of_coordinates_ascends_and_names_each_once():
    rng = np.random.default_rng(3)
    for n, m in [(0, 0), (0, 5), (7, 0), (40, 40)]:
        one, other = (np.sort(rng.choice(60, k, replace=False)) for k in (n, m))
        np.testing.assert_array_equal(union(one, other), sorted({*one, *other}))
