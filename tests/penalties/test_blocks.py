"""Blocks: each range of coordinates has the numbers of its own penalty."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.penalties import ElasticNet
from proxqn.penalties.blocks import Blocks
from proxqn.penalties.cyclic import Cyclic
from proxqn.testing import check_penalty

PENALTY = Blocks([6, 6, 10], [ElasticNet(2.0, 0.5), Cyclic([9.0]), Cyclic([0.0, 1.0], size=4),
                              ElasticNet(3.0)])  # fmt: skip


def test_it_keeps_the_promises_of_a_penalty():
    check_penalty(PENALTY, 15)


def test_numbers_are_those_of_the_blocks():
    local = PENALTY.on(np.arange(15))
    assert local.lam.tolist() == [2.0] * 6 + [0.0, 1.0] * 2 + [3.0] * 5
    assert local.l2.tolist() == [0.5] * 6 + [0.0] * 9
    assert PENALTY.on(np.array([1, 7, 12])).lam.tolist() == [2.0, 1.0, 3.0]
    assert PENALTY.least == 1.0
    assert PENALTY.unpenalised.tolist() == [6, 8]


def test_coordinates_of_one_block_need_no_arrays_of_their_own():
    assert len(PENALTY.on(np.arange(5)).lam) == 1
    assert PENALTY.on(np.empty(0, np.int64)).value(np.empty(0)) == 0.0


@pytest.mark.parametrize(("boundaries", "n_parts"), [([3], 1), ([], 2), ([4, 3], 3)])
def test_boundaries_ascend_and_are_one_fewer(boundaries, n_parts):
    with pytest.raises(ValueError, match="expected ascending boundaries"):
        Blocks(boundaries, [ElasticNet(1.0)] * n_parts)
