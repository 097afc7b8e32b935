"""An average of recent iterates, which may prove more than the last one.

A lower bound on the optimum needs derivatives of at most λ. Scaling them down costs the largest
violation times λ‖w‖₁, while the objective's error is of second order in the violations. On text
these last longest in frequent features and pairs of labels: their curvature is large, what the
model of it gets wrong makes them swing to and fro, and a well-chosen average of iterates has little
of that. Close to the solution its derivatives are nearly the same average of the iterates', which
are known: which one is best (``best_average``), and whether it is worth the inference that a
proof takes, can be told beforehand.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, Ints, union
from proxqn.run.status import Status
from proxqn.solvers.certificate.best_average import best_average
from proxqn.solvers.certificate.bound import largest_scale
from proxqn.solvers.standing import Standing
from proxqn.solvers.working_set import WorkingSet, gather

_MOST, _LEAST = 32, 4  # iterates
_ROOM = 1 << 22  # numbers: their weights and derivatives take 64 MB at most
_PATIENCE = 4.0  # iterations until the gap can be expected to have halved


@final
@dataclass(frozen=True)
class _Iterate:
    w: Floats
    g: Floats
    entropy: float  # ℓ(w) - ⟨w, g⟩: of the model, summed over the samples


@final
class RecentIterates:
    """The last iterates, on all variables of their working sets.

    They serve where violations must be scaled away: without ridge terms, bounds and unpenalised
    weights, which give them a finite price or make them infinitely dear.

    Parameters
    ----------
    room : int
        Numbers to keep at most, of weights and as many of derivatives.
    """

    def __init__(self, standing: Standing, *, room: int = _ROOM) -> None:
        self._standing, self._room = standing, room
        self._iterates: deque[_Iterate] = deque(maxlen=_MOST)
        self._shares: Floats = np.empty(0)  # of the iterates in the average to look at
        self.clear()

    def __len__(self) -> int:
        return len(self._iterates)

    def clear(self) -> None:
        """Forget all."""
        self._iterates.clear()
        self._coordinates: Ints = np.empty(0, dtype=np.int64)
        self._newest: Ints = self._coordinates  # of the newest working set
        self._place: Ints = self._coordinates  # where these are
        self._wait = _LEAST  # for so many iterates before it is worth asking

    def add(self, at: WorkingSet, loss: float) -> None:
        """Take in an iterate.

        Outside its working set weights are zero; derivatives are taken to be those of before, or
        of the first iterate that has them.
        """
        if at.coordinates is not self._newest:
            self._widen(at)
        g = self._iterates[-1].g.copy() if self._iterates else np.zeros(len(self._coordinates))
        w = np.zeros_like(g)
        w[self._place], g[self._place] = at.w, at.g
        self._iterates.append(_Iterate(w, g, loss - float((at.w * at.g).sum())))
        while len(self._iterates) * len(w) > self._room:
            self._iterates.popleft()
        self._wait -= 1

    def _widen(self, at: WorkingSet) -> None:
        """Make room for other variables."""
        before = self._coordinates
        self._coordinates = union(before, at.coordinates)
        self._newest = at.coordinates
        self._place = np.searchsorted(self._coordinates, at.coordinates)
        old = np.searchsorted(self._coordinates, before)
        for i, iterate in enumerate(self._iterates):
            w, g = np.zeros((2, len(self._coordinates)))
            g[self._place] = at.g
            w[old], g[old] = iterate.w, iterate.g
            self._iterates[i] = _Iterate(w, g, iterate.entropy)

    def would_end(self, point: Point) -> bool:
        """Whether their best average would end the run, if variables not held allow it.

        The farther from that it is, the later it is asked again. ``point`` is the newest iterate's:
        what scaling costs its loss beside the entropy it costs the average's as well.
        """
        if self._wait > 0 or len(self._iterates) < _LEAST:
            return False
        local = self._standing.penalty.on(self._coordinates)
        if local.l2.any() or local.bounded or not local.lam.all():
            return False
        g = np.array([iterate.g for iterate in self._iterates]) / local.lam
        entropies = np.array([iterate.entropy for iterate in self._iterates])
        price, goal = local.value(self._iterates[-1].w), self._standing.enough
        with self._standing.record.clock.timed("memory"):
            shares, bound = best_average(g, entropies, price, goal)
        if shares is None:
            objective = self._standing.iterate.objective
            ratio = (objective - bound) / max(objective - goal, 1e-300)
            self._wait = 1 + int(_PATIENCE * math.log2(max(ratio, 1.0)))
            return False
        self._shares = shares
        s = largest_scale(local, self._best().g)
        conjugate = point.conjugate(s)
        return conjugate is not None and (
            s * float(shares @ entropies) - (conjugate + s * float(entropies[-1])) >= goal
        )

    def prove(self, oracle: Oracle) -> Status | None:
        """Look at all variables at the average; all points of the oracle are spent by it.

        Another one is worth a look only once there are other iterates.
        """
        self._wait = _LEAST
        standing = self._standing
        weights = self._best().weights
        point = oracle.at(weights)
        if not math.isfinite(point.value):
            return None
        at, largest = gather(point, standing.penalty, weights)
        if not math.isfinite(largest):
            return None
        return standing.admit(point, at)

    def _best(self) -> WorkingSet:
        w, g = (
            np.einsum("k,kj->j", self._shares, [getattr(i, name) for i in self._iterates])
            for name in ("w", "g")
        )
        return WorkingSet(self._coordinates, w, g, self._standing.penalty.on(self._coordinates))
