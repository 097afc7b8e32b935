"""An upper bound of the conjugate of a log-likelihood, from a forward pass that was made anyway.

Let ``ℓ = Σ_i weight_i·(-log P_w(y_i | x_i))``, ``g = ∇ℓ(w)``, ``p_i = P_w(y_i | x_i)`` and H_i the
entropy of the model's distribution P_i of sample i. For ``s ∈ [0, 1]`` the mixtures
``(1-s) δ_{y_i} + s P_i`` of the truth with the model have the mean features whose distance from the
true ones is s·g. The entropy of a mixture bounds the conjugate from above by its negative, and with
``a_i = 1 - s + s p_i`` it is

    -a_i log a_i - s (1 - p_i) log s + s (H_i + p_i log p_i).

Summed over the samples the H_i need no extra inference: ``Σ_i weight_i H_i = ℓ(w) - ⟨w, g⟩``. So

    ℓ*(s g) ≤ s (⟨w, g⟩ - ℓ(w)) - Σ_i weight_i [-a_i log a_i - s (1 - p_i) log s + s p_i log p_i].

The terms in brackets are 0 at s = 0 and s = 1, where the bound is exact. ⟨w, g⟩ is made of
derivatives that were asked for anyway: a solver that proves something has just swept over all
coordinates, and kept those of its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import final

import numpy as np

from proxqn.problem.sparse import Floats, Ints, SparseVector


def slack(losses: Floats, scale: float, weights: Floats | None) -> float:
    """Return ``Σ_i weight_i [-a_i log a_i - s (1 - p_i) log s + s p_i log p_i]``, 0 or above.

    Parameters
    ----------
    losses : array
        ``-log p_i`` of each sample.
    scale : float
        s, from 0 to 1.
    weights : array, optional
        Factors of the samples' losses; ones by default.

    Examples
    --------
    >>> losses = np.array([0.0, np.log(2.0)])
    >>> slack(losses, 0.0, None), round(slack(losses, 0.5, None), 4), slack(losses, 1.0, None)
    (0.0, 0.2158, 0.0)
    """
    if scale in (0.0, 1.0):
        return 0.0
    minus = np.expm1(-losses)  # p - 1
    rest = -scale * minus  # s (1 - p)
    p = 1.0 + minus
    terms = -(1.0 - rest) * np.log1p(-rest) - rest * math.log(scale) - scale * p * losses
    return float((terms if weights is None else weights * terms).sum())


def conjugate(
    scale: float, value: float, inner: float, losses: Floats, weights: Floats | None
) -> float:
    """Return the bound of ``ℓ*(scale·∇ℓ(w))``; infinite where nothing is finite.

    Parameters
    ----------
    value, inner : float
        ℓ(w) and ⟨w, ∇ℓ(w)⟩.
    losses, weights
        As in :func:`slack`.
    """
    if scale == 0.0:
        return 0.0  # ℓ is nowhere below
    bound = scale * (inner - value) - slack(losses, scale, weights)
    return bound if math.isfinite(bound) else math.inf


@final
class InnerProduct:
    """Derivatives at one point, and their inner product with its weights.

    Examples
    --------
    >>> inner = InnerProduct()
    >>> inner.note(np.array([0, 3, 4]), np.array([9.0, 0.5, 2.0]))
    >>> inner.with_weights(SparseVector(np.array([3, 4]), np.array([2.0, -1.0])), np.zeros_like)
    -1.0
    """

    def __init__(self) -> None:
        self._known = SparseVector.empty()
        self._found: float | None = None

    def note(self, coordinates: Ints, derivatives: Floats) -> None:
        """Remember derivatives, unless more are known."""
        if self._found is None and len(coordinates) >= len(self._known.coordinates):
            self._known = SparseVector(coordinates, derivatives.copy())

    def with_weights(self, w: SparseVector, gradient: Callable[[Ints], Floats]) -> float:
        """Return the inner product; derivatives that are not known are asked for."""
        if self._found is None:
            known, at = self._known, np.searchsorted(self._known.coordinates, w.coordinates)
            here = at < len(known.coordinates)
            here[here] = known.coordinates[at[here]] == w.coordinates[here]
            g = np.empty(len(here))
            g[here] = known.values[at[here]]
            if not here.all():
                g[~here] = gradient(w.coordinates[~here])
            self._found = float(g @ w.values)
            self._known = SparseVector.empty()
        return self._found
