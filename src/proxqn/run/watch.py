"""Who looks on while a run goes: callbacks, which see rows, and watchers, which see weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from proxqn.problem.sparse import SparseVector
from proxqn.run.trace import Row

Callback = Callable[[Row], bool | None]


@final
@dataclass(frozen=True)
class Iterate:
    """A row of the trace and the weights it is about."""

    row: Row
    weights: SparseVector
    cpu_seconds: float  # of the process since the start, evaluation left out


class Watcher(ABC):
    """A callback that is shown the weights as well; all it does is off the clock."""

    @abstractmethod
    def see(self, iterate: Iterate) -> float | None:
        """Take note of an iterate, before the call with its row; its arrays must not be changed.

        A number that is returned is the iterate's score, and stands in its row of the trace.
        """

    @abstractmethod
    def __call__(self, row: Row) -> bool | None:
        """Return True to stop, as any callback may."""
