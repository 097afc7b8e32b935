"""The average of recent iterates, which may prove more than the last one.

A lower bound on the optimum needs derivatives of at most λ. Scaling them down costs the largest
violation times λ‖w‖₁, while the objective's error is of second order in the violations. On text
these last longest in frequent features and pairs of labels: their curvature is large, what the
model of it gets wrong makes them swing to and fro, and an average of iterates has little of that.
Close to the solution its derivatives are nearly the average of the iterates', which are known; so
whether it is worth the inference that a proof takes can be told beforehand.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep
from proxqn.solvers.recording import Recorder
from proxqn.solvers.stopping import Status
from proxqn.solvers.working_set import WorkingSet, gather

_MOST, _LEAST = 16, 8  # iterates


@final
@dataclass(frozen=True)
class _Iterate:
    w: Floats
    g: Floats
    entropy: float  # of the model, summed over the samples


@final
class RecentIterates:
    """The last iterates, on all variables of their working sets."""

    def __init__(self) -> None:
        self._coordinates: Ints = np.empty(0, dtype=np.int64)
        self._newest: Ints = self._coordinates  # of the newest working set
        self._place: Ints = self._coordinates  # where these are
        self._iterates: deque[_Iterate] = deque(maxlen=_MOST)

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

    def _widen(self, at: WorkingSet) -> None:
        """Make room for other variables."""
        before = self._coordinates if self._iterates else np.empty(0, dtype=np.int64)
        both = np.sort(np.concatenate([before, at.coordinates]), kind="stable")  # two sorted runs
        self._coordinates = both[np.diff(both, prepend=-1) > 0]
        self._newest = at.coordinates
        self._place = np.searchsorted(self._coordinates, at.coordinates)
        old = np.searchsorted(self._coordinates, before)
        for i, iterate in enumerate(self._iterates):
            w, g = np.zeros((2, len(self._coordinates)))
            g[self._place] = at.g
            w[old], g[old] = iterate.w, iterate.g
            self._iterates[i] = _Iterate(w, g, iterate.entropy)

    def clear(self) -> None:
        """Forget all."""
        self._iterates.clear()
        self._newest = np.empty(0, dtype=np.int64)

    def would_end(self, record: Recorder) -> bool:
        """Whether their average would end the run, if the variables not held do not forbid it."""
        if len(self._iterates) < _LEAST:
            return False
        mean = self._mean()
        entropy = float(np.mean([iterate.entropy for iterate in self._iterates]))
        inside = Sweep(
            SparseVector(mean.coordinates, mean.g), float(np.abs(mean.g).max(initial=0.0))
        )
        loss = entropy + float((mean.w * mean.g).sum())
        return record.proved_by(mean, inside, loss) is not None

    def look(self, record: Recorder, oracle: Oracle) -> Status | None:
        """Look at all variables at the average, and bring the oracle back to the newest iterate.

        All are forgotten: another average is worth a look only once there are other iterates.
        """
        mean, newest = self._mean(), self._iterates[-1]
        self.clear()
        way = mean.w - newest.w
        loss = _go(oracle, SparseVector(self._coordinates, way))
        if not math.isfinite(loss):
            return None
        at, sweep = gather(oracle, mean.weights, record.penalty.lam)
        status = record.bound_by(at, sweep, loss)
        if status is None:
            _go(oracle, SparseVector(self._coordinates, -way))
        return status

    def _mean(self) -> WorkingSet:
        w, g = (
            np.mean([getattr(iterate, name) for iterate in self._iterates], axis=0)
            for name in ("w", "g")
        )
        return WorkingSet(self._coordinates, w, g)


def _go(oracle: Oracle, way: SparseVector) -> float:
    oracle.move(way)
    loss = oracle.value_at(1.0)
    if math.isfinite(loss):
        oracle.accept(1.0)
    return loss
