"""A run cut into legs, so that it can be resumed and end at the same bits.

A solver carries more than its weights from one iteration to the next: curvature pairs, scores as
they were summed. A run that keeps checkpoints drops all that after every ``every`` iterations and
starts anew from the weights alone, whether it is interrupted or not. The weights after a leg are
then the whole state: resumed from them, the run repeats bit for bit. The price is the curvature
that each leg has to learn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from proxqn.io.checkpoint import Checkpoint
from proxqn.io.container import ModelFileError
from proxqn.minimization import Solver
from proxqn.problem import Oracle, Penalty, SparseVector
from proxqn.run.status import Status
from proxqn.run.trace import Row, Trace
from proxqn.run.watch import Callback, Iterate, Watcher
from proxqn.solvers.standing import Solution, Stop


@final
@dataclass(frozen=True)
class Checkpointed:
    """A solver that runs another in legs and writes a checkpoint after each.

    Parameters
    ----------
    settings : Solver
        The solver of a leg.
    every : int
        Iterations a leg.
    problem : str
        Identifies data and objective in the checkpoints.
    write : callable
        Takes each checkpoint.
    resumed : Checkpoint, optional
        Where to go on; the starting point is ignored then.
    """

    settings: Solver
    every: int
    problem: str
    write: Callable[[Checkpoint], None]
    resumed: Checkpoint | None = None

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
        """Minimise as the solver inside does, iterations counted over all legs."""
        fresh = Checkpoint(start, 0, 0, -math.inf, self.every, self.problem)
        state, trace = self.resumed or fresh, Trace()
        _check_coordinates(state.weights, oracle.n_coordinates)
        while True:
            journal = _Journal(state, trace, callback)
            leg = self.settings.minimize(
                oracle,
                penalty,
                state.weights,
                tol=tol,
                max_iter=max(min(self.every, max_iter - state.iteration), 0),
                callback=journal,
                stop=stop,
            )
            state = journal.close(leg)
            if leg.status is not Status.MAX_ITER or state.iteration >= max_iter:
                gap = max(leg.objective - state.bound, 0.0)
                return replace(leg, gap=gap, trace=trace)
            self.write(state)


def _check_coordinates(weights: SparseVector, n_coordinates: int) -> None:
    """Refuse a checkpoint of weights that the problem does not have, whatever it says it is of."""
    if len(weights.coordinates) and weights.coordinates[-1] >= n_coordinates:
        raise ModelFileError(
            f"the checkpoint has a weight at {weights.coordinates[-1]:,}, but the problem has "
            f"{n_coordinates:,} coordinates. Resume from another."
        )


@final
class _Journal(Watcher):
    """Rows of one leg, counted on from the legs before it."""

    def __init__(self, before: Checkpoint, trace: Trace, callback: Callback | None) -> None:
        self._before, self._trace, self._callback = before, trace, callback
        self._seconds = trace[-1].seconds if len(trace) else 0.0

    def see(self, iterate: Iterate) -> float | None:
        if not isinstance(self._callback, Watcher):
            return None
        return self._callback.see(replace(iterate, row=self._shifted(iterate.row)))

    def __call__(self, row: Row) -> bool | None:
        return None if self._callback is None else self._callback(self._shifted(row))

    def close(self, leg: Solution) -> Checkpoint:
        """Take over the rows of a finished leg and return where the run stands."""
        rows = [self._shifted(row) for row in leg.trace]
        for row in rows[1 if len(self._trace) else 0 :]:  # a leg's first row is the last one before
            self._trace.append(row)
        before, last = self._before, rows[-1]
        if before.bound > leg.objective + 1e-9 * abs(leg.objective):
            raise ModelFileError(
                f"the checkpoint says that nothing is below {before.bound:.10g}, but its weights "
                f"are at {leg.objective:.10g}. Resume from another."
            )
        return replace(
            before,
            weights=leg.weights,
            iteration=last.iteration,
            epoch=last.epoch,
            bound=max(before.bound, leg.objective - leg.gap),
        )

    def _shifted(self, row: Row) -> Row:
        before = self._before
        return replace(
            row,
            iteration=row.iteration + before.iteration,
            epoch=row.epoch + before.epoch,
            gap=max(min(row.gap, row.objective - before.bound), 0.0),
            seconds=row.seconds + self._seconds,
        )
