"""A change of variables leaves the objective what it is."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.penalties import ElasticNet, Separable
from proxqn.penalties.blocks import Blocks
from proxqn.penalties.cyclic import Cyclic
from proxqn.problem.sparse import SparseVector
from proxqn.problem.units import InUnits, Units, power_of_two

UNITS = Units(((np.array([4.0, 0.5, 1.0]), 2), (np.ones(1), 3)))


@pytest.mark.parametrize(
    "penalty",
    [
        ElasticNet(1.5, 0.3),
        Separable(np.linspace(0.0, 2.0, 9), 0.2, -3.0, np.arange(9.0)),
        Blocks([6], [Cyclic([1.0, 2.0]), Cyclic([0.0], size=3)]),
    ],
)
def test_the_penalty_of_variables_is_that_of_their_weights(penalty):
    w = SparseVector(np.array([0, 2, 5, 8]), np.array([1.0, -2.0, 0.5, 3.0]))
    u, changed = UNITS.changed(w), InUnits(penalty, UNITS)
    assert changed.value(u) == pytest.approx(penalty.value(w), rel=1e-15)
    np.testing.assert_array_equal(UNITS.original(u).values, w.values)
    here, there = penalty.on(w.coordinates), changed.on(w.coordinates)
    c = changed.unit(w.coordinates)
    np.testing.assert_array_equal(np.broadcast_to(there.lower, 4), here.lower * c)
    np.testing.assert_array_equal(np.broadcast_to(there.upper, 4), here.upper * c)


def test_columns_with_a_far_smaller_lam_are_watched_and_the_others_are_not():
    sizes = np.ones(1000)
    sizes[[3, 500]] = 2.0**30, 2.0**11
    units = Units(((sizes, 2),))
    changed = InUnits(ElasticNet(5.0), units)
    assert changed.least == 5.0
    assert changed.watched.tolist() == [6, 7, 1000, 1001]
    assert changed.unpenalised.tolist() == []
    assert Units(((np.full(1000, 2.0**20), 1),)).watched.tolist() == []


def test_no_coordinates_give_no_numbers():
    assert all(len(x) in (0, 1) for x in InUnits(ElasticNet(1.0), UNITS).on(np.arange(0)).arrays)
    assert len(InUnits(ElasticNet(1.0), UNITS).on(np.arange(0)).lam) == 0


@pytest.mark.parametrize("size", [1e-320, 1e-300, 0.7, 1.0, 2020.0, 1e308])
def test_sizes_are_rounded_to_powers_of_two_in_range(size):
    found = power_of_two(size)
    assert np.frexp(found)[0] == 0.5
    assert 0.0 < 1.0 / found < np.inf
    if 2.0**-1000 < size < 2.0**1000:
        assert 0.7 < found / size < 1.5
