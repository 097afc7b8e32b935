"""Cyclic penalties: the numbers of coordinate j are those of j mod K."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from proxqn.penalties.cyclic import Cyclic
from proxqn.testing import check_penalty


@pytest.mark.parametrize("penalty", [
    Cyclic([1.0, 2.0, 0.5]), Cyclic([1.0, 0.0], [0.0, 2.0], size=11), Cyclic([0.0], size=4),
])  # fmt: skip
def test_it_keeps_the_promises_of_a_penalty(penalty):
    check_penalty(penalty, penalty.size or 12)


def test_memory_does_not_grow_with_the_weights():
    tracemalloc.start()
    penalty = Cyclic([1.0, 2.0, 3.0], size=10**12)
    assert penalty.on(np.array([0, 10**12 - 1])).lam.tolist() == [1.0, 1.0]
    assert not len(penalty.unpenalised)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("lam", "l2", "message"),
    [([1.0, -1.0], 0.0, "lam"), ([np.nan], 0.0, "lam"), ([[1.0]], 0.0, "lam"), ([1.0], -1, "l2"),
     ([0.0, 1.0], 0.0, "size is needed")],
)  # fmt: skip
def test_what_is_refused(lam, l2, message):
    with pytest.raises(ValueError, match=message):
        Cyclic(lam, l2)
