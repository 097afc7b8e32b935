"""The quasi-Newton model of the loss: limited-memory BFGS in compact form, on the working set only.

With pairs ``s_i = w_{i+1} - w_i`` and ``y_i = g_{i+1} - g_i`` the paper's matrix is
``B = γI - Q R Qᵀ``, ``Q = [γS, Y]``, ``R = [[γSᵀS, L], [Lᵀ, -D]]⁻¹``, L the strictly lower part
and D the diagonal of ``SᵀY``. Writing out the block inverse gives the same B as
``γI + P Pᵀ - C Cᵀ`` (``cpp/inner/compact_bfgs.hpp``), which is what coordinate descent uses. Here I
may be any positive diagonal: then it is BFGS in variables scaled by its root.

Only the rows of S and Y on the working set are kept. The inner products SᵀS and SᵀY are computed
once, when a pair arrives, and are not recomputed when rows leave: a later step is zero outside the
working set of its time, so its inner products over that set are exact, and B on the remaining rows
is the exact submatrix of the B one would have without shrinking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from types import ModuleType
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.aligned_array import aligned_empty
from proxqn.problem.sparse import Floats, Ints

_MAX_BYTES = 8_000_000  # of the rows of B: a share of the last-level cache
_FEW_PAIRS = 20
_MANY_ROWS = 2000  # of the working set: fewer fit a cache in double precision
_ROW_TILE = 16  # of the compiled kernels: rows are padded to a multiple of it
_CHUNK_ROWS = 1 << 12  # moved at once
_STEADY = 2.0  # a change of γ up to this factor is not worth forming B anew
_KEPT = 80  # per cent of the pairs that stay when there is no more room
LEAST_CURVATURE = 1e-12  # a pair needs sᵀy above this times |s||y|


class Scaling(Enum):
    """How γ, the curvature outside the memory, follows from the newest pair."""

    PAPER = "yᵀs / sᵀDs"
    GEOMETRIC = "(yᵀD⁻¹y / sᵀDs)^½"


@final
@dataclass(frozen=True)
class Factors:
    """``B = diag(base) + P Pᵀ - C Cᵀ``."""

    rows: Floats | NDArray[np.float32]  # [|A|, 2m or more]: p₁, c₁, p₂, c₂, …, zeros
    n_pairs: int
    base: Floats  # γD [|A|]
    diagonal: Floats  # of B [|A|]


@final
class _Stack:
    """Rows that come at the end and leave at the front; those that stay are seldom copied."""

    def __init__(self, rows: Floats) -> None:
        self._held, self._first, self._last = rows, 0, len(rows)

    @property
    def rows(self) -> Floats:
        return self._held[self._first : self._last]

    def push(self, row: Floats) -> None:
        if self._last == len(self._held):
            rows = self.rows
            self._held = np.empty((len(rows) + len(rows) // 4 + 4, len(row)))
            self._held[: len(rows)] = rows
            self._first, self._last = 0, len(rows)
        self._held[self._last] = row
        self._last += 1

    def drop(self, n: int) -> None:
        self._first += n

    def keep(self, columns: Ints) -> None:
        """Keep some columns, ascending; in place while most stay, for nothing here is as large."""
        rows, n = self.rows, len(columns)
        if 2 * n < rows.shape[1]:
            self._held = np.take(rows, columns, axis=1)
        else:
            room = self._held[self._first :].reshape(-1)
            for i, row in enumerate(rows):
                room[i * n : (i + 1) * n] = row[columns]
            capacity = len(self._held) - self._first
            self._held = room[: capacity * n].reshape(capacity, n)
        self._first, self._last = 0, len(rows)


@final
class CompactBFGS:
    """B on the rows of the working set.

    Parameters
    ----------
    lazy : bool
        Let γ follow in steps of 2 and the oldest fifth of the pairs leave at once, so that most
        pairs only add two columns to the factors.
    single : bool
        Give the factors in single precision where they are large.
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        memory: int,
        gamma: float,
        scaling: Scaling,
        size: int,
        kernels: ModuleType = _kernels,
        *,
        lazy: bool = False,
        single: bool = False,
        n_jobs: int = 1,
    ) -> None:
        self._gamma = gamma
        self._memory, self._scaling, self._lazy = memory, scaling, lazy
        self._single = single
        self._kernels, self._n_jobs = kernels, n_jobs
        self._S, self._Y = _Stack(np.empty((0, size))), _Stack(np.empty((0, size)))  # [m, |A|]
        self._D: Floats = np.ones(size)  # [|A|]
        self._SS: Floats = np.empty((0, 0))  # SᵀDS [m, m]
        self._SY: Floats = np.empty((0, 0))  # SᵀY [m, m], of which only i ≥ j is used
        self._factors: Factors | None = None  # of all pairs, where known

    def __len__(self) -> int:
        return len(self._SS)

    @property
    def gamma(self) -> float:
        """The scale of ``B₀ = γD``."""
        return self._gamma

    @gamma.setter
    def gamma(self, value: float) -> None:
        self._gamma, self._factors = value, None

    def clear(self) -> None:
        """Forget all pairs; γ stays."""
        self._drop_oldest(len(self))

    def append(self, s: Floats, y: Floats) -> bool:
        """Take in a pair; False where it fails sᵀy > 0 and is left out."""
        Ds = self._D * s
        with np.errstate(over="ignore", invalid="ignore"):  # such a pair is left out
            sy, ss, yy = (float(x.sum()) for x in (s * y, s * Ds, y * y / self._D))
        if not sy > LEAST_CURVATURE * np.sqrt(ss * yy):
            return False
        gamma = sy / ss if self._scaling is Scaling.PAPER else float(np.sqrt(yy / ss))
        if not (self._lazy and len(self) and 1 / _STEADY < gamma / self.gamma < _STEADY):
            self.gamma = gamma
        most = self._most_pairs()
        if len(self) >= most:
            self._drop_oldest(len(self) + 1 - (_KEPT * most // 100 if self._lazy else most))
        n = len(self)
        SS, SY = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        SS[:n, :n], SY[:n, :n] = self._SS, self._SY
        SS[n, :n] = SS[:n, n] = self._products(self._S.rows, Ds[None])[:, 0]
        SY[n, :n] = self._products(self._Y.rows, s[None])[:, 0]
        SS[n, n], SY[n, n] = ss, sy
        self._SS, self._SY = SS, SY
        self._S.push(s)
        self._Y.push(y)
        self._factors = self._extended(s, y)
        return True

    def remember(self, S: Floats, Y: Floats) -> None:
        """Begin with other pairs, one a row; the next ``replace_rows`` finds their products."""
        self._S, self._Y = _Stack(S.copy()), _Stack(Y.copy())
        self._SS, self._SY = np.zeros((2, len(S), len(S)))

    def newest(self, n: int) -> tuple[Floats, Floats]:
        """Return the last n pairs, or all if there are fewer, one a row, oldest first."""
        first = max(len(self) - n, 0)
        return self._S.rows[first:], self._Y.rows[first:]

    def _drop_oldest(self, n: int) -> None:
        self._S.drop(n)
        self._Y.drop(n)
        self._SS, self._SY = self._SS[n:, n:], self._SY[n:, n:]
        self._factors = None

    def _products(self, A: Floats, B: Floats) -> Floats:
        """Return A Bᵀ, the same whatever the number of threads."""
        out = np.empty((len(A), len(B)))
        self._kernels.inner_products(A, B, out, self._n_jobs)
        return out

    def _extended(self, s: Floats, y: Floats) -> Factors | None:
        """Return the factors with the newest pair, if they are known and have room for it."""
        known, n = self._factors, len(self)
        if known is None or known.rows.shape[1] < 2 * n:
            return None
        if not self._kernels.extend_rows(s, y, known.base, n - 1, known.rows, known.diagonal):
            return None
        return replace(known, n_pairs=n)

    def _most_pairs(self) -> int:
        """Keep fewer pairs on a large working set: every pass over it reads all of them."""
        row_bytes = (8 if self._single else 16) * len(self._D)  # of two columns
        fitting = _MAX_BYTES // max(row_bytes, 1)
        return min(self._memory, max(_FEW_PAIRS, fitting))

    def keep_rows(self, keep: Ints) -> None:
        """Drop the rows of variables that leave the working set."""
        self._S.keep(keep)
        self._Y.keep(keep)
        self._D = self._D[keep]
        if self._factors is not None:
            known = self._factors
            for at in range(0, len(keep), _CHUNK_ROWS):
                rows = keep[at : at + _CHUNK_ROWS]  # they ascend: none is overwritten too early
                known.rows[at : at + len(rows)] = known.rows[rows]
            self._factors = replace(
                known,
                rows=known.rows[: len(keep)],
                base=known.base[keep],
                diagonal=known.diagonal[keep],
            )

    def replace_rows(self, source: Ints, diagonal: Floats | None = None) -> None:
        """Re-index for a new epoch: row i comes from row ``source[i]``, or is zero if that is -1.

        A zero row means that B is γD on this variable's diagonal and does not couple it to others.
        The inner products are recomputed over the rows that are left; a pair whose curvature is
        lost with its rows goes.

        Parameters
        ----------
        diagonal : array, optional
            D on the new rows; ones by default.
        """
        self._factors = None  # first: these arrays are the largest that a solver has
        self._D = np.ones(len(source)) if diagonal is None else diagonal
        self._S = _Stack(_taken(self._S.rows, source))
        self._Y = _Stack(_taken(self._Y.rows, source))
        S, Y = self._S.rows, self._Y.rows
        SY, SS = self._products(S, Y), self._products(S, S * self._D)
        norms = np.sqrt(SS.diagonal() * np.array([(y**2 / self._D).sum() for y in Y]))
        good = SY.diagonal() > LEAST_CURVATURE * norms
        if not good.all():
            self._S, self._Y = _Stack(S[good]), _Stack(Y[good])
        self._SS, self._SY = SS[np.ix_(good, good)], SY[np.ix_(good, good)]

    def factors(self) -> Factors | None:
        """Return B in the form that coordinate descent uses, or None where it has broken down."""
        if self._factors is None:
            self._factors = self._formed()
        if self._factors is not None and not self._factors.diagonal.min(initial=np.inf) > 0.0:
            self._factors = None
        return self._factors

    def _formed(self) -> Factors | None:
        base = self.gamma * self._D
        room = max(len(self), self._most_pairs()) if self._lazy else len(self)
        real = np.float32 if self._single and len(base) >= _MANY_ROWS else np.float64
        rows = aligned_empty((len(base), _row_length(room)), real)
        factors = Factors(rows, len(self), base, base.copy())
        positive = self._kernels.memory_rows(
            self._S.rows,
            self._Y.rows,
            self._D,
            self._SS,
            self._SY,
            self.gamma,
            rows,
            factors.diagonal,
            self._n_jobs,
        )
        return factors if positive else None


def _row_length(n_pairs: int) -> int:
    """Return the numbers of a row of the factors: two a pair, and zeros."""
    return -(-2 * n_pairs // _ROW_TILE) * _ROW_TILE


def _taken(rows: Floats, source: Ints) -> Floats:
    """Return the columns ``source`` of the rows, zeros where that is -1."""
    if rows.shape[1] == 0:
        return np.zeros((len(rows), len(source)))
    taken = np.take(rows, source, axis=1, mode="clip")
    taken[:, source < 0] = 0.0
    return taken
