"""What a point of an oracle is asked for in tests, from scratch and on all coordinates."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, SparseVector


def full_gradient(oracle: Oracle, point: Point) -> Floats:
    return point.gradient(np.arange(oracle.n_coordinates, dtype=np.int64))


def objective(oracle: Oracle, weights: SparseVector, penalty: Penalty) -> float:
    """Return f, from scratch."""
    return oracle.at(weights).value + penalty.value(weights)


def kkt_residual(oracle: Oracle, weights: SparseVector, penalty: Penalty) -> float:
    """Return the largest entry of the min-norm subgradient, over all coordinates, from scratch."""
    g = full_gradient(oracle, oracle.at(weights))
    everything = np.arange(oracle.n_coordinates)
    slopes = penalty.on(everything).min_norm_subgradient(weights.dense(len(g)), g)
    return float(np.abs(slopes).max(initial=0.0))


def plain(lam: float, l2: float = 0.0):
    """Return one λ and one ridge as what a working set holds."""
    return ElasticNet(lam, l2).on(np.empty(0, dtype=np.int64))


def random_weights(n: int, seed: int, *, scale: float = 1.0, share: float = 0.6) -> SparseVector:
    rng = np.random.default_rng(seed)
    coordinates = np.flatnonzero(rng.random(n) < share)
    return SparseVector(coordinates, scale * rng.normal(size=len(coordinates)))


class Logistic:
    """Logistic regression as ``w -> (value, gradient)``, on data that a few features explain."""

    def __init__(self, seed: int, n: int = 150, d: int = 25) -> None:
        rng = np.random.default_rng(seed)
        self.A = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
        truth = rng.normal(size=d) * (rng.random(d) < 0.3)
        self.y = np.where(self.A @ truth + rng.logistic(size=n) > 0.0, 1.0, -1.0)

    @property
    def d(self) -> int:
        return self.A.shape[1]

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        z = -self.y * (self.A @ w)
        return float(np.logaddexp(0.0, z).sum()), self.A.T @ (-self.y * expit(z))

    def oracle(self, *, proved: bool = True) -> FunctionOracle:
        return FunctionOracle(self, self.d, lower_bound=0.0 if proved else None)
