"""Orthant-wise limited-memory quasi-Newton (Andrew and Gao 2007).

The objective is smooth within an orthant. Each iteration chooses the orthant that the steepest
descent direction points into, takes the L-BFGS direction there, and searches along the path of its
projections onto that orthant:

1. pseudo-gradient ``◇f``: the min-norm subgradient of f;
2. direction ``p = -H ◇f`` by the two-loop recursion (``inverse_bfgs``), entries set to zero where
   their sign is not that of ``-◇f``;
3. orthant ``ξ_j = sgn w_j``, or ``sgn(-◇f_j)`` where ``w_j = 0``;
4. trials ``w(α) = π(w + αp; ξ)`` until f falls enough (``orthant_search``).

A weight without a λ has no kink: steps 2 and 4 leave it as it is.

Yu, Vishwanathan, Günter and Schraudolph (2010) showed that setting entries of p to zero (step 2)
breaks the proof of convergence: p may become almost orthogonal to the pseudo-gradient while H is
well conditioned. We check that angle, and clear the memory where it is too wide or where no trial
succeeds: the next direction is then steepest descent, for which the proof holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector, union
from proxqn.run.status import Status
from proxqn.run.watch import Callback
from proxqn.solvers.curvature import scale
from proxqn.solvers.rivals.inverse_bfgs import InverseBFGS, dot
from proxqn.solvers.rivals.needs import refuse_bounds
from proxqn.solvers.rivals.orthant_search import OrthantSearch, Trial
from proxqn.solvers.standing import Goal, Iterate, Solution, Standing, Stop
from proxqn.solvers.working_set import WorkingSet

_ANGLE = 1e-6  # smallest cosine between the direction and steepest descent
_ALL = -1.0  # a level below every |g_j|: a sweep returns all coordinates


@final
@dataclass(frozen=True)
class OWLQN:
    """Settings of OWL-QN.

    By its nature the method touches every parameter: gradient, memory and direction are dense
    vectors. Beyond ``dense_limit`` parameters it works on those that have ever had ``w_j ≠ 0`` or
    ``|g_j| > λ``. No other can move, so objective, line search and certificate stay exact; only the
    curvature pairs lack the entries of parameters at rest.

    Parameters
    ----------
    memory : int
        m, the number of curvature pairs.
    sigma, beta : float
        Fraction of the predicted decrease asked for; factor between trials, or less (to a fifth of
        it) where the refused trial's parabola says so.
    max_trials : int
        Trials in one iteration.
    dense_limit : int
        Largest number of parameters for dense vectors.

    Examples
    --------
    >>> from proxqn.minimization import minimize
    >>> result = minimize(lambda w: ((w[0] - 3.0) ** 2, 2.0 * (w - 3.0)), 1.0, x0=np.zeros(1),
    ...                   solver=OWLQN())
    >>> result.x.round(3)
    array([2.5])
    """

    memory: int = 10
    sigma: float = 1e-4
    beta: float = 0.5
    max_trials: int = 40
    dense_limit: int = 20_000_000

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError(f"memory must be 1 or above, got {self.memory!r}.")
        for name in ("sigma", "beta"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ValueError(f"{name} must lie between 0 and 1, got {getattr(self, name)!r}.")

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
        refuse_bounds(penalty, oracle.n_coordinates, "owl-qn")
        standing = Standing(oracle, penalty, Goal(tol, max_iter, callback, stop))
        return standing.solution(Run(self, standing).solve, start)


@final
class Run:
    """One minimisation.

    Parameters
    ----------
    memory : InverseBFGS, optional
        Where curvature pairs are kept.
    """

    def __init__(
        self, settings: OWLQN, standing: Standing, memory: InverseBFGS | None = None
    ) -> None:
        self.standing, self.penalty = standing, standing.penalty
        self.dense = standing.oracle.n_coordinates <= settings.dense_limit
        self.memory = InverseBFGS(settings.memory) if memory is None else memory
        self.search = OrthantSearch(settings.sigma, settings.beta, settings.max_trials)
        self.gamma = 1.0  # curvature assumed by the first step, before any pair is known

    def solve(self, start: SparseVector) -> Status:
        """Minimise from a starting point; the standing keeps what is found."""
        standing = self.standing
        point = standing.begin(start)
        if point is None:
            return Status.NOT_FINITE
        at, status = self._look(point)
        if status is None:
            self.gamma = scale.measure(point, at)
        while status is None and (status := standing.consult()) is None:
            trial, event = self._iterate(point, at)
            if trial is None:
                return Status.STALLED
            point = trial.line.accept(1.0)
            weights = SparseVector(at.coordinates, trial.w).nonzero()
            standing.advance(
                Iterate(weights, trial.loss, trial.objective),
                step=trial.alpha,
                trials=trial.trials,
                event=event,
            )
            old = at
            at, status = self._look(point)
            at = self._learn(point, old, at)
        return status

    def _look(self, point: Point) -> tuple[WorkingSet, Status | None]:
        """Take the gradient and certify."""
        weights = self.standing.iterate.weights
        if not self.dense:
            return self.standing.look(point, weights)
        sweep = point.sweep(_ALL, weights.coordinates)
        coordinates, g = sweep.gradient.coordinates, sweep.gradient.values
        at = WorkingSet(coordinates, weights.on(coordinates), g, self.penalty.on(coordinates))
        if not math.isfinite(sweep.largest):
            return at, Status.NOT_FINITE
        return at, self.standing.certify(point, at)

    def _iterate(self, point: Point, at: WorkingSet) -> tuple[Trial | None, str]:
        """Search along the quasi-Newton direction; failing that, along steepest descent."""
        event, objective = "", self.standing.iterate.objective
        pseudo = at.penalty.min_norm_subgradient(at.w, at.g)
        for _ in range(2):
            with self.standing.record.clock.timed("memory"):
                p = self._direction(at, pseudo)
            trial = None
            if p is not None:
                trial = self.search.along(point, at, pseudo, p, objective)
            if trial is not None or len(self.memory) == 0:
                return trial, event
            reason = "no step made progress" if p is not None else "direction nearly orthogonal"
            event = f"memory cleared: {reason}"
            self.memory.clear()
            self.search.begin_anew()
        return None, event

    def _direction(self, at: WorkingSet, pseudo: Floats) -> Floats | None:
        """Return p, or None where it is too far from steepest descent."""
        if len(self.memory) == 0:
            return -pseudo / self.gamma
        p = -self.memory.times(pseudo)
        p[(p * pseudo >= 0.0) & (at.penalty.lam > 0.0)] = 0.0
        descent = -dot(p, pseudo)
        size = math.sqrt(dot(p, p) * dot(pseudo, pseudo))
        return p if descent > _ANGLE * size else None

    def _learn(self, point: Point, old: WorkingSet, new: WorkingSet) -> WorkingSet:
        """Store the pair of this step, and return the new point on all coordinates ever seen."""
        if len(new) == len(old) and np.array_equal(new.coordinates, old.coordinates):
            at, gradient = new, old.g
        else:
            coordinates = union(old.coordinates, new.coordinates)
            at = self._on(point, coordinates, new)
            position = old.positions_in(coordinates)
            self.memory.spread(position)
            # No earlier derivative is known for a coordinate just seen: its y is taken as 0.
            gradient = np.where(position >= 0, old.g[position], at.g)
        before = np.zeros(len(at))
        before[np.searchsorted(at.coordinates, old.coordinates)] = old.w
        s = at.w - before
        with self.standing.record.clock.timed("memory"):
            self.memory.append(s, at.g - gradient + at.penalty.l2 * s)
        return at

    def _on(self, point: Point, coordinates: Ints, at: WorkingSet) -> WorkingSet:
        w = SparseVector(at.coordinates, at.w).on(coordinates)
        g = SparseVector(at.coordinates, at.g).including(coordinates, point.gradient)
        return WorkingSet(coordinates, w, g.values, self.penalty.on(coordinates))
