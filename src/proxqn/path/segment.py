"""Between two λs that have been solved: a mixture of both solutions, and what is proved of it.

Let ``f_λ = F + λR``, F and R convex: R is the part of the penalty that λ multiplies, ``‖w‖₁`` say.
With ``λ = (1-θ)λ₁ + θλ₂`` take ``w = (1-θ)w₁ + θw₂``. As F and R are convex,

    f_λ(w) ≤ (1-θ) f₁ + θ f₂ + θ(1-θ)(λ₁ - λ₂)(R₂ - R₁) = U,      f_i = f_{λ_i}(w_i), R_i = R(w_i),

and as the optimum ``f*_λ = min_w f_λ(w)`` is concave in λ, a minimum of linear functions of it,

    f*_λ ≥ (1-θ) f*_{λ₁} + θ f*_{λ₂} ≥ (1-θ)(f₁ - gap₁) + θ(f₂ - gap₂) = L.

So the mixture's gap is at most ``U - L = (1-θ) gap₁ + θ gap₂ + θ(1-θ)(λ₁ - λ₂)(R₂ - R₁)``, and no
inference is needed to know it ("Safe Grid Search with Optimal Complexity", Ndiaye et al., ICML
2019, has the general theory). With estimates in place of gaps it is an estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

_STEPS = 50  # of the search for the worst λ: each about doubles the digits


@final
@dataclass(frozen=True)
class Solved:
    """What is known at a λ."""

    lam: float
    objective: float
    size: float  # R(w)
    error: float  # the objective less the optimum at most


@final
@dataclass(frozen=True)
class Segment:
    """The λs between two that have been solved.

    Examples
    --------
    >>> segment = Segment(Solved(2.0, 10.0, 1.0, 0.0), Solved(1.0, 8.0, 3.0, 0.0))
    >>> segment.gap(1.5), segment.objective(1.5)
    (0.5, 9.5)
    >>> ratio, lam = segment.worst()
    >>> round(ratio, 4), round(lam, 3)
    (0.0557, 1.472)
    """

    above: Solved  # at the larger λ
    below: Solved

    def share(self, lam: float) -> float:
        """Return θ: 0 at the larger λ, 1 at the smaller."""
        return (self.above.lam - lam) / (self.above.lam - self.below.lam)

    def objective(self, lam: float) -> float:
        """Return what the mixture's objective is at most: U."""
        theta = self.share(lam)
        return self._along(theta, self.above.objective, self.below.objective) + self._bend(theta)

    def gap(self, lam: float) -> float:
        """Return what the mixture is above the optimum at most: U - L."""
        return self._gap(self.share(lam))

    def worst(self) -> tuple[float, float]:
        """Return the largest gap as a share of the objective, and where it is.

        Infinite where the objective may be zero.
        """
        ends = self._lower(0.0), self._lower(1.0)
        most = max(self.above.objective, self.below.objective) + abs(self._curvature) / 4.0
        if min(ends) > 0.0:
            return self._largest_share(1.0)
        if most < 0.0:  # of |f|, which may be as small as -U = -L - (U - L)
            share, lam = self._largest_share(-1.0)
            return share / (1.0 - share) if share < 1.0 else math.inf, lam
        nothing_left = max(self.above.error, self.below.error, self._curvature) <= 0.0
        return (0.0 if nothing_left else math.inf), self._lam(0.5)

    def can_be_split(self, eps: float) -> bool:
        """Whether it is its width, not the error at its ends, that exceeds ``eps·|f|``."""
        ends = ((self.above.error, self._lower(0.0)), (self.below.error, self._lower(1.0)))
        return all(error <= eps * abs(lower) for error, lower in ends)

    def _largest_share(self, sign: float) -> tuple[float, float]:
        """Return the maximum of ``(U - L)/(sign·L)``: of a quadratic by a linear function.

        Dinkelbach's iteration: where ``U - L - r·sign·L`` is largest for a ratio r, a larger one is
        found, until there is none.
        """
        ratio, theta = 0.0, 0.5
        for _ in range(_STEPS):
            theta = self._top(ratio * sign)
            found = self._gap(theta) / (sign * self._lower(theta))
            if not found > ratio:
                break
            ratio = found
        return ratio, self._lam(theta)

    def _top(self, r: float) -> float:
        """Return the θ with the largest ``U - L - r L``."""
        rise = (self.below.error - r * self._lower(1.0)) - (self.above.error - r * self._lower(0.0))
        curvature = self._curvature
        if not curvature > 0.0:
            return 1.0 if rise > 0.0 else 0.0
        return min(max(0.5 * (1.0 + rise / curvature), 0.0), 1.0)

    @property
    def _curvature(self) -> float:
        return (self.above.lam - self.below.lam) * (self.below.size - self.above.size)

    def _bend(self, theta: float) -> float:
        return theta * (1.0 - theta) * self._curvature

    def _gap(self, theta: float) -> float:
        gap = self._along(theta, self.above.error, self.below.error) + self._bend(theta)
        return max(gap, 0.0)

    def _lower(self, theta: float) -> float:
        one, other = self.above, self.below
        return self._along(theta, one.objective - one.error, other.objective - other.error)

    def _lam(self, theta: float) -> float:
        return self._along(theta, self.above.lam, self.below.lam)

    @staticmethod
    def _along(theta: float, one: float, other: float) -> float:
        return (1.0 - theta) * one + theta * other
