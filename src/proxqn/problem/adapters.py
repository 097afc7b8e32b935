"""For the time of the move only: a stateful oracle of before as an oracle of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from proxqn.problem import stateful
from proxqn.problem.oracle import NOTHING, Lease, Line, Oracle, Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep


class Adapted(Oracle):
    """Points of a stateful oracle."""

    def __init__(self, old: stateful.Oracle, single: bool = False, lease: Lease | None = None):
        self.old, self.n_jobs, self.is_single = old, old.n_jobs, single
        self.lease = lease or Lease()

    @property
    def n_coordinates(self) -> int:
        """As inside."""
        return self.old.n_coordinates

    @property
    def n_parameters(self) -> int:
        """As inside."""
        return self.old.n_parameters

    @property
    def n_samples(self) -> int:
        """As inside."""
        return self.old.n_samples

    @property
    def convex(self) -> bool:
        """As inside."""
        return self.old.convex

    def at(self, w: SparseVector) -> Point:
        """Go there."""
        if self.old.single != self.is_single:
            self.old.set_single(self.is_single)
        value = self.old.start_at(w)
        return _Point(self, w, value)

    def curvatures(self, coordinates: Ints) -> Floats:
        """As inside."""
        return self.old.curvatures(coordinates)

    def pass_cost(self) -> float:
        """As inside."""
        return self.old.pass_cost

    def restrict(self, samples: Ints, factor: float = 1.0) -> Oracle | None:
        """As inside, some share."""
        part = self.old.subsample(len(samples) / self.n_samples, 0)
        return None if part is None else Adapted(part)

    def rounded(self) -> Oracle | None:
        """Single precision."""
        self.old.set_single(True)
        return Adapted(self.old, True, self.lease) if self.old.single else None


class _Point(Point):
    def __init__(self, oracle: Adapted, w: SparseVector, value: float) -> None:
        self.oracle, self.w, self.value = oracle, w, value
        oracle.lease.give(self)
        found: Any = oracle.old.sample_losses() if math.isfinite(value) else None
        self.losses = None if found is None else (found[0].copy(), found[1])

    def gradient(self, coordinates: Ints) -> Floats:
        self.oracle.lease.check(self)
        return self.oracle.old.gradient(coordinates)

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        self.oracle.lease.check(self)
        return self.oracle.old.sweep_with(level, keep)

    def conjugate(self, scale: float) -> float | None:
        if self.losses is None:
            return None
        self.oracle.lease.check(self)
        inner = float(self.gradient(self.w.coordinates) @ self.w.values)
        losses, weights = self.losses
        p = np.exp(-losses)
        a = 1.0 - scale * (1.0 - p)
        log_s = math.log(scale) if scale > 0 else 0.0
        terms = -a * np.log(a) - scale * (1 - p) * log_s - scale * p * losses
        total = float((terms if weights is None else weights * terms).sum())
        return scale * (inner - self.value) - total

    def along(self, direction: SparseVector) -> Line:
        self.oracle.lease.check_place(self)
        self.oracle.old.move(direction)
        return _Line(self, direction)

    def draw(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        self.oracle.lease.check_place(self)
        return self.oracle.old.sample_curvature(coordinates, n_rows, seed)


class _Line(Line):
    def __init__(self, point: _Point, d: SparseVector) -> None:
        self.point, self.d = point, d

    def value(self, alpha: float) -> float:
        self.point.oracle.lease.overwrite()
        self.last = self.point.oracle.old.value_at(alpha)
        return self.last

    def accept(self, alpha: float) -> Point:
        self.point.oracle.old.accept(alpha)
        return _Point(self.point.oracle, self.point.w.plus(self.d, alpha), self.last)
