"""⟨w, ∇ℓ(w)⟩ from derivatives that were asked for anyway.

With it a point bounds its conjugate (``mixtures.py``). A solver that proves something has just
swept over all coordinates, and kept those of its weights: nothing is left to compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from proxqn.problem.sparse import Floats, Ints, SparseVector


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
