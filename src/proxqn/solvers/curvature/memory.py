"""What a run has learned of the curvature, as data: the next run on the same loss begins with it.

Another λ is another problem of the same loss: pairs of steps and derivatives hold there as they
stand, and so does what was found out about draws. A result carries them (``result.memory``), and
``minimize(loss, lam, x0=result)`` goes on with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from proxqn.problem.sparse import Floats, Ints


@final
@dataclass(frozen=True)
class DrawExperience:
    """What was found out about draws."""

    steps: int = 0  # made with draws
    refused: float = 0.0  # share of the latest steps that were refused at first
    raised: float = 1.0  # what the ridge has been multiplied by


@final
@dataclass(frozen=True)
class Memory:
    """Pairs on the rows of a working set, and the scale beside them."""

    coordinates: Ints  # of the working set, ascending
    steps: Floats  # [m, |A|], the oldest first
    changes: Floats  # [m, |A|] of the derivatives
    gamma: float
    draws: DrawExperience
