"""Why a run ended, in the sentence that the user reads."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Why a solver stopped; the value is the sentence the user reads."""

    GAP = "converged: the duality gap is at most tol times the objective"
    ESTIMATE = "converged: the estimated error is at most tol times the objective"
    KKT = "converged: the largest subgradient entry is at most tol times lam (no gap is known)"
    UNPENALISED = (
        "converged: the largest subgradient entry is at most tol times lam (no gap is known: some "
        "weights have no penalty; bounds on them would give one)"
    )
    STATIONARY = (
        "converged to a stationary point: the largest subgradient entry is at most tol times lam "
        "(the loss is not convex, so there is no certificate)"
    )
    MAX_ITER = "stopped: max_iter iterations made before the tolerance was reached"
    STALLED = "stopped: no step lowers the objective by more than its rounding error"
    INTERRUPTED = "interrupted: the last accepted iterate is returned"
    CALLBACK = "stopped: the callback asked for it"
    IMPORTED = "imported: another program's file, which does not say how well it was fitted"
    UNBOUNDED = (
        "failed: the objective fell below -1e100: the loss is not bounded below (is it concave, or "
        "has it the wrong sign?)"
    )
    NOT_FINITE = "failed: the loss or its gradient is not finite at the point returned"

    @property
    def success(self) -> bool:
        """Whether the tolerance was reached."""
        return self in _REACHED


_REACHED = (Status.GAP, Status.ESTIMATE, Status.KKT, Status.UNPENALISED, Status.STATIONARY)
