"""One λ and one ridge for all weights. (Formulas: ``tests/problem/test_penalty.py``.)"""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector


def test_value():
    weights = SparseVector(np.array([3, 9]), np.array([1.0, -2.0]))
    assert ElasticNet(2.0, 3.0).value(weights) == 2 * 3 + 1.5 * 5
    assert ElasticNet(2.0).value(SparseVector.empty()) == 0.0


def test_it_is_the_same_everywhere_and_takes_no_room():
    net = ElasticNet(2.0, 0.5)
    local = net.on(np.arange(10**6))
    assert [x.tolist() for x in local.arrays] == [[2.0], [0.5], [-math.inf], [math.inf]]
    assert net.on(np.array([7])) is local
    assert net.least == 2.0
    assert len(net.unpenalised) == 0


def test_two_with_the_same_numbers_are_equal():
    assert ElasticNet(2.0, 0.5) == ElasticNet(2.0, 0.5) != ElasticNet(2.0)


@pytest.mark.parametrize("lam", [0, -1.0, math.nan, math.inf, "1", None])
def test_lam_must_be_a_positive_number(lam):
    with pytest.raises(ValueError, match="lam must be a finite number"):
        ElasticNet(lam)


@pytest.mark.parametrize("l2", [-1e-9, math.nan, math.inf, "1", None])
def test_l2_must_not_be_negative(l2):
    with pytest.raises(ValueError, match="l2 must be a finite number, 0 or above"):
        ElasticNet(1.0, l2)
