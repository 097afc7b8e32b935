"""Of what size the variables of a function are, from its gradient at a few points.

A function does not say what its variables are multiplied with. Where entries of its first gradient
are of one order of magnitude nothing more is asked. Where they are thousands apart, a second
gradient nearby tells the curvature of each variable (a random sign each, so that others cancel).

A variable that seems enormous may be so for one sample alone (an outlier): then the curvature is
gone a little further on, and what it is there, for all others, is its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.sparse import Floats

_APART = 300.0  # times the lower quartile: a gradient that looks like sizes of their own
_LARGE = 6.0  # powers of two from the typical size: worth a unit of its own
_FALL = 0.1  # of the loss, to first order: how far the second gradient is
_TRUST = 2.0**30  # what it may correct
_OUTLYING = 256.0  # times the typical size: may be that of an outlier
_FARTHER, _MOST = 64.0, 8  # steps of so many times the last; at most

Evaluate = Callable[[Floats], tuple[float, Floats]]


@final
@dataclass(frozen=True)
class FoundUnits:
    """Sizes of variables, powers of two; which of them outliers have; evaluations made."""

    sizes: Floats
    outlying: NDArray[np.bool_]
    evaluations: int


def find(evaluate: Evaluate, w: Floats, value: float, g: Floats) -> FoundUnits | None:
    """Return the sizes of variables; None where they seem to be alike.

    Parameters
    ----------
    w, value, g
        A point, the value there and the gradient.

    Examples
    --------
    >>> def squares(w):
    ...     return 0.5 * float((w * w) @ [1.0, 1.0, 1e12]), w * [1.0, 1.0, 1e12]
    >>> w = np.array([1.0, -2.0, 1.0])
    >>> find(squares, w, *squares(w)).sizes
    array([1.000000e+00, 1.000000e+00, 1.048576e+06])
    """
    slopes = np.abs(g)
    some = slopes > 0.0
    if np.count_nonzero(some) < 2 or not (np.isfinite(slopes).all() and math.isfinite(value)):
        return None
    if slopes.max() < _APART * float(np.quantile(slopes[some], 0.25)):
        return None
    with np.errstate(all="ignore"):
        rough = np.where(some, slopes / float(np.median(slopes[some])), 1.0)
        roots = _roots_of_curvature(evaluate, w, value, g, rough)
        usual, evaluations = float(np.median(roots)), 1
        outlying = np.zeros(len(w), dtype=bool)
        large = np.flatnonzero(roots > _OUTLYING * usual)
        if len(large):
            roots[large], outlying[large], more = _farther(evaluate, w, value, g, roots, large)
            evaluations += more
        exponents = np.log2(roots / usual)
    apart = np.isfinite(exponents) & (np.abs(exponents) > _LARGE)
    exponents = np.rint(np.where(apart, exponents, 0.0)).clip(-1000, 1000)
    return FoundUnits(np.ldexp(1.0, exponents.astype(int)), outlying, evaluations)


def _roots_of_curvature(
    evaluate: Evaluate, w: Floats, value: float, g: Floats, rough: Floats
) -> Floats:
    """Return the root of each variable's curvature, given rough sizes."""
    signs = np.where(np.random.default_rng(0).random(len(w)) < 0.5, -1.0, 1.0)
    step = _FALL * max(abs(value), 1e-3) / float(np.abs(g / rough).sum())
    _, there = evaluate(w + step * signs / rough)
    curvature = signs * (there - g) / rough / step
    good = np.isfinite(curvature) & (curvature > 0.0)
    if not good.any():
        return rough.copy()
    factor = np.sqrt(float(np.median(curvature[good])))
    relative = np.sqrt(np.where(good, curvature, factor**2)) / factor
    found: Floats = rough * factor * np.clip(relative, 1.0 / _TRUST, _TRUST)
    return found


def _farther(
    evaluate: Evaluate, w: Floats, value: float, g: Floats, roots: Floats, large: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.bool_], int]:
    """Return the same of large variables where the loss no longer falls steeply in them.

    Also which of them became flat, and how many evaluations were made.
    """
    found, outlying = roots[large], np.zeros(len(large), dtype=bool)
    reach, last, last_slopes = _FALL * max(abs(value), 1e-3), w[large], g[large]
    for evaluations in range(1, _MOST + 1):
        reach *= _FARTHER
        v = w.copy()
        v[large] -= np.sign(g[large]) * reach / np.abs(g[large])
        there, slopes = evaluate(v)
        if not there < value:
            return found, outlying, evaluations
        flat = np.abs(slopes[large]) < np.abs(g[large]) / _FARTHER
        here = np.sqrt(np.abs(slopes[large] - last_slopes) / np.abs(v[large] - last))
        found = np.where(flat & (here < found), here, found)
        outlying |= flat
        last, last_slopes = v[large], slopes[large]
    return found, outlying, _MOST
