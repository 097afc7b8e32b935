"""The model of curvature that every loss gives: limited-memory BFGS, and how its scale is set.

``B₀ = γD`` with D the oracle's rough diagonal to a power. γ is measured along the first direction
(``scale.py``) and follows the newest pair from then on (``pairs.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import final

import numpy as np

from proxqn.problem.abilities import Diagonal
from proxqn.problem.oracle import Oracle, Point
from proxqn.problem.sparse import Floats, Ints
from proxqn.solvers import inner
from proxqn.solvers.curvature import scale
from proxqn.solvers.curvature.model import Curvature
from proxqn.solvers.curvature.pairs import CompactBFGS
from proxqn.solvers.inner import Direction, Effort
from proxqn.solvers.line_search import Step
from proxqn.solvers.working_set import WorkingSet

_LINEAR = 0.1  # of γ after a step that met no curvature
_VISIT_PAIRS = 8  # pairs: what a visit costs without any


@final
@dataclass(frozen=True)
class Passes:
    """How many passes of coordinate descent an inner problem may take.

    A pass makes 4 m |A| multiply-adds, slow ones, and should not outweigh inference.
    """

    least: int
    most: int
    budget: float  # multiply-adds
    total: int | None = None  # visits in all, in place of the budget: the paper's ⌊d/|A|⌋ passes

    def affordable(self, n_pairs: int, size: int) -> int:
        """Return the passes over a working set of this size."""
        size = max(size, 1)
        if self.total is not None:
            return max(1, min(self.most, self.total // size))
        affordable = self.budget / (4.0 * (n_pairs + _VISIT_PAIRS) * size)
        return int(max(self.least, min(self.most, affordable)))


@final
class QuasiNewton(Curvature):
    """BFGS pairs on the working set.

    Parameters
    ----------
    oracle : Oracle
        Asked for its diagonal, where it has one.
    power : float
        Of the diagonal in B₀: 0 gives the identity.
    """

    def __init__(
        self,
        pairs: CompactBFGS,
        oracle: Oracle,
        *,
        power: float,
        passes: Passes,
        kernels: ModuleType,
    ) -> None:
        self.pairs = pairs
        self._oracle, self._power, self._passes, self._kernels = oracle, power, passes, kernels

    def extend(self, at: WorkingSet, rows: Ints, *, forget: bool = False) -> None:
        """Go to another working set.

        Parameters
        ----------
        rows : array
            Where its variables were in the old one, -1 if nowhere.
        forget : bool
            Begin without pairs.
        """
        if forget:
            self.pairs.clear()
        self.pairs.replace_rows(rows, self.diagonal(at))

    def direction(self, at: WorkingSet, effort: Effort) -> Direction | None:
        """Solve the inner problem with the pairs; None where B is not positive."""
        most = self._passes.affordable(len(self.pairs), len(at))
        return inner.solve(self.pairs, at, effort, max_passes=most, kernels=self._kernels)

    def learn(self, s: Floats, y: Floats, step: Step) -> str:
        """Add a pair, unless it has no curvature."""
        if self.pairs.append(s, y):
            return ""
        if len(self.pairs) == 0:  # all that is known says that the loss is linear here
            self.pairs.gamma *= _LINEAR
        return "pair left out: its curvature s·y is not positive"

    def restrict(self, keep: Ints) -> None:
        """Drop the rows of variables that leave."""
        self.pairs.keep_rows(keep)

    def fall_back(self) -> Curvature | None:
        """There is no other model."""
        return None

    @property
    def usable(self) -> bool:
        """Whether B is positive."""
        return self.pairs.factors() is not None

    def measure_scale(self, point: Point, at: WorkingSet) -> None:
        """Find γ along the first direction from here: one forward pass."""
        self.pairs.gamma = scale.measure(point, at, self.diagonal(at))

    def begin_anew(self, point: Point, at: WorkingSet) -> None:
        """Go back to ``B = γD``, with γ as found here: the old one may be of another place."""
        self.pairs.clear()
        self.measure_scale(point, at)

    def be_cautious(self, at: WorkingSet, objective: float) -> None:
        """Raise γ until steepest descent promises no more than the whole objective.

        Far out the loss is all but linear: the curvature found is rounding, and no step along the
        direction it gives may be short enough.
        """
        slopes = at.penalty.min_norm_subgradient(at.w, at.g)
        promise = float((slopes**2 / self.diagonal(at)).sum()) / self.pairs.gamma
        self.pairs.gamma *= max(promise / max(abs(objective), 1e-300), 1.0)

    def diagonal(self, at: WorkingSet) -> Floats:
        """Return D on the working set."""
        if self._power == 0.0 or not isinstance(self._oracle, Diagonal):
            return np.ones(len(at))
        found: Floats = self._oracle.curvatures(at.coordinates) ** self._power
        # A weight of what a fold's data have not: its derivative never moves, its penalty does.
        return np.where(found > 0.0, found, 1.0)
