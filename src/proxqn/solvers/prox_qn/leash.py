"""Weights of columns with outliers: how far a step may take them.

A value of a billion among ones makes the loss nearly a hinge in its column's weight: enormously
steep on one side of a point next to zero, flat on the other. No quadratic model tells more than one
side. So such a weight goes on a leash: a step moves it no further than its reach, which grows
where it goes on in the same direction and shrinks where it has gone too far.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import final

import numpy as np

from proxqn.problem.oracle import NOTHING
from proxqn.problem.penalty import Local
from proxqn.problem.sparse import Ints
from proxqn.problem.units import UnitsFound
from proxqn.solvers.working_set import WorkingSet

_LONGER, _SHORTER = 4.0, 0.5
_AT_END = 0.9  # of the reach
_FAR_TOO_LONG = 1 / 64  # steps of which so little was taken: these weights are to blame
_TIGHT = 1e-3
_WORTH_IT = 1e-7  # of the objective


@final
class Leash:
    """The reach of a few weights.

    Parameters
    ----------
    found : UnitsFound, optional
        Whose outlying weights these are; none without.
    """

    def __init__(self, found: UnitsFound | None) -> None:
        self._coordinates = NOTHING if found is None else found.outlying
        self._resolved = found is None or found.resolved
        self._reach = np.full(len(self._coordinates), np.nan)
        self._loosened = math.inf  # the objective when that was done last
        self._typical = math.nan  # the curvature of weights that are on no leash

    def on(self, at: WorkingSet, loss: float) -> WorkingSet:
        """Return the working set with bounds around these weights.

        Parameters
        ----------
        loss : float
            At first a weight may go where the loss would be zero, were it linear.
        """
        here, mine = self._places(at)
        if not len(here):
            return at
        w, g = at.w[here], at.g[here]
        unknown = mine[~np.isfinite(self._reach[mine])]
        if len(unknown):
            slopes = np.abs(g[~np.isfinite(self._reach[mine])])
            self._reach[unknown] = max(abs(loss), 1.0) / np.maximum(slopes, 1e-300)
        reach, n = self._reach[mine], len(at)
        lam, l2, lower, upper = (np.array(np.broadcast_to(x, n)) for x in at.penalty.arrays)
        lower[here] = np.maximum(lower[here], w - reach)
        upper[here] = np.minimum(upper[here], w + reach)
        return replace(at, penalty=Local(lam, l2, lower, upper))

    def learn(self, before: WorkingSet, after: WorkingSet, alpha: float) -> None:
        """See how these weights came along with a step of this length."""
        here, mine = self._places(before)
        if not len(here):
            return
        self._note_curvature(before, after, here)
        local = before.penalty.take(here)
        s = after.w[here] - before.w[here]
        wanted = -local.min_norm_subgradient(after.w[here], after.g[here])
        reach = self._reach[mine]
        moved, turned = s != 0.0, s * wanted < 0.0
        on = moved & ~turned & (np.abs(s) >= _AT_END * reach)
        reach = np.where(on, _LONGER * reach, reach)
        if alpha < _FAR_TOO_LONG:
            reach = np.where(moved, np.minimum(reach, np.abs(s)), reach)
        self._reach[mine] = np.where(moved & turned, _SHORTER * np.abs(s), reach)

    def tighten(self) -> bool:
        """Let these weights hardly move; False where there are none."""
        self._reach *= _TIGHT
        return len(self._reach) > 0

    def loosen(self, objective: float) -> None:
        """Forget how these weights came along, unless that has just been in vain."""
        if objective < self._loosened - _WORTH_IT * abs(objective):
            self._loosened = objective
            self._reach[:] = np.nan

    def least_left(self, at: WorkingSet) -> float:
        """Return what these weights may still gain, were they curved as others are.

        A model that has met a steep side promises next to nothing of them.
        """
        if not self._resolved:
            return math.inf
        here, _ = self._places(at)
        if not len(here) or not self._typical > 0.0:
            return 0.0
        slopes = at.penalty.take(here).min_norm_subgradient(at.w[here], at.g[here])
        return 0.5 * float(np.square(slopes).sum()) / self._typical

    def _note_curvature(self, before: WorkingSet, after: WorkingSet, here: Ints) -> None:
        s, y = np.abs(after.w - before.w), np.abs(after.g - before.g)
        s[here] = 0.0
        moved = s > 0.0
        if moved.any():
            self._typical = float(np.median(y[moved] / s[moved]))

    def _places(self, at: WorkingSet) -> tuple[Ints, Ints]:
        """Return where these weights are in a working set, and which of them."""
        if not len(self._coordinates):
            return self._coordinates, self._coordinates
        place = at.positions_in(self._coordinates)
        mine = np.flatnonzero(place >= 0)
        return place[mine], mine
