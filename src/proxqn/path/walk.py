"""From λ to λ: each is solved from the solution above it, with what has been learned so far.

Proofs are asked for as long as they come in time; where they lag, as on text with a small λ, the
estimate is what ends a λ, and its row says so.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, final

import numpy as np
from scipy.optimize import OptimizeResult

from proxqn.losses.function import FunctionOracle
from proxqn.minimization import Solver, minimize
from proxqn.path.result import ESTIMATED, PROVED, Path, PathRow
from proxqn.path.segment import Segment
from proxqn.penalties.family import Family, size
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.run.status import Status
from proxqn.solvers.curvature.memory import Memory
from proxqn.solvers.standing import Stop

Watch = Callable[[PathRow], bool | None]


class PathWatcher(ABC):
    """A callback of a path that is shown the weights as well."""

    @abstractmethod
    def see(self, row: PathRow, weights: SparseVector) -> None:
        """Take note of a λ, before the call with its row."""

    @abstractmethod
    def __call__(self, row: PathRow) -> bool | None:
        """Return True to end the path."""


_PATIENCE, _LEAST_PATIENCE = 3.0, 40  # times the λ before took: a proof may take so long
_WITHIN_REACH = 10.0  # times the tolerance: where a gap is larger, the next is not waited for


class PathEnded(Exception):  # noqa: N818
    """The callback or Ctrl-C has ended the path."""


@final
class Walk:
    """The λs solved so far, and how the next one begins."""

    def __init__(
        self,
        loss: Oracle,
        family: Family,
        solver: str | Solver,
        tol: float,
        stop: Stop | None,
        max_iter: int,
        callback: Watch | None,
        initial: Path | None,
        wanted: float,
        beside: Path | None = None,
    ) -> None:
        self._loss, self._family, self._solver = loss, family, solver
        self._tol, self._stop, self._max_iter, self._callback = tol, stop, max_iter, callback
        self._wanted, self._beside = wanted, beside
        self._rows: list[PathRow] = []
        self._columns: list[SparseVector] = []
        self._memory: Memory | None = None
        self._known = {} if initial is None else _by_lam(initial)

    def __len__(self) -> int:
        return len(self._rows)

    def run(self, visit: Callable[[], None]) -> Path:
        """Return the path that a visit makes."""
        stopped = ""
        try:
            visit()
        except PathEnded as ended:
            stopped = str(ended)
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED.value
        return Path(
            self._rows,
            self._columns,
            self._loss.n_coordinates,
            dense=isinstance(self._loss, FunctionOracle),
            complete=not stopped,
            stopped=stopped,
            memory=self._memory,
            wanted=self._wanted,
        )

    @property
    def descending(self) -> list[PathRow]:
        """What has been solved, by λ."""
        return sorted(self._rows, key=lambda row: -row.lam)

    def solve(self, lam: float, why: str, above: PathRow | None) -> PathRow:
        """Solve a λ, from the solution at the one above."""
        if lam in self._known:
            row, column, memory = self._known[lam]
        else:
            column, row, memory = self._minimized(lam, why, above)
        self._rows.append(row)
        self._columns.append(column)
        self._memory = memory or self._memory
        if above is not None:
            row = replace(row, segment=self._bound(above, row))
            self._rows[-1] = row
        if isinstance(self._callback, PathWatcher):
            self._callback.see(row, column)
        if self._callback is not None and self._callback(row):
            raise PathEnded(Status.CALLBACK.value)
        return row

    def _minimized(
        self, lam: float, why: str, above: PathRow | None
    ) -> tuple[SparseVector, PathRow, Memory | None]:
        result = self._minimize(lam, self._start(lam, above))
        row = self._row(lam, result, why)
        if self._stop is None and not row.known and self._loss.convex:
            # No proof came in time, nor is the estimate small enough.
            again = self._minimize(lam, result, stop="estimate", max_iter=self._max_iter)
            row, result = _together(row, self._row(lam, again, why)), again
        return result.weights, row, result.memory

    def _minimize(self, lam: float, start: Any, **more: Any) -> Any:
        settings: dict[str, Any] = {
            "penalty": self._family(lam),
            "x0": start,
            "solver": self._solver,
            "tol": self._tol,
            "stop": self._stop or ("gap" if self._proving else "estimate"),
            "max_iter": self._patience if self._stop is None else self._max_iter,
        }
        result = minimize(self._loss, **(settings | more))
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result

    def _start(self, lam: float, above: PathRow | None) -> Any:
        """Return the solution above, with what the latest run has learned."""
        if above is None:
            return None if self._beside is None else self._beside.at(lam).weights
        at = next(i for i, row in enumerate(self._rows) if row.lam == above.lam)
        start: Any = OptimizeResult()
        start.update(x=self._moved(self._columns[at], above.lam, lam), memory=self._memory)
        return start

    def _moved(self, w: SparseVector, above: float, lam: float) -> SparseVector:
        """Return w with what the path beside gained between two λs; no weight changes its sign."""
        if self._beside is None:
            return w
        there, before = (self._beside.at(x).weights for x in (lam, above))
        moved = w.plus(there).plus(before, -1.0)
        here = w.on(moved.coordinates)
        kept = np.where(here * moved.values < 0.0, 0.0, moved.values)
        return SparseVector(moved.coordinates, kept).nonzero()

    @property
    def _proving(self) -> bool:
        """Whether a proof may come in time: at the last λ it was not far off."""
        if not self._rows:
            return True
        last = self._rows[-1]
        return last.gap <= _WITHIN_REACH * self._tol * abs(last.objective)

    @property
    def _patience(self) -> int:
        took = self._rows[-1].iterations if self._rows else self._max_iter
        return min(max(int(_PATIENCE * took), _LEAST_PATIENCE), self._max_iter)

    def _bound(self, above: PathRow, row: PathRow) -> float:
        proved = above.known == row.known == PROVED
        ends = (r.solved(proved=proved) for r in (above, row))
        return Segment(*ends).worst()[0]

    def _row(self, lam: float, result: Any, why: str) -> PathRow:
        last = result.trace[-1]
        enough, calls = self._tol * abs(result.fun), last.calls
        # A subgradient of zero proves as well, where the loss gives no other proof.
        gap = 0.0 if result.convex and result.kkt == 0.0 else float(result.gap)
        estimate = min(_estimate(result), gap)
        known = PROVED if gap <= enough else ESTIMATED if estimate <= enough else ""
        return PathRow(
            lam=lam,
            objective=float(result.fun),
            gap=gap,
            estimate=estimate,
            size=size(self._family, lam, result.weights),
            nnz=result.nnz,
            known=known,
            status=result.status.name,
            iterations=result.nit,
            forward=float(calls.get("forward", 0.0)),
            backward=float(calls.get("backward", 0.0)),
            sweeps=float(calls.get("sweep", 0.0)),
            draws=float(calls.get("draw", 0.0)),
            seconds=float(last.seconds),
            why=why,
        )


def _estimate(result: Any) -> float:
    """Return the run's estimate of its error; where it made none, what its last residual tells.

    ``f(w) - f* ≤ M ‖w - w*‖₁`` with M the largest entry of the subgradient, and the optimum is
    hardly farther off than w is large.
    """
    if math.isfinite(result.estimate) or not (result.success and result.convex):
        return float(result.estimate)
    return float(result.kkt * np.abs(result.weights.values).sum())


def _together(one: PathRow, other: PathRow) -> PathRow:
    """Return the second of two runs at a λ, with what both took."""
    spent = ("iterations", "forward", "backward", "sweeps", "draws", "seconds")
    return replace(other, **{name: getattr(one, name) + getattr(other, name) for name in spent})


def _by_lam(path: Path) -> dict[float, tuple[PathRow, SparseVector, Memory | None]]:
    """Return what a former path has; its memory belongs to its last λ."""
    last = len(path.trace) - 1
    return {
        row.lam: (row, column, path.memory if i == last else None)
        for i, (row, column) in enumerate(zip(path.trace, path.columns, strict=True))
    }
