"""What a run is seen by from outside: one place for all that this folder knows of a run's rows.

An :class:`Observer` is handed to ``minimize`` as its callback.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, final

import numpy as np

from proxqn.problem import SparseVector
from proxqn.run.status import Status
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher
from replication.runs.records import Outcome

_SCORE_EVERY: Final = 1.25  # an iterate is set aside when training time has grown by this factor
_FIRST_SCORE: Final = 0.01  # seconds
_NEWS_SECONDS: Final = 0.25

Tell = Callable[[float, float, int], None]  # seconds that count, objective, nonzeros


@final
class Observer(Watcher):
    """Ends a run in time, tells of it, and sets iterates aside for scoring.

    Parameters
    ----------
    seconds : float
        Of training, after which the run ends.
    target : float or None
        An objective that is low enough.
    tell : callable
        Given the run's figures now and then.
    keep : bool
        Whether to set iterates aside.
    """

    def __init__(self, seconds: float, target: float | None, tell: Tell, *, keep: bool) -> None:
        self._seconds, self._target, self._tell, self._keeps = seconds, target, tell, keep
        self.reached = False
        self.cpu: dict[int, float] = {}  # by iteration
        self.kept: list[tuple[float, SparseVector]] = []
        self._keep_at = 0.0
        self._told_at = -np.inf

    def see(self, iterate: Iterate) -> None:
        """Note the processor's seconds; keep the weights now and then."""
        row = iterate.row
        self.cpu[row.iteration] = iterate.cpu_seconds
        if self._keeps and row.seconds >= self._keep_at:
            self.kept.append((row.seconds, iterate.weights))
            self._keep_at = max(_SCORE_EVERY * row.seconds, _FIRST_SCORE)

    def __call__(self, row: Row) -> bool:
        """Say whether to stop."""
        # On a shared machine a run waits for its core: that must not cost it iterations.
        spent = min(row.seconds, self.cpu.get(row.iteration, row.seconds))
        if time.monotonic() - self._told_at >= _NEWS_SECONDS:
            self._tell(spent, row.objective, row.nnz)
            self._told_at = time.monotonic()
        self.reached = self._target is not None and row.objective <= self._target
        return self.reached or spent >= self._seconds


@final
class Iterates(Watcher):
    """Keeps the weights of every row, the starting point first, until the violation is small."""

    def __init__(self, enough: float) -> None:
        self._enough = enough
        self.weights: list[SparseVector] = []

    def see(self, iterate: Iterate) -> None:
        """Keep the weights."""
        self.weights.append(iterate.weights)

    def __call__(self, row: Row) -> bool:
        """Say whether to stop."""
        return row.kkt <= self._enough


def outcome_of(status: Status, *, reached: bool) -> Outcome:
    """Return why a run ended, in this folder's words."""
    if status.success:
        return Outcome.CONVERGED
    match status:
        case Status.CALLBACK:
            return Outcome.TARGET if reached else Outcome.TIME
        case Status.STALLED:
            return Outcome.STALLED
        case _:
            return Outcome.FAILED
