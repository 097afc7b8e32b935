"""The quasi-Newton model of the loss: limited-memory BFGS in compact form, on the working set only.

With pairs ``s_i = w_{i+1} - w_i`` and ``y_i = g_{i+1} - g_i`` the paper's matrix is
``B = γI - Q R Qᵀ``, ``Q = [γS, Y]``, ``R = [[γSᵀS, L], [Lᵀ, -D]]⁻¹``, L the strictly lower part
and D the diagonal of ``SᵀY``. Writing out the block inverse gives the same B as
``γI + P Pᵀ - C Cᵀ`` (``cpp/subproblem.hpp``), which is what coordinate descent uses. Here I may be
any positive diagonal: then it is BFGS in variables scaled by its root.

Only the rows of S and Y on the working set are kept. The inner products SᵀS and SᵀY are computed
once, when a pair arrives, and are not recomputed when rows leave: a later step is zero outside the
working set of its time, so its inner products over that set are exact, and B on the remaining rows
is the exact submatrix of the B one would have without shrinking.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem import Floats, Ints

_MAX_NUMBERS = 1_000_000  # in the rows of B: 8 MB, a share of the last-level cache
_FEW_PAIRS = 20
_CURVATURE = 1e-12  # a pair needs sᵀy above this times |s||y|


class Scaling(Enum):
    """How γ, the curvature outside the memory, follows from the newest pair."""

    PAPER = "yᵀs / sᵀDs"
    GEOMETRIC = "(yᵀD⁻¹y / sᵀDs)^½"


@final
@dataclass(frozen=True)
class Factors:
    """``B = diag(base) + P Pᵀ - C Cᵀ``."""

    rows: Floats  # [P | C] of shape [|A|, 2m]
    base: Floats  # γD [|A|]
    diagonal: Floats  # of B [|A|]


@final
class CompactBFGS:
    """B on the rows of the working set.

    Attributes
    ----------
    gamma : float
        The scale of ``B₀ = γD``.
    """

    def __init__(
        self,
        memory: int,
        gamma: float,
        scaling: Scaling,
        size: int,
        kernels: ModuleType = _kernels,
    ) -> None:
        self.gamma = gamma
        self._memory = memory
        self._scaling = scaling
        self._kernels = kernels
        self._S: Floats = np.empty((0, size))  # [m, |A|]
        self._Y: Floats = np.empty((0, size))
        self._D: Floats = np.ones(size)  # [|A|]
        self._SS: Floats = np.empty((0, 0))  # SᵀDS [m, m]
        self._SY: Floats = np.empty((0, 0))  # SᵀY [m, m], of which only i ≥ j is used

    def __len__(self) -> int:
        return len(self._S)

    def clear(self) -> None:
        """Forget all pairs; γ stays."""
        self._S, self._Y = self._S[:0], self._Y[:0]
        self._SS, self._SY = self._SS[:0, :0], self._SY[:0, :0]

    def append(self, s: Floats, y: Floats) -> bool:
        """Take in a pair; False where it fails sᵀy > 0 and is left out."""
        Ds = self._D * s
        sy, ss, yy = float((s * y).sum()), float((s * Ds).sum()), float((y * y / self._D).sum())
        if not sy > _CURVATURE * np.sqrt(ss * yy):
            return False
        self.gamma = sy / ss if self._scaling is Scaling.PAPER else float(np.sqrt(yy / ss))
        oldest = max(0, len(self) + 1 - self._most_pairs())
        self._S, self._Y = self._S[oldest:], self._Y[oldest:]
        self._SS, self._SY = self._SS[oldest:, oldest:], self._SY[oldest:, oldest:]
        n = len(self)
        SS, SY = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        SS[:n, :n], SY[:n, :n] = self._SS, self._SY
        SS[n, :n] = SS[:n, n] = np.einsum("ij,j->i", self._S, Ds)
        SY[n, :n] = np.einsum("ij,j->i", self._Y, s)
        SS[n, n], SY[n, n] = ss, sy
        self._SS, self._SY = SS, SY
        self._S, self._Y = np.vstack([self._S, s]), np.vstack([self._Y, y])
        return True

    def _most_pairs(self) -> int:
        """Keep fewer pairs on a large working set: every pass over it reads all of them."""
        fitting = _MAX_NUMBERS // max(2 * int(self._S.shape[1]), 1)
        return min(self._memory, max(_FEW_PAIRS, fitting))

    def keep_rows(self, keep: Ints) -> None:
        """Drop the rows of variables that leave the working set."""
        self._S = np.ascontiguousarray(self._S[:, keep])
        self._Y = np.ascontiguousarray(self._Y[:, keep])
        self._D = self._D[keep]

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
        known = source >= 0
        for name in ("_S", "_Y"):
            rows = np.zeros((len(self), len(source)))
            rows[:, known] = getattr(self, name)[:, source[known]]
            setattr(self, name, rows)
        self._D = np.ones(len(source)) if diagonal is None else diagonal
        sy = (self._S * self._Y).sum(axis=1)
        norms = np.sqrt((self._S**2 * self._D).sum(axis=1) * (self._Y**2 / self._D).sum(axis=1))
        good = sy > _CURVATURE * norms
        self._S, self._Y = self._S[good], self._Y[good]
        self._SS = np.einsum("ik,jk->ij", self._S, self._S * self._D)
        self._SY = np.einsum("ik,jk->ij", self._S, self._Y)

    def factors(self) -> Factors | None:
        """Return B in the form that coordinate descent uses, or None where it has broken down."""
        base = self.gamma * self._D
        factors = Factors(np.empty((len(base), 2 * len(self))), base, base.copy())
        if len(self) == 0:
            return factors
        positive = self._kernels.memory_rows(
            self._S * self._D,
            self._Y,
            self._SS,
            self._SY,
            self.gamma,
            factors.rows,
            factors.diagonal,
        )
        if not positive or not factors.diagonal.min(initial=np.inf) > 0.0:
            return None
        return factors
