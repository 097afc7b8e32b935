"""L-BFGS pairs and the two-loop recursion."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.solvers.rivals.inverse_bfgs import InverseBFGS


def dense_inverse(pairs, n):
    """H by the textbook's product form, from the same scaled identity."""
    s, y = pairs[-1]
    H = (s @ y) / (y @ y) * np.eye(n)
    for s, y in pairs:
        rho = 1.0 / (s @ y)
        V = np.eye(n) - rho * np.outer(s, y)
        H = V @ H @ V.T + rho * np.outer(s, s)
    return H


@pytest.mark.parametrize("n_pairs", [1, 3, 6])
def test_two_loop_recursion_is_the_product_form(n_pairs):
    rng = np.random.default_rng(n_pairs)
    A = rng.normal(size=(8, 8))
    A = A @ A.T + np.eye(8)
    memory, pairs = InverseBFGS(4), []
    for _ in range(n_pairs):
        s = rng.normal(size=8)
        memory.append(s, A @ s)
        pairs.append((s, A @ s))
    v = rng.normal(size=8)
    assert len(memory) == min(n_pairs, 4)
    np.testing.assert_allclose(memory.times(v), dense_inverse(pairs[-4:], 8) @ v, rtol=1e-9)


def test_a_memory_of_one_pair_keeps_one():
    memory = InverseBFGS(1)
    for k in (1.0, 2.0, 3.0):
        memory.append(np.array([k, 0.0]), np.array([2.0 * k, 1.0]))
    assert len(memory) == 1


def test_pairs_without_positive_curvature_are_left_out():
    memory = InverseBFGS(4)
    memory.append(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    memory.append(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert len(memory) == 0


def test_spreading_keeps_products_on_known_entries():
    memory = InverseBFGS(3)
    memory.append(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    before = memory.times(np.array([1.0, -1.0]))
    memory.spread(np.array([0, -1, 1]))
    after = memory.times(np.array([1.0, 0.0, -1.0]))
    np.testing.assert_allclose(after[[0, 2]], before)
    assert after[1] == 0.0
