"""The other side of the seam: a separable penalty, read as arrays.

A penalty says what it is on any coordinates, ``penalty.on(A) -> Local``, and everything reads those
numbers: the inner problem, the line search, the shrinking rule, the certificate. On coordinate j

    Ω_j(w) = λ_j |w| + (ρ_j / 2) w²   for  lower_j ≤ w ≤ upper_j,   else ∞,

with ``λ_j ≥ 0``, ``ρ_j ≥ 0`` (``l2``) and ``lower_j ≤ 0 ≤ upper_j``. λ multiplies the norm against
the *sum* of the losses.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.sparse import Floats, Ints, SparseVector


@final
@dataclass(frozen=True)
class Local:
    """Ω on some coordinates, the arrays as long as they are many, or of length 1: the same for all.

    Examples
    --------
    >>> one = np.ones(1)
    >>> plain = Local(one, 0 * one, -np.inf * one, np.inf * one)
    >>> plain.prox(np.array([3.0, -2.5]), curvature=1.0)
    array([ 2. , -1.5])
    """

    lam: Floats
    l2: Floats
    lower: Floats
    upper: Floats

    def take(self, positions: Ints) -> Local:
        """Return it on some of the coordinates."""
        return Local(*(x if len(x) == 1 else x[positions] for x in self.arrays))

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """λ, ridge and bounds, as the kernels take them."""
        return self.lam, self.l2, self.lower, self.upper

    def value(self, w: Floats) -> float:
        """Return Ω(w) for weights within their bounds."""
        total = float((self.lam * np.abs(w)).sum())
        return total + 0.5 * float((self.l2 * np.square(w)).sum()) if self.l2.any() else total

    def change(self, w: Floats, d: Floats) -> Floats:
        """Return ``Ω_j(w_j + d_j) - Ω_j(w_j)``, exact to rounding of d, not of w.

        ``λ_j (|w_j + d_j| - |w_j|) + ρ_j d_j (w_j + d_j/2)``: where w_j keeps its sign the first
        bracket is ±d_j, with no cancellation.
        """
        kept = w * (w + d) > 0.0
        sizes = np.where(kept, np.sign(w) * d, np.abs(w + d) - np.abs(w))
        change: Floats = self.lam * sizes + self.l2 * d * (w + 0.5 * d)
        return change

    def prox(self, v: Floats, curvature: Floats | float) -> Floats:
        """Return argmin_w ``Σ_j c_j/2 (w_j - v_j)² + Ω_j(w_j)``: threshold, shrink, clip."""
        size = np.maximum(np.abs(v) - self.lam / curvature, 0.0)
        free: Floats = np.sign(v) * size / (1.0 + self.l2 / curvature)
        return np.clip(free, self.lower, self.upper) if self.bounded else free

    def min_norm_subgradient(self, w: Floats, g: Floats) -> Floats:
        """Return the smallest element of ∂f(w), given g = ∇ℓ(w): zero exactly at the optimum.

        The paper's ``∂_j f``: ``g_j + λ_j sgn w_j + ρ_j w_j`` off zero, else ``S(g_j, λ_j)``; at a
        bound nothing is left of what points out of it.
        """
        slope = np.where(w != 0.0, self.lam * np.sign(w), -np.clip(g, -self.lam, self.lam))
        found: Floats = g + slope + self.l2 * w
        if self.bounded:
            outward = ((w <= self.lower) & (found > 0.0)) | ((w >= self.upper) & (found < 0.0))
            found = np.where(outward, 0.0, found)
        return found

    def excess(self, g: Floats) -> Floats:
        """Return by how much a derivative of a weight at zero asks it to move: 0 if it rests.

        ``|g_j| - λ_j`` where that is positive and the bounds leave room on that side.
        """
        room = np.where(g < 0.0, self.upper, -self.lower) > 0.0
        return np.where(room, np.maximum(np.abs(g) - self.lam, 0.0), 0.0)

    def conjugate(self, g: Floats) -> float:
        """Return Ω*(-g) given the entries of g above λ: the others contribute nothing.

        With e the excess and B the bound on that side, ``max_{0 ≤ t ≤ B} e t - (ρ/2) t²``.
        """
        e = self.excess(g)
        rising = e > 0.0
        if not rising.any():
            return 0.0
        e, ridge = e[rising], np.broadcast_to(self.l2, g.shape)[rising]
        bound = np.broadcast_to(np.where(g < 0.0, self.upper, -self.lower), g.shape)[rising]
        best = np.minimum(np.divide(e, ridge, out=np.full_like(e, np.inf), where=ridge > 0), bound)
        if not np.isfinite(best).all():
            return math.inf
        return float((best * (e - 0.5 * ridge * best)).sum())

    def priced(self, g: Floats) -> NDArray[np.bool_]:
        """Return where a derivative above λ costs Ω* something finite, not infinity."""
        bound = np.where(g < 0.0, self.upper, -self.lower)
        return (self.l2 > 0.0) | np.isfinite(bound)

    @property
    def bounded(self) -> bool:
        """Whether any weight has a finite bound."""
        return bool((self.lower > -math.inf).any() or (self.upper < math.inf).any())


class Penalty(ABC):
    """A separable penalty Ω; :class:`Local` has the formulas, a penalty has the numbers."""

    @abstractmethod
    def on(self, coordinates: Ints) -> Local:
        """Return it on ascending coordinates."""

    @property
    @abstractmethod
    def least(self) -> float:
        """The smallest λ_j above 0: no derivative below it moves a weight that it penalises."""

    @property
    def unpenalised(self) -> Ints:
        """The coordinates with ``λ_j = 0``, ascending: they are always looked at."""
        return np.empty(0, dtype=np.int64)

    @property
    def watched(self) -> Ints:
        """The coordinates that are looked at whatever their derivatives, ascending.

        Those without penalty, and such as have a λ_j below ``least``.
        """
        return self.unpenalised

    def unit(self, coordinates: Ints) -> Floats:
        """Return c_j where coordinate j stands for a weight of 1/c_j (``units.py``)."""
        return _ONE

    def value(self, w: SparseVector) -> float:
        """Return Ω(w)."""
        return self.on(w.coordinates).value(w.values)


_ONE = np.ones(1)
