"""An oracle with the points at which it is checked, and how exact its answers are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats, Ints, SparseVector

_MOST_WEIGHTS = 30  # of a random point
_MOST_COORDINATES = 20_000


@final
@dataclass(frozen=True)
class Case:
    """What every check is given."""

    oracle: Oracle
    points: Sequence[SparseVector]
    rng: np.random.Generator
    rounding: float  # relative error of ℓ
    scale: float  # of random weights

    @classmethod
    def of(
        cls,
        oracle: Oracle,
        points: Sequence[SparseVector] | None,
        seed: int,
        rounding: float,
        scale: float,
    ) -> Case:
        """Take these points, or zero and two random ones."""
        if oracle.n_coordinates > _MOST_COORDINATES:
            raise ValueError(
                f"expected a small problem, of at most {_MOST_COORDINATES} coordinates, got "
                f"{oracle.n_coordinates}: whole gradients are compared at thousands of points. "
                "Make the oracle from fewer features."
            )
        case = cls(oracle, points or (), np.random.default_rng(seed), rounding, scale)
        if points:
            return case
        zero = SparseVector.empty()
        random = [zero, case.random_weights(), case.random_weights()]
        return cls(oracle, random, case.rng, rounding, scale)

    @property
    def everywhere(self) -> Ints:
        """All coordinates."""
        return np.arange(self.oracle.n_coordinates, dtype=np.int64)

    @property
    def exact(self) -> float:
        """Relative error to allow where two ways lead to the same number."""
        return 1e5 * self.rounding

    @property
    def n_outside(self) -> int:
        """Coordinates that have a number but no weight in the model: no sweep names them."""
        return max(0, self.oracle.n_coordinates - self.oracle.n_parameters)

    def inside(self) -> Ints:
        """Return coordinates that a sweep names at zero, where not all have a weight."""
        if not self.n_outside:
            return self.everywhere
        return self.oracle.at(SparseVector.empty()).sweep(0.0).gradient.coordinates

    def random_weights(self) -> SparseVector:
        """Return a few random weights."""
        inside = self.inside()
        n = min(_MOST_WEIGHTS, -(-len(inside) * 2 // 5))
        chosen = np.sort(self.rng.choice(inside, n, replace=False)) if n else inside[:0]
        return SparseVector(chosen, self.scale * self.rng.normal(size=n))

    def unit(self, value: float, gradient: Floats) -> float:
        """Return the size that errors of derivatives are measured in."""
        return max(float(np.abs(gradient).max(initial=0.0)), self.rounding * abs(value), 1e-300)


def derivative(f: Callable[[float], Any], step: float) -> tuple[Any, Any]:
    """Return f'(0) by central differences of fourth order, and an estimate of their error."""
    two_left, left, right, two_right = (f(k * step) for k in (-2, -1, 1, 2))
    second_order = (right - left) / (2.0 * step)
    fourth_order = (8.0 * (right - left) - (two_right - two_left)) / (12.0 * step)
    return fourth_order, np.abs(fourth_order - second_order)
