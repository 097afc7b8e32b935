"""The best average of iterates: against the whole linear program, and against trying all shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from proxqn.solvers.certificate import best_average as module
from proxqn.solvers.certificate.best_average import best_average

ALL_BOUNDS = -np.inf


def swinging(seed, n=6, n_coordinates=300, lam=2.0):
    """Make derivatives that swing about values within ±λ, many of them at ±λ, and entropies."""
    rng = np.random.default_rng(seed)
    center = np.clip(rng.normal(0, 2 * lam, n_coordinates), -lam, lam)
    g = center + 0.1 * rng.normal(size=(n, n_coordinates)) * rng.random(n_coordinates)
    return g, 100.0 + rng.normal(size=n), lam


def bound_of(shares, g, entropies, lam, price):
    excess = max(np.abs(shares @ g).max(initial=0.0) / lam - 1.0, 0.0)
    return shares @ entropies - price * excess


def whole_program(g, entropies, lam, price):
    n, n_coordinates = g.shape
    sides = np.vstack([g.T, -g.T]) / lam
    found = linprog(
        np.append(-entropies, price),
        A_ub=np.hstack([sides, -np.ones((2 * n_coordinates, 1))]),
        b_ub=np.ones(2 * n_coordinates),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
    )
    return -found.fun


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("price", [1.0, 100.0, 1e6])
def test_it_is_as_good_as_the_whole_program(seed, price):
    g, entropies, lam = swinging(seed)
    shares, bound = best_average(g / lam, entropies, price, ALL_BOUNDS)
    best = whole_program(g, entropies, lam, price)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)
    assert bound >= best - 1e-6 * abs(best)  # what is promised is never too little
    reached = bound_of(shares, g, entropies, lam, price)
    excess = (shares @ entropies - best) / price
    assert reached >= best - 0.06 * price * max(excess, 1e-6) - 1e-6


def test_no_shares_of_two_iterates_are_better():
    g, entropies, lam = swinging(3, n=2)
    shares, _ = best_average(g / lam, entropies, 50.0, ALL_BOUNDS)
    found = bound_of(shares, g, entropies, lam, 50.0)
    tried = [
        bound_of(np.array([c, 1 - c]), g, entropies, lam, 50.0) for c in np.linspace(0, 1, 1001)
    ]
    assert found == pytest.approx(max(tried), rel=1e-2)
    assert max(bound_of(row, g, entropies, lam, 50.0) for row in np.eye(2)) < found


def test_it_gives_up_once_the_bound_cannot_be_reached():
    g, entropies, lam = swinging(0)
    best = whole_program(g, entropies, lam, 100.0)
    shares, bound = best_average(g / lam, entropies, 100.0, best + 1.0)
    assert shares is None
    assert best - 1e-9 <= bound < best + 1.0  # what it knows by then
    shares, _ = best_average(g / lam, entropies, 100.0, best - 1.0)
    assert shares is not None


@pytest.mark.parametrize("g", [np.zeros((3, 4)), np.zeros((3, 0)), np.full((3, 4), 0.5)])
def test_nothing_violated_leaves_the_largest_entropy(g):
    shares, bound = best_average(g, np.array([1.0, 3.0, 2.0]), 10.0, ALL_BOUNDS)
    np.testing.assert_allclose(shares, [0, 1, 0], atol=1e-9)
    assert bound == pytest.approx(3.0)


def test_it_ends_where_the_program_leaves_an_excess_below_zero(monkeypatch):
    """As its rounding does: no constraint is violated by less than that, and all of them joined."""
    sizes = []

    def rounded(cost, *, A_ub, **others):
        sizes.append(len(A_ub))
        assert len(sizes) < 20
        found = linprog(cost, A_ub=A_ub, **others)
        found.x[-1] -= 1e-9
        return found

    monkeypatch.setattr(module, "linprog", rounded)
    g = np.random.default_rng(0).uniform(-1.0, 1.0, size=(4, 500))
    g[0, :5] = 9.0  # violated by the mean of all, with which it begins
    shares, bound = best_average(g, np.array([1.0, 3.0, 2.0, 0.0]), 10.0, ALL_BOUNDS)
    np.testing.assert_allclose(shares, [0, 1, 0, 0], atol=1e-9)
    assert bound == pytest.approx(3.0)
    assert sizes[-1] < 2 * 500  # most constraints are never looked at
