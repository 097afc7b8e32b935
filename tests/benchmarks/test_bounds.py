"""A few of the problems of ``make bounds``."""

from __future__ import annotations

from decimal import getcontext

import numpy as np
import pytest
from benchmarks.bounds import KINDS, check


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [100, 101, 102, 103, 152, 171, 184])
def test_no_bound_is_above_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(getcontext(), "prec", 50)
    rng = np.random.default_rng(seed)
    assert check(KINDS[seed % len(KINDS)](rng), rng) is None
