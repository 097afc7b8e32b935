"""A penalty's numbers make sense, and its formulas are those of the function they describe."""

from __future__ import annotations

import math

import numpy as np

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.testing.promise import agree, broken

_COORDINATES = 30  # whose formulas are checked
_TRIALS = 16  # of each
_NEAR = 1e-7  # a step that stands for an infinitely small one


def check_penalty(penalty: Penalty, n_coordinates: int, *, seed: int = 0) -> None:
    """Check that a penalty keeps every promise of ``proxqn.problem.penalty``.

    Parameters
    ----------
    penalty : Penalty
        To be read on any of the coordinates.
    n_coordinates : int
        How many there are.
    seed : int
        Of all that is random.

    Raises
    ------
    AssertionError
        Says which promise is broken, where, what was expected, what came, and what to do.

    Examples
    --------
    A penalty whose smallest λ is not what it says:

    >>> class Doubled(Penalty):
    ...     least = 1.0
    ...     def on(self, coordinates):
    ...         one = np.ones(1)
    ...         return Local(2.0 * one, 0.0 * one, -np.inf * one, np.inf * one)
    >>> check_penalty(Doubled(), 5)
    Traceback (most recent call last):
        ...
    AssertionError: penalty.least is the smallest λ_j above 0 (5 coordinates): expected 2.0, ...
    """
    rng = np.random.default_rng(seed)
    everywhere = np.arange(n_coordinates, dtype=np.int64)
    whole = penalty.on(everywhere)
    _check_numbers(whole, everywhere)
    _check_parts(penalty, whole, everywhere, rng)
    _check_summary(penalty, whole, everywhere)
    for j in rng.choice(everywhere, min(_COORDINATES, n_coordinates), replace=False):
        at = np.array([j])
        _check_formulas(_One(penalty.on(at), f"coordinate {j}"), rng)
    _check_total(penalty, everywhere, rng)


def _check_numbers(local: Local, at: Ints) -> None:
    for name, numbers in zip(("lam", "l2", "lower", "upper"), local.arrays, strict=True):
        fine = {
            "lam": (numbers >= 0.0) & np.isfinite(numbers),
            "l2": (numbers >= 0.0) & np.isfinite(numbers),
            "lower": numbers <= 0.0,
            "upper": numbers >= 0.0,
        }[name]
        if numbers.shape not in ((1,), (len(at),)):
            raise broken(
                "on(A) has arrays of one number, or of one for each coordinate",
                where=f"{name}, {len(at)} coordinates",
                expected=f"shape (1,) or ({len(at)},)",
                got=f"shape {numbers.shape}",
                do="One number stands for all coordinates.",
            )
        if not fine.all():
            raise broken(
                "λ and ridge are finite and not negative, and zero lies within the bounds",
                where=name,
                expected="lam ≥ 0, l2 ≥ 0, lower ≤ 0 ≤ upper",
                got=numbers[~fine][0],
                do="A weight must be able to be zero; NaN is no number.",
            )


def _check_parts(
    penalty: Penalty, whole: Local, everywhere: Ints, rng: np.random.Generator
) -> None:
    n = len(everywhere)
    for size in {0, 1, n // 2, n}:
        at = np.sort(rng.choice(everywhere, size, replace=False))
        part = penalty.on(at)
        _check_numbers(part, at)
        for name, some, taken in zip(
            ("lam", "l2", "lower", "upper"), part.arrays, whole.take(at).arrays, strict=True
        ):
            agree(
                "on(A) is the same penalty on every A",
                where=f"{name}, {size} of {n} coordinates",
                expected=np.broadcast_to(taken, at.shape),
                got=np.broadcast_to(some, at.shape),
                tolerance=0.0,
                do="Read the numbers by coordinate, not by position in A.",
            )


def _check_summary(penalty: Penalty, whole: Local, everywhere: Ints) -> None:
    lam = np.broadcast_to(whole.lam, everywhere.shape)
    free = np.flatnonzero(lam == 0.0)
    if len(free) < len(lam):
        agree(
            "penalty.least is the smallest λ_j above 0",
            where=f"{len(lam)} coordinates",
            expected=lam[lam > 0.0].min(),
            got=penalty.least,
            tolerance=0.0,
            do="Sweeps look for derivatives above it: too large, and weights are overlooked; too "
            "small, and too many are looked at.",
        )
    agree(
        "penalty.unpenalised has the coordinates with λ_j = 0, ascending",
        where=f"{len(lam)} coordinates",
        expected=free,
        got=penalty.unpenalised,
        tolerance=0.0,
        do="They are always looked at, since any derivative moves them.",
    )


def _check_total(penalty: Penalty, everywhere: Ints, rng: np.random.Generator) -> None:
    at = np.sort(rng.choice(everywhere, -(-len(everywhere) // 2), replace=False))
    local = penalty.on(at)
    w = np.clip(rng.normal(size=len(at)), local.lower, local.upper)
    terms = local.lam * np.abs(w) + 0.5 * local.l2 * w**2
    for name, got in (("on(A)", local.value(w)), ("penalty", penalty.value(SparseVector(at, w)))):
        agree(
            "value(w) is Σ_j λ_j |w_j| + ρ_j w_j² / 2",
            where=f"of {name}, {len(at)} random weights",
            expected=terms.sum(),
            got=got,
            tolerance=1e-12 * terms.sum(),
            do="Sum over the coordinates of w.",
        )


class _One:
    """The penalty of one weight, as a function that is ∞ out of bounds."""

    def __init__(self, local: Local, where: str) -> None:
        self.local, self.where = local, where
        self.lam, self.l2, self.lower, self.upper = (float(x[0]) for x in local.arrays)

    def __call__(self, w: Floats | float) -> Floats:
        w = np.asarray(w, dtype=float)
        inside = (self.lower <= w) & (w <= self.upper)
        return np.where(inside, self.lam * np.abs(w) + 0.5 * self.l2 * w * w, math.inf)

    def grid(self) -> Floats:
        """Return weights of every size, the bounds among them."""
        sizes = np.geomspace(1e-6, 1e6, 5_001)
        ends = [x for x in (self.lower, self.upper) if math.isfinite(x)]
        grid = np.concatenate([-sizes, [0.0], sizes, ends])
        return grid[(self.lower <= grid) & (grid <= self.upper)]

    def slope(self, w: float, g: float) -> float:
        """Return the smallest subgradient of ``g·w + Ω(w)``, from its slopes to both sides."""
        up, down = (
            float(sign * g + (self(w + sign * _NEAR) - self(w)) / _NEAR) for sign in (1.0, -1.0)
        )
        return min(up, 0.0) if up < down else max(-down, 0.0)


def _check_formulas(one: _One, rng: np.random.Generator) -> None:
    grid = one.grid()
    for k in range(_TRIALS):
        g, c = float(3.0 * one.lam * rng.normal() + rng.normal()), float(rng.uniform(0.1, 5.0))
        w = 0.0 if k % 4 == 0 else float(np.clip(rng.normal(), one.lower, one.upper))
        _check_change(one, w, rng)
        _check_prox(one, g, c, grid)
        _check_subgradient(one, w, g)
        _check_conjugate(one, g, grid)


def _check_change(one: _One, w: float, rng: np.random.Generator) -> None:
    d = float(np.clip(w + rng.normal(), one.lower, one.upper)) - w
    agree(
        "change(w, d) is Ω(w + d) - Ω(w)",
        where=f"{one.where}, w = {w:g}, d = {d:g}",
        expected=one.local.value(np.array([w + d])) - one.local.value(np.array([w])),
        got=one.local.change(np.array([w]), np.array([d]))[0],
        tolerance=1e-12 * (1.0 + one.lam + one.l2) * (1.0 + w * w + d * d),
        do="It decides which steps are accepted.",
    )


def _check_prox(one: _One, v: float, c: float, grid: Floats) -> None:
    found = float(one.local.prox(np.array([v]), c)[0])
    best = float((0.5 * c * (grid - v) ** 2 + one(grid)).min())
    got = float(0.5 * c * (found - v) ** 2 + one(found))
    if not got <= best + 1e-12 * (1.0 + abs(best)):
        raise broken(
            "prox(v, c) is argmin_w c/2 (w - v)² + Ω(w)",
            where=f"{one.where}, v = {v:g}, c = {c:g}",
            expected=f"at most {best}, found on a grid",
            got=f"{got} at w = {found}",
            do="Threshold by λ/c, shrink by 1 + ρ/c, then clip to the bounds.",
        )
    slope = c * (found - v)  # the smooth part's derivative there: w is its own prox step
    agree(
        "min_norm_subgradient(w, g) is zero where a prox step leads to itself",
        where=f"{one.where}, w = {found:g}, g = {slope:g}",
        expected=0.0,
        got=one.local.min_norm_subgradient(np.array([found]), np.array([slope]))[0],
        tolerance=1e-9 * (1.0 + abs(slope) + one.lam),
        do="It is zero exactly at the optimum.",
    )


def _check_subgradient(one: _One, w: float, g: float) -> None:
    tolerance = 1e-5 * (1.0 + abs(g) + one.lam + one.l2)
    agree(
        "min_norm_subgradient(w, g) is the smallest element of g + ∂Ω(w)",
        where=f"{one.where}, w = {w:g}, g = {g:g}",
        expected=one.slope(w, g),
        got=one.local.min_norm_subgradient(np.array([w]), np.array([g]))[0],
        tolerance=tolerance,
        do="Expected are the slopes to both sides; none leads out of the bounds.",
    )
    agree(
        "excess(g) is by how much g asks a weight at zero to move",
        where=f"{one.where}, g = {g:g}",
        expected=abs(one.slope(0.0, g)),
        got=one.local.excess(np.array([g]))[0],
        tolerance=tolerance,
        do="It is |g| - λ where that is positive and the bounds leave room, else 0.",
    )


def _check_conjugate(one: _One, g: float, grid: Floats) -> None:
    gains = -g * grid - one(grid)
    best = int(gains.argmax())
    size = abs(grid[best])
    found = one.local.conjugate(np.array([g]))
    if size >= 1e6 and one.l2 > 0.0:
        return  # the best weight lies outside of the grid
    endless = size >= 1e6 and max(-one.lower, one.upper) > 1e6
    fine = found == math.inf if endless else abs(found - gains[best]) <= 1e-5 * (1.0 + gains[best])
    if not fine:
        raise broken(
            "conjugate(g) is Ω*(-g) = max_w -g w - Ω(w)",
            where=f"{one.where}, g = {g:g}",
            expected=math.inf if endless else f"{gains[best]}, found at w = {grid[best]}",
            got=found,
            do="Every certificate adds it: too small, and it claims too much.",
        )
