"""Quasi-Newton models filled with random curvature pairs, and their matrix written out."""

from __future__ import annotations

import numpy as np

from proxqn import _kernels
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling


def random_pairs(seed: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps and gradient changes of a convex quadratic, [m, n]: all curvatures are positive."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    S = rng.normal(size=(m, n))
    return S, S @ (root @ root.T / n + 0.1 * np.eye(n))


def filled(S, Y, *, memory=50, scaling=Scaling.PAPER, kernels=_kernels) -> CompactBFGS:
    model = CompactBFGS(memory, 1.0, scaling, S.shape[1], kernels)
    for s, y in zip(S, Y, strict=True):
        assert model.append(s, y)
    return model


def matrix(model: CompactBFGS) -> np.ndarray:
    """B = γD + P Pᵀ - C Cᵀ from the rows that coordinate descent reads."""
    factors = model.factors()
    P, C = (factors.rows[:, k : 2 * factors.n_pairs : 2] for k in (0, 1))
    assert (factors.rows[:, 2 * factors.n_pairs :] == 0.0).all()
    B = np.diag(factors.base) + P @ P.T - C @ C.T
    np.testing.assert_allclose(factors.diagonal, np.diag(B), rtol=1e-9, atol=1e-12)
    return B
