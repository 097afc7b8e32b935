"""Small deterministic problems: their optima stay, and what it takes to prove them does not rise.

A change that makes the method need more inference shows here before any benchmark is run. Counts
are forward and backward passes and sweeps, until the optimum is proved to 1e-6 (of rivals to 1e-3),
or estimated where it says so; ``tests/pinned_problems.py`` has the problems and renews the file.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.pinned_problems import DETOURS, OPTIMA, OPTIONS, pinned, solve

RENEW = "if that is as it should be: python -m tests.pinned_problems --write"
ROUNDING = 3e-10  # of an objective of ten digits, on another processor
PINNED = pinned()


def test_the_file_has_each_problem():
    assert list(PINNED) == OPTIMA + DETOURS
    assert len(OPTIMA) >= 40


@pytest.mark.parametrize("name", OPTIMA + DETOURS)
def test_no_more_passes_than_before(name):
    found, before = solve(name), PINNED[name]
    assert np.all(np.array(found.counts) <= before.counts), f"{found} for {before}; {RENEW}"


@pytest.mark.parametrize("name", OPTIMA)
def test_the_optimum_is_the_same(name):
    found, before = solve(name), PINNED[name]
    close = pytest.approx(float(before.objective), rel=ROUNDING)
    same = float(found.objective) == close and found.nonzeros == before.nonzeros
    assert same, f"{found} for {before}; {RENEW}"


@pytest.mark.parametrize("name", DETOURS)
def test_other_ways_lead_to_the_same_optimum(name):
    loss, penalty, way = name.split(", ")
    least = float(PINNED[f"{loss}, {penalty}"].objective)
    found, tol = float(solve(name).objective), OPTIONS[way]["tol"]
    assert least * (1 - ROUNDING) <= found <= least * (1 + 3 * tol)
