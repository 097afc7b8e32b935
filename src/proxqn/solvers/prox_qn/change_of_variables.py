"""Solving in variables of one size, where a loss has data that are not (``problem/units.py``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from proxqn.problem.abilities import Rescalable
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector
from proxqn.problem.units import InUnits, Units, UnitsFound
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher
from proxqn.solvers.standing import Goal, Solution


@final
@dataclass(frozen=True)
class Change:
    """A problem in other variables."""

    oracle: Oracle
    penalty: Penalty
    found: UnitsFound

    def shown(self, goal: Goal) -> Goal:
        """Return the goal, where a watcher is shown the user's weights."""
        callback = goal.callback
        if not isinstance(callback, Watcher):
            return goal
        return replace(goal, callback=_Shown(callback, self.found.units))

    def undone(self, solution: Solution) -> Solution:
        """Return a solution in the user's variables; what was learned is of the others."""
        weights = self.found.units.original(solution.weights)
        return replace(solution, weights=weights, memory=None, rescaled=True)


def in_units(oracle: Oracle, penalty: Penalty, start: SparseVector) -> Change | None:
    """Return the same problem in variables of one size; None where they are."""
    rescaled = oracle.rescaled(start) if isinstance(oracle, Rescalable) else None
    if rescaled is None:
        return None
    found = rescaled.found
    return Change(rescaled.oracle, InUnits(penalty, found.units), found)


@final
class _Shown(Watcher):
    def __init__(self, watcher: Watcher, units: Units) -> None:
        self._watcher, self._units = watcher, units

    def see(self, iterate: Iterate) -> float | None:
        return self._watcher.see(replace(iterate, weights=self._units.original(iterate.weights)))

    def __call__(self, row: Row) -> bool | None:
        return self._watcher(row)
