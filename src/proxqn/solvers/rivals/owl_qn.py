"""Orthant-wise limited-memory quasi-Newton (Andrew and Gao 2007).

The objective is smooth within an orthant. Each iteration chooses the orthant that the steepest
descent direction points into, takes the L-BFGS direction there, and searches along the path of its
projections onto that orthant:

1. pseudo-gradient ``◇f``: the min-norm subgradient of f;
2. direction ``p = -H ◇f`` by the two-loop recursion, entries set to zero where their sign is not
   that of ``-◇f``;
3. orthant ``ξ_j = sgn w_j``, or ``sgn(-◇f_j)`` where ``w_j = 0``;
4. trials ``w(α) = π(w + αp; ξ)`` until ``f(w(α)) ≤ f(w) + σ ◇f·(w(α) - w)``. The decrease asked for
   is that of the projected step, which is never positive; asking for that of ``αp`` may demand
   what the projected step cannot give.

The first α is 1 in Andrew and Gao's program and in libLBFGS. With m = 10 pairs, gathered in several
orthants, the direction is often too long: on OCR three in ten unit steps are refused between a
relative error of 4·10⁻³ and 10⁻³ (with m = 5 hardly any). Each trial tells, by the parabola through
its value, how long the step should have been; the first α is a running mean of that, at most 1.

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

from proxqn.problem import Floats, Ints, MeteredOracle, Oracle, Penalty, SparseVector, union
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.curvature import scale
from proxqn.solvers.recording import Callback, Point, Recorder, Solution
from proxqn.solvers.working_set import WorkingSet, gather

_ROUNDING = 8 * np.finfo(float).eps  # relative error of a sum of losses, with room
_CURVATURE = 1e-12  # a pair needs sᵀy above this times |s||y|
_ANGLE = 1e-6  # smallest cosine between the direction and steepest descent
_ALL = -1.0  # a level below every |g_j|: a sweep returns all coordinates
_MIN_REACH, _MAX_ASIDE = 0.25, 2.0  # smallest first α; most that one search can say about it
_MIN_FACTOR = 0.2  # of beta: the shortest next trial


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
    ) -> Solution:
        """Minimise ℓ + Ω from a starting point until the gap is at most ``tol·f``."""
        record = Recorder(
            MeteredOracle(oracle), penalty, tol=tol, max_iter=max_iter, callback=callback
        )
        run = _Run(self, record)
        return record.solution(run.solve, start)


@final
@dataclass(frozen=True)
class _Trial:
    """An accepted point of the line search."""

    w: Floats
    loss: float
    objective: float
    alpha: float
    trials: int


@final
class _Run:
    """One minimisation and its state."""

    def __init__(self, settings: OWLQN, record: Recorder) -> None:
        self.settings, self.record = settings, record
        self.oracle, self.penalty = record.oracle, record.penalty
        dense = self.oracle.n_coordinates <= settings.dense_limit
        self.level = _ALL if dense else self.penalty.lam
        self.memory = InverseBFGS(settings.memory)
        self.gamma = 1.0  # curvature assumed by the first step, before any pair is known
        self.reach = 1.0  # the first α of a search

    def solve(self, start: SparseVector) -> Status:
        record = self.record
        status = record.begin(start)
        if status is not None:
            return status
        at, status = self._look(record.point.weights, record.point.loss)
        if status is None:
            self.gamma = scale.measure(self.oracle, self.penalty, at, record.point.loss)
        while status is None and (status := record.consult()) is None:
            trial, event = self._iterate(at)
            if trial is None:
                return Status.STALLED
            self.oracle.accept(1.0)
            weights = SparseVector(at.coordinates, trial.w).nonzero()
            point = Point(weights, trial.loss, trial.objective)
            record.advance(point, step=trial.alpha, trials=trial.trials, event=event)
            old = at
            at, status = self._look(weights, trial.loss)
            at = self._learn(old, trial.w, at)
        return status

    def _look(self, weights: SparseVector, loss: float) -> tuple[WorkingSet, Status | None]:
        """Take the gradient and certify."""
        if self.level != _ALL:
            return self.record.look(self.level, weights, loss)
        at, sweep = gather(self.oracle, weights, _ALL)
        return at, self.record.certify(at, sweep, loss)

    def _iterate(self, at: WorkingSet) -> tuple[_Trial | None, str]:
        """Search along the quasi-Newton direction; failing that, along steepest descent."""
        event = ""
        pseudo = self.penalty.min_norm_subgradient(at.w, at.g)
        for _ in range(2):
            with self.record.timed("memory"):
                p = self._direction(pseudo)
            trial = self._search(at, pseudo, p) if p is not None else None
            if trial is not None or len(self.memory) == 0:
                return trial, event
            reason = "no step made progress" if p is not None else "direction nearly orthogonal"
            event = f"memory cleared: {reason}"
            self.memory.clear()
            self.reach = 1.0
        return None, event

    def _direction(self, pseudo: Floats) -> Floats | None:
        """Return p, or None where it is too far from steepest descent."""
        if len(self.memory) == 0:
            return -pseudo / self.gamma
        p = -self.memory.times(pseudo)
        p[p * pseudo >= 0.0] = 0.0
        descent = -_dot(p, pseudo)
        size = math.sqrt(_dot(p, p) * _dot(pseudo, pseudo))
        return p if descent > _ANGLE * size else None

    def _search(self, at: WorkingSet, pseudo: Floats, p: Floats) -> _Trial | None:
        """Backtrack along the projected path. Each trial is a point of its own, so it is a move."""
        settings, objective = self.settings, self.record.point.objective
        orthant = np.where(at.w != 0.0, np.sign(at.w), -np.sign(pseudo))
        rounding = _ROUNDING * abs(objective)
        alpha = self.reach
        for trial in range(1, settings.max_trials + 1):
            w = at.w + alpha * p
            w[w * orthant <= 0.0] = 0.0
            d = w - at.w
            self.oracle.move(SparseVector(at.coordinates, d).nonzero())
            loss = self.oracle.value_at(1.0)
            value = loss + self.penalty.value(w)
            slope = _dot(pseudo, d)
            needed = -settings.sigma * slope
            allowed = -needed if needed > rounding else rounding
            should = _lowest(slope, value - objective)  # as a multiple of this α
            if d.any() and math.isfinite(value) and value <= objective + allowed:
                reach = math.sqrt(self.reach * min(alpha * should, _MAX_ASIDE))
                self.reach = min(max(reach, _MIN_REACH), 1.0)
                return _Trial(w, loss, value, alpha, trial)
            alpha *= settings.beta * min(max(should / settings.beta, _MIN_FACTOR), 1.0)
        return None

    def _learn(self, old: WorkingSet, w: Floats, new: WorkingSet) -> WorkingSet:
        """Store the pair of this step, and return the new point on all coordinates ever seen."""
        if len(new) == len(old) and np.array_equal(new.coordinates, old.coordinates):
            at, gradient = new, old.g
        else:
            coordinates = union(old.coordinates, new.coordinates)
            at = self._on(coordinates, new)
            position = old.positions_in(coordinates)
            self.memory.spread(position)
            # No earlier derivative is known for a coordinate just seen: its y is taken as 0.
            gradient = np.where(position >= 0, old.g[position], at.g)
        before = np.zeros(len(at))
        before[np.searchsorted(at.coordinates, old.coordinates)] = old.w
        s = at.w - before
        with self.record.timed("memory"):
            self.memory.append(s, at.g - gradient + self.penalty.l2 * s)
        return at

    def _on(self, coordinates: Ints, at: WorkingSet) -> WorkingSet:
        position = at.positions_in(coordinates)
        missing = position < 0
        w, g = at.w[position], at.g[position]
        w[missing] = 0.0
        g[missing] = self.oracle.gradient(coordinates[missing])
        return WorkingSet(coordinates, w, g)


@final
class InverseBFGS:
    """H, the limited-memory approximation of the inverse Hessian (Nocedal and Wright, ch. 7.2)."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._pairs: list[tuple[Floats, Floats, float]] = []  # s, y, sᵀy; oldest first

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def append(self, s: Floats, y: Floats) -> None:
        """Take in a pair, unless its curvature is not positive."""
        sy = _dot(s, y)
        if sy > _CURVATURE * math.sqrt(_dot(s, s) * _dot(y, y)):
            self._pairs = [*self._pairs, (s, y, sy)][-self._memory :]

    def spread(self, position: Ints) -> None:
        """Re-index: entry i comes from ``position[i]``, or is zero if that is -1."""
        known = position >= 0
        self._pairs = [
            (np.where(known, s[position], 0.0), np.where(known, y[position], 0.0), sy)
            for s, y, sy in self._pairs
        ]

    def times(self, v: Floats) -> Floats:
        """Return Hv by the two-loop recursion, with ``H₀ = (sᵀy / yᵀy) I`` of the newest pair."""
        q, scaled = v.copy(), np.empty_like(v)
        weights = []
        for s, y, sy in reversed(self._pairs):
            weights.append(_dot(s, q) / sy)
            q -= np.multiply(y, weights[-1], out=scaled)
        _, y, sy = self._pairs[-1]
        q *= sy / _dot(y, y)
        for (s, y, sy), a in zip(self._pairs, reversed(weights), strict=True):
            q += np.multiply(s, a - _dot(y, q) / sy, out=scaled)
        return q


def _lowest(slope: float, change: float) -> float:
    """Return where ``slope·t + bend·t²`` is lowest, given its value ``change`` at t = 1."""
    bend = change - slope
    if not math.isfinite(bend):
        return 0.0
    return -slope / (2.0 * bend) if bend > 0.0 else math.inf


def _dot(a: Floats, b: Floats) -> float:
    """Return a·b on one thread: BLAS would start its own, and its sums would depend on them."""
    return float(np.einsum("i,i->", a, b))
