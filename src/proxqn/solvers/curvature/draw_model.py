"""A second model of the loss: curvature drawn from the probabilistic model itself.

The Hessian of a log-likelihood is a covariance, so draws from the model estimate it without any
product of the loss: ``B = ρI + JᵀJ`` with a sparse J (``Draws.draw``). What the draws
have missed, BFGS pairs correct: ``B ← B - Bs(Bs)ᵀ/sᵀBs + yyᵀ/sᵀy``. Near the solution this needs a
few iterations where pairs alone need a hundred; far from it the pairs are better, and cheaper.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem.sparse import Floats, Ints, SparseColumns
from proxqn.solvers.inner import Direction, Effort
from proxqn.solvers.working_set import WorkingSet

_FEW_PASSES, _MANY_PASSES = 5, 20  # of coordinate descent
_MANY_COLUMNS = 500  # the head's block of so many, in double precision, is too large for a cache
_PASS_COST = 4  # multiply-adds an entry of J: down and up its column, and the pairs


@final
class SampledModel:
    """B on the rows of the working set.

    Parameters
    ----------
    columns : SparseColumns
        J on the working set.
    ridge : float
        ρ, for directions that no draw has met, in units of the mean square of a draw's entries.
    budget : float
        Multiply-adds that building the model, and each inner problem, may cost.
    single : bool
        Compute in single precision where the model is large.
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        columns: SparseColumns,
        ridge: float,
        kernels: ModuleType = _kernels,
        *,
        budget: float = math.inf,
        single: bool = False,
        n_jobs: int = 1,
    ) -> None:
        unit = float(np.square(columns.value).mean()) if len(columns.value) else 1.0
        unit /= columns.multiplicity * columns.known
        large = len(columns.start) > _MANY_COLUMNS
        kind = kernels.SingleSampledModel if single and large else kernels.SampledModel
        J = columns.start, columns.row, columns.value, columns.n_rows
        self._model = kind(*J, ridge * unit, budget, n_jobs)
        affordable = budget / max(_PASS_COST * len(columns.row), 1)
        self._passes = int(np.clip(affordable, _FEW_PASSES, _MANY_PASSES))

    def append(self, S: Floats, Y: Floats) -> int:
        """Take in pairs, one a row, the oldest first; those without curvature are left out.

        Returns how many are taken in. Many at a time cost little more than a few.
        """
        return int(self._model.append(np.atleast_2d(S), np.atleast_2d(Y)))

    def keep_rows(self, keep: Ints) -> None:
        """Drop the rows of variables that leave the working set."""
        self._model.keep(keep)

    def solve(self, at: WorkingSet, effort: Effort, *, rough: bool = False) -> Direction:
        """Minimise the regularised model, as ``inner.solve`` does.

        Parameters
        ----------
        rough : bool
            Make few passes: far from the solution more are wasted.
        """
        d = np.zeros_like(at.w)
        most = _FEW_PASSES if rough else self._passes
        how = most, effort.tolerance, effort.seed
        passes = self._model.minimize(at.w, at.g, *at.penalty.arrays, *how, d)
        return Direction(d, passes)
