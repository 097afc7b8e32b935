"""Proximal gradient descent, plain (ISTA) and accelerated (FISTA with restart).

The step is the minimiser of ``g·d + (L/2)‖d‖² + Ω(w + d)``, the proximal quasi-Newton step with
``B = L I``; L doubles until the quadratic lies above the loss at the new point (Beck and Teboulle
2009). A coordinate with ``w_j = 0`` and ``|g_j| ≤ λ`` does not move in such a step, so the sweep
above λ is all the method needs: it works on sparse vectors and is exact for any number of
parameters. λ, ridge and bounds may differ from weight to weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Line, Oracle, Point
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, SparseVector, union
from proxqn.run.status import Status
from proxqn.run.watch import Callback
from proxqn.solvers.curvature import scale
from proxqn.solvers.line_search import ROUNDING
from proxqn.solvers.standing import Goal, Iterate, Solution, Standing, Stop
from proxqn.solvers.working_set import WorkingSet

_BLURRED = 1e-10  # changes of the loss below this fraction of it are not compared


@final
@dataclass(frozen=True)
class ProxGD:
    """Settings of proximal gradient descent.

    Parameters
    ----------
    accelerated : bool
        FISTA: gradients at an extrapolated point (a second forward pass an iteration), restarted
        whenever the extrapolation points uphill (O'Donoghue and Candès 2015).
    curvature : float or None
        The first L; None measures it along the first direction, one forward pass.
    growth : float
        L is multiplied by this after a refused trial.
    relaxation : float
        L is multiplied by this after an accepted step (FISTA: only after a restart, since its rate
        needs an L that does not fall).
    max_trials : int
        Trials in one iteration.

    Examples
    --------
    >>> from proxqn.minimization import minimize
    >>> result = minimize(lambda w: ((w[0] - 3.0) ** 2, 2.0 * (w - 3.0)), 1.0, x0=np.zeros(1),
    ...                   solver=ProxGD())
    >>> result.x.round(3)
    array([2.5])
    """

    accelerated: bool = False
    curvature: float | None = None
    growth: float = 2.0
    relaxation: float = 0.9
    max_trials: int = 60

    def __post_init__(self) -> None:
        if self.curvature is not None and not 0.0 < self.curvature < math.inf:
            raise ValueError(
                "curvature must be a finite number above 0 or None to measure it, "
                f"got {self.curvature!r}."
            )
        if not self.growth > 1.0:
            raise ValueError(f"growth must be above 1, got {self.growth!r}.")
        if not 0.0 < self.relaxation <= 1.0:
            raise ValueError(f"relaxation must be above 0 and at most 1, got {self.relaxation!r}.")

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
        stop: Stop = "gap",
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``."""
        standing = Standing(oracle, penalty, Goal(tol, max_iter, callback, stop))
        run = _Accelerated(self, standing) if self.accelerated else _Plain(self, standing)
        return standing.solution(run.solve, start)


@final
@dataclass(frozen=True)
class _Trial:
    """The end of a line, where the quadratic model lies above the loss."""

    line: Line
    w: Floats
    loss: float
    trials: int


class _Backtracking:
    """L, and the search for it."""

    def __init__(self, settings: ProxGD) -> None:
        self.settings = settings
        self.L = settings.curvature or 1.0
        self.tested = False  # whether the last trial told anything about L

    def first_curvature(self, point: Point, at: WorkingSet) -> None:
        if self.settings.curvature is None:
            self.L = scale.measure(point, at)

    def step(self, point: Point, at: WorkingSet) -> _Trial | None:
        """Find L with ``ℓ(w + d) ≤ ℓ(w) + g·d + (L/2)‖d‖²``; None where no step is left.

        Near the optimum the terms to compare drown in the rounding of ℓ, which would drive L to
        infinity: there the last L that was tested in earnest is kept.
        """
        self.tested, loss = False, point.value
        for trial in range(1, self.settings.max_trials + 1):
            w = at.penalty.prox(at.w - at.g / self.L, self.L)
            d = w - at.w
            if not d.any():
                return None
            line = point.along(SparseVector(at.coordinates, d).nonzero())
            value = line.value(1.0)
            slope, quadratic = float((at.g * d).sum()), 0.5 * self.L * float((d * d).sum())
            self.tested = max(abs(slope), quadratic) > _BLURRED * abs(loss)
            above = loss + slope + quadratic + ROUNDING * abs(loss)
            if not self.tested:
                above = loss + _BLURRED * abs(loss)
            if math.isfinite(value) and value <= above:
                return _Trial(line, w, value, trial)
            self.L *= self.settings.growth
        return None

    def relax(self) -> None:
        if self.tested:
            self.L *= self.settings.relaxation


@final
class _Plain:
    """Gradient, proximal step, repeat."""

    def __init__(self, settings: ProxGD, standing: Standing) -> None:
        self.standing, self.search = standing, _Backtracking(settings)

    def solve(self, start: SparseVector) -> Status:
        standing, search = self.standing, self.search
        point = standing.begin(start)
        if point is None:
            return Status.NOT_FINITE
        at, status = standing.look(point, standing.iterate.weights)
        if status is None:
            search.first_curvature(point, at)
        while status is None and (status := standing.consult()) is None:
            trial = search.step(point, at)
            if trial is None:
                return Status.STALLED
            point = trial.line.accept(1.0)
            weights = SparseVector(at.coordinates, trial.w).nonzero()
            objective = trial.loss + standing.penalty.value(weights)
            standing.advance(
                Iterate(weights, trial.loss, objective), step=1.0 / search.L, trials=trial.trials
            )
            search.relax()
            at, status = standing.look(point, weights)
        return status


@final
class _Accelerated:
    """FISTA: the point is y, the iterate is w, the one before it ``previous``."""

    def __init__(self, settings: ProxGD, standing: Standing) -> None:
        self.standing, self.search = standing, _Backtracking(settings)
        self.momentum = 1.0  # t_k

    def solve(self, start: SparseVector) -> Status:
        standing, search = self.standing, self.search
        point = standing.begin(start)
        if point is None:
            return Status.NOT_FINITE
        at, status = standing.look(point, standing.iterate.weights)
        if status is None:
            search.first_curvature(point, at)
        while status is None and (status := standing.consult()) is None:
            trial = search.step(point, at)
            if trial is None:
                return Status.STALLED
            point, y = self._extrapolate(point, at, trial)
            at, status = standing.look(point, y)
            if status in (Status.KKT, Status.UNPENALISED, Status.STATIONARY):
                # Proved for y, so y is what we return.
                objective = point.value + standing.penalty.value(y)
                standing.iterate = Iterate(y, point.value, objective)
        return status

    def _extrapolate(
        self, point: Point, at: WorkingSet, trial: _Trial
    ) -> tuple[Point, SparseVector]:
        """Record w, and move on to ``y = w + ((t_k - 1)/t_{k+1}) (w - previous)``, in bounds."""
        standing, previous = self.standing, self.standing.iterate
        coordinates = union(at.coordinates, previous.weights.coordinates)
        w = SparseVector(at.coordinates, trial.w).on(coordinates)
        old = previous.weights.on(coordinates)
        y = SparseVector(at.coordinates, at.w).on(coordinates)
        weights = SparseVector(coordinates, w).nonzero()
        objective = trial.loss + standing.penalty.value(weights)
        uphill = float(((y - w) * (w - old)).sum()) > 0.0 or objective > previous.objective
        event = "restarted: the extrapolation points uphill" if uphill else ""
        if uphill:
            self.momentum = 1.0
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = w + (self.momentum - 1.0) / following * (w - old)
        local = standing.penalty.on(coordinates)
        if local.bounded:
            ahead = np.clip(ahead, local.lower, local.upper)
        self.momentum = following
        line = trial.line
        if not np.array_equal(ahead, w):
            line = point.along(SparseVector(coordinates, ahead - y).nonzero())
            line.value(1.0)
        point = line.accept(1.0)
        standing.advance(
            Iterate(weights, trial.loss, objective),
            step=1.0 / self.search.L,
            trials=trial.trials,
            event=event,
        )
        if uphill:
            self.search.relax()
        return point, SparseVector(coordinates, ahead).nonzero()
