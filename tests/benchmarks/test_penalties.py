"""The table of penalties: least squares, where scikit-learn answers at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.penalties import compared, squares


@pytest.mark.parametrize("row", squares(), ids=lambda row: row.penalty)
def test_scikit_learn_finds_the_same_optimum(row):
    cells, agree = compared(row)
    assert agree, cells


def test_another_optimum_is_told():
    row = next(squares())
    assert not compared(replace(row, optimum=lambda: 1.00001 * row.optimum()))[1]
