"""Logistic regression that can draw its curvature: a log-likelihood in a few lines, for tests."""

from __future__ import annotations

import numpy as np
from scipy.special import expit
from tests.points import Logistic

from proxqn.losses.function import FunctionOracle
from proxqn.problem.oracle import NOTHING, Line, Oracle, Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep


class DrawingPoint(Point):
    """A function's point, and ``J = √(p(1-p))·A``, of which ``JᵀJ`` is the Hessian."""

    def __init__(self, oracle: DrawingLogistic, inside: Point, w: SparseVector) -> None:
        self.value, self.oracle, self.inside, self.w = inside.value, oracle, inside, w

    def gradient(self, coordinates: Ints) -> Floats:
        return self.inside.gradient(coordinates)

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        return self.inside.sweep(level, keep)

    def conjugate(self, scale: float) -> float | None:
        return self.inside.conjugate(scale)

    def along(self, direction: SparseVector) -> Line:
        return DrawingLine(self, self.inside.along(direction), direction)

    def draw(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        self.oracle.asked.append((len(coordinates), n_rows, seed))
        if self.oracle.dry:
            return None
        A = self.oracle.loss.A
        p = expit(A @ self.w.dense(A.shape[1]))
        J = (np.sqrt(p * (1 - p))[:, None] * A)[:, coordinates]
        n = len(J)
        start = np.arange(len(coordinates) + 1) * n
        row = np.tile(np.arange(n, dtype=np.int32), len(coordinates))
        return SparseColumns(start, row, J.T.ravel().astype(np.float32), n)


class DrawingLine(Line):
    def __init__(self, point: DrawingPoint, inside: Line, d: SparseVector) -> None:
        self.point, self.inside, self.d = point, inside, d

    def value(self, alpha: float) -> float:
        return self.inside.value(alpha)

    def accept(self, alpha: float) -> Point:
        there = self.point.w.plus(self.d, alpha)
        return DrawingPoint(self.point.oracle, self.inside.accept(alpha), there)


class DrawingLogistic(Oracle):
    """``asked``: the draws asked for; ``dry``: give none."""

    def __init__(self, loss: Logistic, *, dry: bool = False) -> None:
        self.loss, self.function = loss, FunctionOracle(loss, loss.d, lower_bound=0.0)
        self.asked: list[tuple[int, int, int]] = []
        self.dry = dry

    @property
    def n_coordinates(self) -> int:
        return self.loss.d

    def at(self, w: SparseVector) -> Point:
        return DrawingPoint(self, self.function.at(w), w)
