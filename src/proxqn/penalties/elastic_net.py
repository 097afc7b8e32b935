"""Penalties: ℓ1, and ℓ1 plus a ridge term."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.problem import Floats, Penalty


@final
@dataclass(frozen=True)
class ElasticNet(Penalty):
    """``Ω(w) = lam ‖w‖₁ + (l2/2) ‖w‖²``; with the default ``l2 = 0``, the plain ℓ1 norm.

    λ multiplies the norm against the *sum* of the losses, as CRFsuite's ``c1`` does; its ``c2`` is
    half of ``l2``.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(lam=1.0).prox(np.array([3.0, -2.5]), curvature=1.0)
    array([ 2. , -1.5])
    """

    lam: float
    l2: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.lam, int | float | np.number) and 0 < self.lam < math.inf):
            raise ValueError(
                f"lam must be a finite number above 0, got {self.lam!r}. It multiplies the l1 norm "
                "against the sum of the losses; start from a tenth of proxqn.lambda_max(oracle)."
            )
        if not (isinstance(self.l2, int | float | np.number) and 0 <= self.l2 < math.inf):
            raise ValueError(f"l2 must be a finite number, 0 or above, got {self.l2!r}.")

    def value(self, w: Floats) -> float:
        """Return Ω(w)."""
        ridge = 0.5 * self.l2 * float(np.square(w).sum()) if self.l2 > 0.0 else 0.0
        return float(self.lam * np.abs(w).sum()) + ridge

    def change(self, w: Floats, d: Floats) -> Floats:
        """Return ``lam (|w_j + d_j| - |w_j|) + l2 d_j (w_j + d_j/2)``.

        Where w_j keeps its sign the first bracket is ±d_j, with no cancellation.
        """
        kept = w * (w + d) > 0.0
        sizes = np.where(kept, np.sign(w) * d, np.abs(w + d) - np.abs(w))
        return self.lam * sizes + self.l2 * d * (w + 0.5 * d)

    def prox(self, v: Floats, curvature: Floats | float) -> Floats:
        """Return argmin_w ``curvature/2 ‖w - v‖² + Ω(w)``: soft threshold, then shrink."""
        size = np.maximum(np.abs(v) - self.lam / curvature, 0.0)
        return np.sign(v) * size / (1.0 + self.l2 / curvature)

    def min_norm_subgradient(self, w: Floats, g: Floats) -> Floats:
        """Return the paper's ∂_j f: ``g_j + λ sgn w_j`` off zero, else ``S(g_j, λ)``."""
        slope = self.lam * np.sign(w)
        if self.l2 > 0.0:
            slope += self.l2 * w
        return g + np.where(w != 0.0, slope, -np.clip(g, -self.lam, self.lam))

    def conjugate(self, g: Floats) -> float:
        """Return ``Σ max(|g_j| - λ, 0)² / (2 l2)``; without a ridge, 0 or infinity."""
        excess = np.maximum(np.abs(g) - self.lam, 0.0)
        if self.l2 > 0.0:
            return float(np.square(excess).sum() / (2.0 * self.l2))
        return 0.0 if not excess.any() else math.inf
