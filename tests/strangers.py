"""Losses as others might write them: logistic regression with one ability each."""

from __future__ import annotations

import numpy as np
from tests.points import Logistic

from proxqn.losses.function import FunctionOracle
from proxqn.problem.oracle import DensePoint, Oracle, Point
from proxqn.problem.sparse import Ints, SparseVector


class Bare(Oracle):
    """Only what a loss must have: ``n_coordinates`` and ``at``."""

    def __init__(self, loss: Logistic, *, lower_bound: float | None = None) -> None:
        self.loss, self.lower_bound = loss, lower_bound

    @property
    def n_coordinates(self) -> int:
        return self.loss.d

    def at(self, w: SparseVector) -> Point:
        value, gradient = self.loss(w.dense(self.loss.d))
        return DensePoint(self, w, value, gradient, self.lower_bound)


class Sampled(Bare):
    """A sum over samples, which remembers what it was restricted to."""

    def __init__(self, loss: Logistic) -> None:
        super().__init__(loss, lower_bound=0.0)
        self.restricted: list[tuple[Ints, float]] = []

    @property
    def n_samples(self) -> int:
        return len(self.loss.y)

    def restrict(self, samples: Ints, factor: float = 1.0) -> Sampled:
        self.restricted.append((samples, factor))
        part = Sampled(_Part(self.loss, samples, factor))
        part.restricted = self.restricted  # one list for all
        return part


class _Part(Logistic):
    def __init__(self, whole: Logistic, samples: Ints, factor: float) -> None:
        self.A, self.y = whole.A[samples], whole.y[samples]
        self.factor = factor * getattr(whole, "factor", 1.0)

    def __call__(self, w):
        value, gradient = super().__call__(w)
        return self.factor * value, self.factor * gradient


class Rounding(Bare):
    """Also in single precision: values and derivatives with as many digits."""

    def __init__(self, loss: Logistic) -> None:
        super().__init__(loss, lower_bound=0.0)
        self.asked = 0  # points in single precision

    def rounded(self) -> Oracle:
        def single(w):
            self.asked += 1
            value, gradient = self.loss(w)
            return float(np.float32(value)), gradient.astype(np.float32)

        return FunctionOracle(single, self.loss.d, lower_bound=0.0)
