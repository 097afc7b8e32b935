"""One λ and one ridge for all weights: the penalty of every paper, and of most fits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Ints


@final
@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``Ω(w) = lam ‖w‖₁ + (l2/2) ‖w‖²``; with the default ``l2 = 0``, the plain ℓ1 norm.

    λ multiplies the norm against the *sum* of the losses, as CRFsuite's ``c1`` does; its ``c2`` is
    half of ``l2``.

    Examples
    --------
    >>> net = ElasticNet(lam=1.0)
    >>> net.on(np.array([4, 7])).prox(np.array([3.0, -2.5]), curvature=1.0)
    array([ 2. , -1.5])
    """

    lam: float
    l2: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.lam, int | float | np.number) and 0.0 < self.lam < math.inf):
            raise ValueError(
                f"lam must be a finite number above 0, got {self.lam!r}. It multiplies the l1 norm "
                "against the sum of the losses; start from a tenth of the least that leaves all "
                "weights at zero: an estimator's lambda_max(X, y), or proxqn.lambda_max(loss)."
            )
        if not (isinstance(self.l2, int | float | np.number) and 0.0 <= self.l2 < math.inf):
            raise ValueError(f"l2 must be a finite number, 0 or above, got {self.l2!r}.")

    def on(self, coordinates: Ints) -> Local:
        """Return the same numbers for all, as arrays of length 1."""
        return self._local

    @property
    def least(self) -> float:
        """The λ of all."""
        return float(self.lam)

    @cached_property
    def _local(self) -> Local:
        return Local(*(np.array([float(x)]) for x in (self.lam, self.l2, -math.inf, math.inf)))
