"""The quasi-Newton model of the loss: limited-memory BFGS in compact form, on the working set only.

With pairs ``s_i = w_{i+1} - w_i`` and ``y_i = g_{i+1} - g_i`` the paper's matrix is
``B = γI - Q R Qᵀ``, ``Q = [γS, Y]``, ``R = [[γSᵀS, L], [Lᵀ, -D]]⁻¹``, L the strictly lower part
and D the diagonal of ``SᵀY``. Writing out the block inverse gives the same B as
``γI + P Pᵀ - C Cᵀ`` (``cpp/subproblem.hpp``), which is what coordinate descent uses.

Only the rows of S and Y on the working set are kept. The inner products SᵀS and SᵀY are computed
once, when a pair arrives, and are not recomputed when rows leave: a later step is zero outside the
working set of its time, so its inner products over that set are exact, and B on the remaining rows
is the exact submatrix of the B one would have without shrinking.
"""

from __future__ import annotations

from enum import Enum
from types import ModuleType
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem import Floats, Ints

_CURVATURE = 1e-12  # a pair needs sᵀy above this times |s||y|


class Scaling(Enum):
    """How γ, the curvature outside the memory, follows from the newest pair."""

    PAPER = "yᵀs / sᵀs"
    GEOMETRIC = "‖y‖ / ‖s‖"


@final
class CompactBFGS:
    """B on the rows of the working set.

    Attributes
    ----------
    gamma : float
        The scale of ``B₀ = γI``.
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
        self._SS: Floats = np.empty((0, 0))  # SᵀS [m, m]
        self._SY: Floats = np.empty((0, 0))  # SᵀY [m, m], of which only i ≥ j is used

    def __len__(self) -> int:
        return len(self._S)

    def clear(self) -> None:
        """Forget all pairs; γ stays."""
        self._S, self._Y = self._S[:0], self._Y[:0]
        self._SS, self._SY = self._SS[:0, :0], self._SY[:0, :0]

    def append(self, s: Floats, y: Floats) -> bool:
        """Take in a pair; False where it fails sᵀy > 0 and is left out."""
        sy, ss, yy = float((s * y).sum()), float((s * s).sum()), float((y * y).sum())
        if not sy > _CURVATURE * np.sqrt(ss * yy):
            return False
        self.gamma = sy / ss if self._scaling is Scaling.PAPER else float(np.sqrt(yy / ss))
        if len(self) == self._memory:
            self._S, self._Y = self._S[1:], self._Y[1:]
            self._SS, self._SY = self._SS[1:, 1:], self._SY[1:, 1:]
        n = len(self)
        SS, SY = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        SS[:n, :n], SY[:n, :n] = self._SS, self._SY
        SS[n, :n] = SS[:n, n] = np.einsum("ij,j->i", self._S, s)
        SY[n, :n] = np.einsum("ij,j->i", self._Y, s)
        SS[n, n], SY[n, n] = ss, sy
        self._SS, self._SY = SS, SY
        self._S, self._Y = np.vstack([self._S, s]), np.vstack([self._Y, y])
        return True

    def keep_rows(self, keep: Ints) -> None:
        """Drop the rows of variables that leave the working set."""
        self._S = np.ascontiguousarray(self._S[:, keep])
        self._Y = np.ascontiguousarray(self._Y[:, keep])

    def replace_rows(self, source: Ints) -> None:
        """Re-index for a new epoch: row i comes from row ``source[i]``, or is zero if that is -1.

        A zero row means that B is γ on this variable's diagonal and does not couple it to others.
        The inner products are recomputed over the rows that are left; a pair whose curvature is
        lost with its rows goes.
        """
        known = source >= 0
        for name in ("_S", "_Y"):
            rows = np.zeros((len(self), len(source)))
            rows[:, known] = getattr(self, name)[:, source[known]]
            setattr(self, name, rows)
        sy = (self._S * self._Y).sum(axis=1)
        norms = np.sqrt((self._S**2).sum(axis=1) * (self._Y**2).sum(axis=1))
        good = sy > _CURVATURE * norms
        self._S, self._Y = self._S[good], self._Y[good]
        self._SS = np.einsum("ik,jk->ij", self._S, self._S)
        self._SY = np.einsum("ik,jk->ij", self._S, self._Y)

    def rows(self) -> tuple[Floats, Floats] | None:
        """Return [P | C] of shape (|A|, 2m) and B's diagonal, or None where B has broken down."""
        size = self._S.shape[1]
        rows, diagonal = np.empty((size, 2 * len(self))), np.full(size, self.gamma)
        if len(self) == 0:
            return rows, diagonal
        positive = self._kernels.memory_rows(
            self._S, self._Y, self._SS, self._SY, self.gamma, rows, diagonal
        )
        if not positive or not diagonal.min(initial=np.inf) > 0.0:
            return None
        return rows, diagonal
