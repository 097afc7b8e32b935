"""Where to solve next, so that few λs prove all.

The bound between two λs is largest near their middle, about ``errors + ¼(λ₁ - λ₂)(R(λ₂) - R(λ₁))``,
and R goes with a power of λ nearly: its exponent between the last two λs tells how far the next
step may go. Where a step was too long, the λ with the largest
bound is solved in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from proxqn.path.segment import Solved

_FIRST = 0.8  # of λ_max: the first step, of which nothing is known
_SHORTEST, _LONGEST = 0.995, 0.1  # factors of a step
_CAUTION = 0.84  # of what would be enough
_LAST = 0.02  # of the smallest λ: what is left of a step that is not worth another
_HALVINGS = 40


def next_lam(solved: Sequence[Solved], eps: float, least: float) -> float:
    """Return the λ to solve below all that have been solved, no smaller than ``least``.

    Parameters
    ----------
    solved : sequence of Solved
        The latest, λ descending.
    eps : float
        What the gap in between may be, as a share of the objective.

    Examples
    --------
    >>> one, other = Solved(10.0, 100.0, 1.0, 0.0), Solved(8.0, 98.0, 1.3, 0.0)
    >>> round(next_lam([one, other], 1e-2, 0.1), 2)
    4.88
    """
    now, power = solved[-1], _power(solved[-2:])
    if not power > 0.0:
        return max(_FIRST * now.lam, least)
    short, far = _SHORTEST, max(_LONGEST, least / now.lam)
    for _ in range(_HALVINGS):
        factor = math.sqrt(short * far)
        if _promised(now, power, factor) <= _CAUTION * eps:
            short = factor
        else:
            far = factor
    lam = short * now.lam
    return lam if lam > (1.0 + _LAST) * least else least


def _power(solved: Sequence[Solved]) -> float:
    """Return p where R goes like λ^-p; 0 where it is not known."""
    if len(solved) < 2 or not 0.0 < solved[0].size < solved[1].size:
        return 0.0
    above, below = solved
    return math.log(below.size / above.size) / math.log(above.lam / below.lam)


def _promised(now: Solved, power: float, factor: float) -> float:
    """Return the bound to expect at the middle of a step, as a share of the objective."""
    size = now.size * math.pow(factor, -power)
    width = (1.0 - factor) * now.lam
    objective = now.objective - 0.25 * width * (now.size + size)
    if not objective > 0.0:
        return math.inf
    return now.error / abs(now.objective) + 0.25 * width * (size - now.size) / objective
