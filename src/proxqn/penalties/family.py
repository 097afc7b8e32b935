"""The penalties of a path: ``Ω_λ = Ω₀ + λR``, one for each λ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.penalties.elastic_net import ElasticNet
from proxqn.penalties.separable import Separable
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import SparseVector

Family = Callable[[float], Penalty]


@final
@dataclass(frozen=True)
class Scaled:
    """``λ Σ_j c_j |w_j| + ½ (l2 + λ·l2_ratio) ‖w‖²``, within bounds.

    Examples
    --------
    >>> Scaled(l2=1.0, l2_ratio=0.5)(4.0)
    ElasticNet(lam=4.0, l2=3.0)
    """

    factors: Any = 1.0  # c, a number or an array
    l2: Any = 0.0
    l2_ratio: float = 0.0
    bounds: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2_ratio) and self.l2_ratio >= 0.0):
            raise ValueError(f"l2_ratio must be finite, 0 or above, got {self.l2_ratio!r}.")

    def __call__(self, lam: float) -> Penalty:
        """Return the penalty at a λ."""
        plain = np.ndim(self.factors) == 0 and np.ndim(self.l2) == 0 and self.bounds is None
        l2 = self.l2 + lam * self.l2_ratio
        if plain:
            return ElasticNet(lam * float(self.factors), l2)
        lower, upper = self.bounds or (-math.inf, math.inf)
        return Separable(lam * np.asarray(self.factors, dtype=np.float64), l2, lower, upper)


def size(family: Family, lam: float, w: SparseVector) -> float:
    """Return R(w), what λ multiplies: two penalties of the family tell."""
    return (family(2.0 * lam).value(w) - family(lam).value(w)) / lam
