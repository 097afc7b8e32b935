"""How far an iterate is from the optimum, as a model of the curvature tells it: no proof.

A proof compares with all weights that there are, and lags: the error of its dual point is of the
order of the square root of the objective's. An estimate asks how much a quadratic model promises,

    E = -min_d  gᵀd + dᵀBd/2 + Ω(w + d) - Ω(w),

over all variables that a look has found. Near the solution, with B near the Hessian, that is the
error itself. Where curvature can be drawn, B is drawn for the purpose, with hardly any ridge: the
model that leads the way (``curvature/draw_model.py``) has one to be cautious, and a cautious model
promises too little where features are nearly the same. Elsewhere B is that of the pairs.

What is nearly the same also makes coordinate descent slow. So it takes turns with conjugate
gradients on the weights off zero.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from types import ModuleType
from typing import final

import numpy as np

from proxqn.problem.abilities import Draws
from proxqn.problem.oracle import Point
from proxqn.problem.sparse import Floats, SparseColumns
from proxqn.run.trace import Trace
from proxqn.solvers import inner
from proxqn.solvers.curvature.draw_model import SampledModel
from proxqn.solvers.curvature.pairs import CompactBFGS
from proxqn.solvers.inner import Effort
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet

_FAR = 30.0  # times what would be enough: there no estimate is asked for
_MANY = 200_000  # variables, of which an estimate costs as much as ten iterations
_ROWS, _OF_EACH = 2000, 3  # drawn; and so many for each variable, one if entries are many:
_ENTRIES = 1e6
_OTHER_SEED = 0x5EED  # apart from the run's: draws that have led the way tell too little
_RIDGE = 0.01  # mean squares of an entry
_HEAD = 3e7  # multiply-adds to write out a block of B at most
_TURNS, _PASSES, _GRADIENTS = 5, 5, 15  # of both; passes and conjugate gradients in each
_SETTLED = 0.05  # of the promise: a turn that adds less is the last
_NEAR = 3.0  # times what would be enough: farther off nothing is told but when to look again
_CLOSE = 1e-3  # of the violation: how closely coordinate descent solves
_SHORTER = 1.0, 0.5, 0.25, 0.1, 0.03  # of a step of conjugate gradients
_APART, _LATE = 8, 0.1  # iterations between estimates; of the iterations so far, if that is more
_FEW_PAIRS = 10  # tell nothing
_FEWEST_PAIRS = 3  # where there will be no more: many times more is true than they tell
_PAIRS_TELL = 3.0  # times more is true: B is too large where no pair has been
_TRUST = 4.0  # times: so far may one estimate by pairs be from what the last one leaves
_MOST = 10.0  # times more than it told is believed of a model
_WINDOW, _SHARE = 5, 0.12  # iterations; of those so far, if that is more
_SLOWEST = 0.8  # of the gain of one such window to that of the one before
_SOON, _MOSTLY = 3, 0.6  # iterations, where that share of what was missing has been gained


class Quadratic(ABC):
    """B on a working set."""

    diagonal: Floats

    @abstractmethod
    def times(self, v: Floats) -> Floats:
        """Return Bv."""

    @abstractmethod
    def descend(self, at: WorkingSet, effort: Effort) -> Floats:
        """Return d after a few passes of coordinate descent from 0."""


@final
class Drawn(Quadratic):
    """``ρI + JᵀJ`` with J drawn at the point."""

    def __init__(self, columns: SparseColumns, kernels: ModuleType, n_jobs: int) -> None:
        J = columns.start, columns.row, columns.value, columns.n_rows
        self._product = kernels.DrawnProduct(*J, _RIDGE, n_jobs)
        alike = replace(columns, known=1.0)  # the ridge is that of the product
        self._model = SampledModel(alike, _RIDGE, kernels, budget=_HEAD, n_jobs=n_jobs)
        self.diagonal = self._product.diagonal()  # roughly: it scales steps

    def times(self, v: Floats) -> Floats:
        """Return ρv + Jᵀ(Jv)."""
        found = np.empty_like(v)
        self._product.times(v, found)
        return found

    def descend(self, at: WorkingSet, effort: Effort) -> Floats:
        """Return d of ``SampledModel``."""
        return self._model.solve(at, effort, rough=True).d


@final
class Paired(Quadratic):
    """B of the pairs; those must have factors."""

    def __init__(self, pairs: CompactBFGS, kernels: ModuleType) -> None:
        factors = pairs.factors()
        assert factors is not None
        self._pairs, self._kernels, self._base = pairs, kernels, factors.base
        self._rows = factors.rows[:, : 2 * factors.n_pairs].astype(np.float64)
        self._signs = np.resize([1.0, -1.0], 2 * factors.n_pairs)
        self.diagonal = factors.diagonal

    def times(self, v: Floats) -> Floats:
        """Return γDv + P(Pᵀv) - C(Cᵀv)."""
        # A matrix product would wake BLAS's threads.
        h = self._signs * np.einsum("jk,j->k", self._rows, v)
        found: Floats = self._base * v + np.einsum("jk,k->j", self._rows, h)
        return found

    def descend(self, at: WorkingSet, effort: Effort) -> Floats:
        """Return d of ``inner.solve``; 0 where B is not positive."""
        found = inner.solve(self._pairs, at, effort, max_passes=_PASSES, kernels=self._kernels)
        return np.zeros_like(at.w) if found is None else found.d


def promise(at: WorkingSet, B: Quadratic, effort: Effort, near: float = math.inf) -> float:
    """Return what the model promises to gain, from below and closely.

    Parameters
    ----------
    near : float
        Above this number a rough answer does.

    Examples
    --------
    >>> from proxqn.problem.penalty import Local
    >>> class Identity(Quadratic):
    ...     diagonal = np.ones(2)
    ...     def times(self, v):
    ...         return v
    ...     def descend(self, at, effort):
    ...         return at.penalty.prox(at.w - at.g, 1.0) - at.w
    >>> one = np.ones(1)
    >>> lasso = Local(one, 0 * one, -np.inf * one, np.inf * one)
    >>> at = WorkingSet(np.arange(2), np.zeros(2), np.array([3.0, 0.5]), lasso)
    >>> promise(at, Identity(), Effort(0.0, seed=0))  # the first may gain (3 - 1)²/2
    2.0
    """
    gained = 0.0
    for turn in range(_TURNS):
        before = gained
        for step in (_descent, _conjugate_gradients):
            z = step(at, B, replace(effort, seed=effort.seed + turn))
            Bz = B.times(z)
            gain = _gain(at, z, Bz)
            if gain > 0.0:
                gained, at = gained + gain, at.moved(at.w + z, at.g + Bz)
            if gained > near:
                return gained
        if gained - before <= _SETTLED * gained:
            break
    return gained


def told_by(at: WorkingSet, d: Floats) -> float:
    """Return what a quadratic model promises of its minimiser d, whatever the model.

    Along d the model's slope is zero at its end, which tells ``dᵀBd``.
    """
    local, w = at.penalty, at.w + d
    slope = float(((local.lam * np.sign(w) + local.l2 * w) * d).sum())
    return 0.5 * (slope - float((at.g * d).sum())) - float(local.change(at.w, d).sum())


def _gain(at: WorkingSet, z: Floats, Bz: Floats) -> float:
    model = float((at.g * z).sum()) + 0.5 * float((z * Bz).sum())
    return -model - float(at.penalty.change(at.w, z).sum())


def _descent(at: WorkingSet, B: Quadratic, effort: Effort) -> Floats:
    return B.descend(at, effort)


def _conjugate_gradients(at: WorkingSet, B: Quadratic, effort: Effort) -> Floats:
    """Return a step on the face of the weights off zero; those that would change sign end at 0."""
    local, face = at.penalty, at.w != 0.0
    r = np.where(face, -(at.g + local.lam * np.sign(at.w) + local.l2 * at.w), 0.0)
    diagonal = B.diagonal + local.l2
    y, p, before = np.zeros_like(r), np.zeros_like(r), math.inf
    for _ in range(_GRADIENTS):
        q = r / diagonal
        square = float((r * q).sum())
        if not square > 0.0:
            break
        p = q + (square / before) * p
        Bp = np.where(face, B.times(p) + local.l2 * p, 0.0)
        curvature = float((p * Bp).sum())
        if not curvature > 0.0:
            break
        along = square / curvature
        y, r, before = y + along * p, r - along * Bp, square
    best, found = 0.0, np.zeros_like(y)
    for share in _SHORTER:
        z = _without_change_of_sign(at, share * y)
        gain = _gain(at, z, B.times(z))
        if gain > best:
            best, found = gain, z
        elif best > 0.0:
            break
    return found


def _without_change_of_sign(at: WorkingSet, y: Floats) -> Floats:
    moved = np.where(at.w * (at.w + y) < 0.0, 0.0, at.w + y)
    if at.penalty.bounded:
        moved = np.clip(moved, at.penalty.lower, at.penalty.upper)
    return moved - at.w


def foretold(trace: Trace) -> float:
    """Return what is left to gain if the objective goes on falling as it did: a geometric series.

    Examples
    --------
    >>> def rows(count):
    ...     from types import SimpleNamespace
    ...     return [SimpleNamespace(objective=1.0 + 0.5**k) for k in range(count)]
    >>> f"{foretold(rows(41)):.6e}", f"{0.5**40:.6e}"
    ('9.094947e-13', '9.094947e-13')
    """
    window = max(_WINDOW, int(_SHARE * len(trace)))
    if len(trace) <= 2 * window:
        return 0.0
    first, middle, last = (trace[-1 - k * window].objective for k in (2, 1, 0))
    before, gained = first - middle, middle - last
    if not (before > 0.0 and gained > 0.0):
        return 0.0
    ratio = min(gained / before, _SLOWEST)
    return gained * ratio / (1.0 - ratio)


@final
class Estimates:
    """When a run asks for an estimate, and what the last one foretold.

    Parameters
    ----------
    seed : int
        Of the draws.
    """

    def __init__(self, standing: Standing, kernels: ModuleType, seed: int) -> None:
        self._standing, self._kernels, self._seed = standing, kernels, seed
        self._iteration = 0  # of the last estimate
        self._objective = self._promise = math.inf  # there, and what the model told
        self._estimate = math.inf  # that it was made of
        self._short = 1.0  # by what factor it tells too little

    def calls_for_a_look(self) -> bool:
        """Whether most of what the last one foretold, before the run may end, has been gained."""
        if not math.isfinite(self._promise):
            return False
        standing, objective = self._standing, self._standing.iterate.objective
        missing = self._short * self._promise - (objective - standing.enough)
        waited = standing.record.iteration - self._iteration
        return waited >= _SOON and self._objective - objective >= _MOSTLY * missing

    def due(self) -> bool:
        """Whether the next look is to make one: they cost more than a look itself."""
        if not self._standing.by_estimate:
            return False
        if not math.isfinite(self._promise):
            return len(self._standing.iterate.weights.values) > 0
        apart = max(_APART, int(_LATE * self._iteration))
        waited = self._standing.record.iteration - self._iteration
        return waited >= apart or self.calls_for_a_look()

    def far(self, at: WorkingSet, d: Floats) -> bool:
        """Whether it is too early: a direction promises far more than there may be left."""
        standing = self._standing
        times = _FAR if len(at) < _MANY else _NEAR
        # A direction that promises a loss comes of a model that broke down.
        return abs(told_by(at, d)) > times * (standing.iterate.objective - standing.enough)

    def make(
        self,
        point: Point,
        at: WorkingSet,
        pairs: CompactBFGS,
        drawn: SparseColumns | None = None,
        *,
        last: bool = False,
        however_far: bool = False,
    ) -> float:
        """Return how far the point is from the optimum; infinite where no model tells, or too far.

        Parameters
        ----------
        at : WorkingSet
            All that may move.
        drawn : SparseColumns, optional
            What has just been drawn there; used where it tells all but little.
        last : bool
            Nothing more will be learned: a few pairs have to do.
        however_far : bool
            Tell it far from the end, too, which takes longer: not of many variables.
        """
        standing = self._standing
        B = self._model(point, at, pairs, drawn)
        objective, iteration = standing.iterate.objective, standing.record.iteration
        few = _FEWEST_PAIRS if last else _FEW_PAIRS
        if B is None or (isinstance(B, Paired) and len(pairs) < few):
            return math.inf
        effort = Effort(_CLOSE * at.violation, seed=self._seed)
        however_far &= len(at) < _MANY
        near = math.inf if however_far else _NEAR * (objective - standing.enough)
        with standing.record.clock.timed("estimate"):
            told = promise(at, B, effort, near)
        self._check(told, objective)
        left = self._estimate - (self._objective - objective)
        self._iteration, self._promise, self._objective = iteration, told, objective
        self._estimate = self._short * told if told <= near else math.inf
        if isinstance(B, Paired) and told <= near:
            so_far = foretold(standing.record.trace)
            times = _PAIRS_TELL * max(1.0, _FEW_PAIRS / max(len(pairs), 1))
            found = max(max(self._short, times) * told, so_far)
            if math.isfinite(left) and found > 0.0:
                found *= math.sqrt(min(max(left / found, 1.0 / _TRUST), _TRUST))
            self._estimate = found
        return self._estimate

    def _check(self, told: float, objective: float) -> None:
        """Learn from what has been gained since the last estimate, beyond what it promised."""
        if math.isfinite(self._promise):
            gained = self._objective - objective + told
            factor = np.clip(gained / max(self._promise, 1e-300), 1.0, _MOST)
            self._short = math.sqrt(self._short * float(factor))

    def _model(
        self, point: Point, at: WorkingSet, pairs: CompactBFGS, drawn: SparseColumns | None
    ) -> Quadratic | None:
        sure = drawn is not None and drawn.known > 1.0
        if not sure and isinstance(point, Draws):
            drawn = self._draw(point, at)
        if drawn is not None:
            return Drawn(drawn, self._kernels, self._standing.oracle.n_jobs)
        return Paired(pairs, self._kernels) if pairs.factors() is not None else None

    def _draw(self, point: Draws, at: WorkingSet) -> SparseColumns | None:
        seed = self._seed + _OTHER_SEED
        once = point.draw(at.coordinates, len(at) + _ROWS, seed)
        if once is None or _OF_EACH * len(once.value) > _ENTRIES:
            return once
        return point.draw(at.coordinates, _OF_EACH * len(at) + _ROWS, seed)
