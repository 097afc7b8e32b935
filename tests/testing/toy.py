"""A small oracle that offers all that an oracle can, to be broken in one place at a time."""

from __future__ import annotations

import numpy as np

from proxqn.problem.oracle import NOTHING, Lease, Line, Oracle, Point
from proxqn.problem.sparse import SparseColumns, SparseVector, Sweep
from proxqn.problem.stepwise import BlockSteps, SampleSteps, StochasticOffer, StochasticSteps

N_SAMPLES, N_COORDINATES = 12, 6


class ToyLine(Line):
    def __init__(self, point, d):
        self.point, self.d, self.trial = point, d, None

    def value(self, alpha):
        oracle = self.point.oracle
        oracle.lease.check_place(self.point)
        oracle.lease.overwrite()
        self.trial = alpha
        oracle.look(self.point.w.plus(self.d, alpha))
        return oracle.loss()

    def accept(self, alpha):
        self.value(alpha)
        oracle = self.point.oracle
        return oracle.point(oracle, self.point.w.plus(self.d, alpha))


class ToyPoint(Point):
    def __init__(self, oracle, w):
        self.oracle, self.w, self.value = oracle, w, oracle.loss()
        oracle.lease.give(self)

    def all_derivatives(self):
        self.oracle.lease.check(self)
        return self.oracle.A.T @ (self.oracle.weights * self.oracle.residuals)

    def gradient(self, coordinates):
        return self.all_derivatives()[coordinates]

    def sweep(self, level, keep=NOTHING):
        g = self.all_derivatives()
        above = np.flatnonzero(np.abs(g) > level)
        found = SparseVector(above, g[above]).including(keep, g.take)
        return Sweep(found, float(np.abs(g).max()))

    def conjugate(self, scale):
        inner = self.all_derivatives() @ self.w.dense(N_COORDINATES)
        return scale * (inner - self.value)  # a sum of squares is nowhere below 0

    def along(self, direction):
        self.oracle.lease.check_place(self)
        return self.oracle.line(self, direction)

    def draw(self, coordinates, n_rows, seed):
        self.oracle.lease.check_place(self)
        rng = np.random.default_rng(seed)
        signs = rng.choice([-1.0, 1.0], (n_rows, len(self.oracle.A))) / np.sqrt(n_rows)
        rows = signs @ (np.sqrt(self.oracle.weights)[:, None] * self.oracle.A[:, coordinates])
        n = len(coordinates)
        return SparseColumns(
            np.arange(n + 1) * n_rows,
            np.tile(np.arange(n_rows, dtype=np.int32), n),
            rows.T.ravel().astype(np.float32),
            n_rows,
        )


class Toy(Oracle):
    """``½ Σ_i weight_i (a_i·w - b_i)²``; its points share the residuals."""

    point, line = ToyPoint, ToyLine

    def __init__(self, A=None, b=None, weights=None, n_jobs=1):
        rng = np.random.default_rng(0)
        self.A = rng.normal(size=(N_SAMPLES, N_COORDINATES)) if A is None else A
        self.b = rng.normal(size=N_SAMPLES) if b is None else b
        self.weights = np.ones(len(self.A)) if weights is None else weights
        self.n_jobs, self.lease, self.residuals = n_jobs, Lease(), -self.b

    @property
    def n_coordinates(self):
        return N_COORDINATES

    @property
    def n_samples(self):
        return len(self.A)

    def look(self, w):
        self.residuals = self.A @ w.dense(N_COORDINATES) - self.b

    def loss(self):
        return 0.5 * float(self.weights @ self.residuals**2)

    def at(self, w):
        self.look(w)
        return self.point(self, w)

    def curvatures(self, coordinates):
        return (self.weights @ self.A**2)[coordinates]

    def pass_cost(self):
        return 4.0 * self.A.size

    def restrict(self, samples, factor=1.0):
        return type(self)(self.A[samples], self.b[samples], factor * self.weights[samples])

    def rounded(self):
        single = [x.astype(np.float32).astype(float) for x in (self.A, self.b, self.weights)]
        return Toy(*single)

    def samples(self):
        return ToySamples(self)

    def stochastic(self, penalty):
        n, entries = len(self.A), self.A.size
        return StochasticOffer(
            2.0 * entries, N_COORDINATES, n, entries, lambda: ToyStochastic(self, penalty)
        )

    def blocks(self):
        return ToyBlocks(self)


class ToySamples(SampleSteps):
    def __init__(self, oracle):
        self.oracle, self.w = oracle, SparseVector.empty()

    def restart(self, weights):
        self.w = weights

    def descend(self, order, *, rate, lam, l2=0.0):
        raise NotImplementedError

    def weights(self):
        return self.w

    def loss(self, order):
        residuals = self.oracle.A @ self.w.dense(N_COORDINATES) - self.oracle.b
        return 0.5 * float((self.oracle.weights * residuals**2)[order].sum())


class ToyStochastic(StochasticSteps):
    """All samples at once: proximal gradient steps."""

    def __init__(self, oracle, penalty):
        self.oracle, self.w = oracle, np.zeros(N_COORDINATES)
        self.penalty = penalty.on(np.arange(N_COORDINATES))

    def epoch(self, seed):
        oracle = self.oracle
        curvature = np.linalg.norm(oracle.A, 2) ** 2 * oracle.weights.max()
        residuals = oracle.A @ self.w - oracle.b
        step = self.w - oracle.A.T @ (oracle.weights * residuals) / curvature
        self.w = self.penalty.prox(step, curvature)
        return 0.5 * float(oracle.weights @ residuals**2)

    def weights(self):
        return SparseVector.of_dense(self.w)


class ToyBlocks(BlockSteps):
    sizes = np.ones(N_COORDINATES, dtype=np.int64)

    def __init__(self, oracle):
        self.steps = ToySamples(oracle)

    def restart(self, weights):
        self.steps.restart(weights)

    def descend(self, blocks, rule, *, budget):
        raise NotImplementedError

    def weights(self):
        return self.steps.weights()

    def loss(self):
        return self.steps.loss(np.arange(self.steps.oracle.n_samples))
