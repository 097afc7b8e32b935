"""Why a run ended and how far from the optimum, in the sentences that the user reads."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any


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
    STALLED = "stopped: no step was found that lowers the objective by more than its rounding error"
    NOISE = (
        "stopped: what steps may still gain is lost in the noise of the loss's values (is it "
        "computed in single precision, or at random?)"
    )
    INTERRUPTED = "interrupted: the last accepted iterate is returned"
    CALLBACK = "stopped: the callback asked for it"
    DEVELOPMENT = "stopped: the iterate with the best score on the development set is kept"
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


_WORTH_SAYING = 0.9  # of the gap to all weights: what is proved among some


def distance(objective: float, known: Any) -> str:
    """Return the sentence.

    Parameters
    ----------
    known : object
        With ``estimate``, ``gap``, ``gap_box`` and ``box``, as results have them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> distance(200.0, SimpleNamespace(estimate=0.02, gap=116.0, gap_box=26.0, box=35.2))
    'estimated 0.01 % above the optimum; proved within 13 % among weights up to 35, 58 % of all'
    >>> distance(200.0, SimpleNamespace(estimate=0.2, gap=0.2, gap_box=0.2, box=math.inf))
    'proved within 0.1 % of the optimum'
    """
    if not objective or math.isnan(objective):
        return ""
    said = []
    if known.estimate < known.gap:
        said.append(f"estimated {_share(known.estimate, objective)} above the optimum")
    if math.isfinite(known.gap_box) and known.gap_box < _WORTH_SAYING * known.gap:
        among = f"{_share(known.gap_box, objective)} among weights up to {known.box:.2g}"
        of_all = f", {_share(known.gap, objective)} of all" if math.isfinite(known.gap) else ""
        said.append(f"proved within {among}{of_all}")
    elif math.isfinite(known.gap):
        said.append(f"proved within {_share(known.gap, objective)} of the optimum")
    return "; ".join(said)


def _share(part: float, whole: float) -> str:
    share = 100.0 * part / abs(whole)
    return f"{share:.0f} %" if 99.5 <= share < 1e6 else f"{share:.2g} %"  # 100 %, not 1e+02 %
