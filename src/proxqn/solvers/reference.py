"""The solver's kernels in plain NumPy: the truth the compiled ones are tested against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proxqn.problem import Floats, Ints
from proxqn.random_numbers import SplitMix64


def inner_products(A: Floats, B: Floats, out: Floats, n_jobs: int) -> None:
    """Write A Bᵀ."""
    out[:] = np.einsum("ik,jk->ij", A, B)


def memory_rows(
    S: Floats,
    Y: Floats,
    D: Floats,
    SS: Floats,
    SY: Floats,
    gamma: float,
    rows: Floats,
    diagonal: Floats,
    n_jobs: int,
) -> bool:
    """Rows [p₁, c₁, p₂, …] and diagonal of B = γD + P Pᵀ - C Cᵀ: ``cpp/inner/compact_bfgs.hpp``."""
    m, E, L = len(S), np.diag(SY), np.tril(SY, -1)
    try:
        J = np.linalg.cholesky(gamma * SS + L / E @ L.T)
    except np.linalg.LinAlgError:
        return False
    P, C = (Y / np.sqrt(E)[:, None]).T, np.linalg.solve(J, gamma * D * S + L / E @ Y).T
    rows[:] = 0.0
    rows[:, : 2 * m : 2], rows[:, 1 : 2 * m : 2] = P, C
    diagonal[:] += np.square(P).sum(1) - np.square(C).sum(1)
    return True


def extend_rows(s: Floats, y: Floats, base: Floats, m: int, rows: Floats, diagonal: Floats) -> bool:
    """Add a pair to the rows of m pairs: p = y/√(sᵀy), c = Bs/√(sᵀBs)."""
    P, C = rows[:, : 2 * m : 2], rows[:, 1 : 2 * m : 2]
    Bs = base * s + P @ (P.T @ s) - C @ (C.T @ s)
    if not s @ Bs > 0.0:
        return False
    p, c = y / np.sqrt(s @ y), Bs / np.sqrt(s @ Bs)
    rows[:, 2 * m], rows[:, 2 * m + 1] = p, c
    diagonal += p**2 - c**2
    return True


class _Penalty:
    """Ω(v) = Σ λ_j|v_j| + (l2_j/2) v_j² within bounds, one number each or one for all."""

    def __init__(self, lam: Floats, l2: Floats, lower: Floats, upper: Floats, n: int) -> None:
        self.lam, self.l2, self.lower, self.upper = (
            np.broadcast_to(numbers, n) for numbers in (lam, l2, lower, upper)
        )
        self.never_rests = (self.lam == 0.0) & (self.lower < self.upper)

    def minimiser(self, j: int, u: float, a: float) -> float:
        """Return argmin a v²/2 - u v + Ω_j(v)."""
        free = np.sign(u) * max(abs(u) - self.lam[j], 0.0) / (a + self.l2[j])
        return float(np.clip(free, self.lower[j], self.upper[j]))

    def keep_bounds(self, w: Floats, d: Floats) -> Floats:
        """Return d, or next to it, so that w + d as rounded is within the bounds."""
        while (above := w + d > self.upper).any():
            d = np.where(above, np.nextafter(d, -np.inf), d)
        while (below := w + d < self.lower).any():
            d = np.where(below, np.nextafter(d, np.inf), d)
        return d


def coordinate_descent(
    w: Floats,
    g: Floats,
    rows: Floats,
    m: int,
    base: Floats,
    diagonal: Floats,
    lam: Floats,
    l2: Floats,
    lower: Floats,
    upper: Floats,
    max_passes: int,
    tolerance: float,
    seed: int,
    d: Floats,
) -> float:
    """Minimise gᵀd + dᵀBd/2 + Ω(w+d) by coordinate descent in random order (``_Penalty``)."""
    penalty = _Penalty(lam, l2, lower, upper, len(w))
    d[:] = 0.0
    rows, sign = rows[:, : 2 * m], np.tile([1.0, -1.0], m)
    dhat = np.zeros(2 * m)
    random = SplitMix64(seed)

    def one_pass(order: list[int]) -> float:
        moved = 0.0
        for j in order:
            a, c = diagonal[j], w[j] + d[j]
            u = a * c - (g[j] + base[j] * d[j] + rows[j] @ (sign * dhat))
            target = penalty.minimiser(j, u, a)
            z = target - c
            if z != 0.0:
                d[j] = target - w[j]
                dhat[:] += z * rows[j]
                moved = max(moved, a * abs(z))
        return moved

    everything: list[int] = list(range(len(w)))
    spent = 0.0
    while spent < max_passes:
        random.shuffle(everything)
        moved = one_pass(everything)
        spent += 1.0
        if moved == 0.0 or 0.0 < moved <= tolerance:
            break
        off_zero = (d != 0.0) | (w != 0.0) | penalty.never_rests
        free: list[int] = np.flatnonzero(off_zero).tolist()
        if tolerance <= 0.0 or len(free) in (0, len(w)):
            continue
        while spent < max_passes:
            random.shuffle(free)
            spent += len(free) / len(w)
            if one_pass(free) <= 0.5 * tolerance:
                break
    d[:] = penalty.keep_bounds(w, d)
    return spent


def _written_out(
    start: Ints, row: NDArray[np.int32], value: NDArray[np.float32], n_rows: int
) -> Floats:
    """Return J [n_rows][n]; an entry may stand twice."""
    J = np.zeros((n_rows, len(start) - 1))
    np.add.at(J, (row, np.repeat(np.arange(len(start) - 1), np.diff(start))), value)
    return J


class DrawnProduct:
    """``v ↦ ρv + Jᵀ(Jv)`` (``cpp/inner/drawn_product.hpp``)."""

    def __init__(
        self,
        start: Ints,
        row: NDArray[np.int32],
        value: NDArray[np.float32],
        n_rows: int,
        ridge: float,
        n_jobs: int,
    ) -> None:
        self._J = _written_out(start, row, value, n_rows)
        squares = np.square(value, dtype=np.float64)
        self._ridge = ridge * (squares.mean() if squares.any() else 1.0)
        column = np.repeat(np.arange(len(start) - 1), np.diff(start))
        self._squares = np.zeros(len(start) - 1)
        np.add.at(self._squares, column, squares)

    def times(self, v: Floats, out: Floats) -> None:
        """Write the product."""
        out[:] = self._ridge * v + self._J.T @ (self._J @ v)

    def diagonal(self) -> Floats:
        """Return it, where an entry that stands twice counts as two."""
        found: Floats = self._squares + self._ridge
        return found


class SampledModel:
    """``B = ρI + JᵀJ`` and BFGS pairs, written out (``cpp/inner/drawn_curvature.hpp``)."""

    def __init__(
        self,
        start: Ints,
        row: NDArray[np.int32],
        value: NDArray[np.float32],
        n_rows: int,
        ridge: float,
        budget: float,
        n_jobs: int,
    ) -> None:
        J = _written_out(start, row, value, n_rows)
        self._B = ridge * np.eye(len(start) - 1) + J.T @ J

    def append(self, S: Floats, Y: Floats) -> int:
        """Update B so that Bs = y, pair by pair, but where sᵀy or sᵀBs is not positive."""
        taken = 0
        for s, y in zip(S, Y, strict=True):
            Bs = self._B @ s
            if s @ y > 0.0 and s @ Bs > 0.0:
                self._B += np.outer(y, y) / (s @ y) - np.outer(Bs, Bs) / (s @ Bs)
                taken += 1
        return taken

    def keep(self, positions: Ints) -> None:
        """Keep some coordinates."""
        self._B = self._B[np.ix_(positions, positions)]

    def diagonal(self) -> Floats:
        """Return the diagonal of B."""
        return self._B.diagonal().copy()

    def minimize(
        self,
        w: Floats,
        g: Floats,
        lam: Floats,
        l2: Floats,
        lower: Floats,
        upper: Floats,
        max_passes: int,
        tolerance: float,
        seed: int,
        d: Floats,
    ) -> float:
        """Minimise gᵀd + dᵀBd/2 + Ω(w+d) by coordinate descent, in order (``_Penalty``)."""
        penalty = _Penalty(lam, l2, lower, upper, len(w))
        a = self._B.diagonal()
        passes, moved = 0, np.inf
        while passes < max_passes and moved > tolerance:
            passes += 1
            moved = 0.0
            for j in range(len(w)):
                c = w[j] + d[j]
                u = a[j] * c - (g[j] + self._B[j] @ d)
                target = penalty.minimiser(j, u, a[j])
                if target != c:
                    d[j] = target - w[j]
                    moved = max(moved, a[j] * abs(target - c))
        d[:] = penalty.keep_bounds(w, d)
        return float(passes)


SingleSampledModel = SampledModel
