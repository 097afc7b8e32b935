"""When an epoch ends, and how many variables the first ones take in.

An epoch begins with a look at all variables and ends once the violation on its working set is a
fraction of what it was over all of them, or after a tenth of the iterations so far: what is left
may not be seen from inside. So the last look is never late by more, and looks stay cheap: a sweep
costs less than an iteration. With drawn curvature an epoch lasts a few steps: draws are worth
renewing. From w = 0, where nearly every derivative exceeds λ and few will in the end, the first
epochs take in only the largest.
"""

from __future__ import annotations

import math
from typing import final

import numpy as np

from proxqn.problem.oracle import Oracle
from proxqn.solvers.working_set import WorkingSet

_DRAWN_STEPS = 8  # iterations until all variables are looked at
_PAIRED_STEPS, _LATE = 16, 0.1  # the same with pairs; of the iterations so far, if that is more
_MIN_FIRST = 1000  # variables
_FIRST_A_SAMPLE = 8  # variables


@final
class Epochs:
    """The tolerance of the present epoch, and its last iteration.

    Attributes
    ----------
    cut_short : bool
        Whether an epoch of pairs ended before it got to its tolerance.

    Parameters
    ----------
    cooling : float
        The fraction.
    """

    def __init__(self, cooling: float) -> None:
        self._cooling = cooling
        self._tolerance = math.inf  # of the violation on the working set
        self._until = math.inf  # the iteration at which to look again whatever has been reached
        self.cut_short = False
        self._drawing = False

    def begin(self, violation: float, iteration: int, *, drawing: bool) -> None:
        """Set the tolerance of an epoch, given the violation over all variables."""
        if self._drawing and not drawing:
            self._tolerance = math.inf  # short epochs had tightened it
        before = self._tolerance / self._cooling if self.cut_short else self._tolerance
        self._tolerance = self._cooling * min(before, violation)
        self._until = iteration + (_DRAWN_STEPS if drawing else _paired_steps(iteration))
        self.cut_short, self._drawing = False, drawing

    def end_after(self, iteration: int) -> None:
        """Look at all variables again after this iteration."""
        self._until = iteration

    def reached(self, violation: float) -> bool:
        """Whether the violation on the working set is small enough."""
        return violation <= self._tolerance

    def over(self, violation: float, iteration: int) -> bool:
        """Whether it is time to look at all variables again."""
        if self.reached(violation):
            return True
        self.cut_short = iteration >= self._until and not self._drawing
        return iteration >= self._until


def _paired_steps(iteration: int) -> int:
    return max(_PAIRED_STEPS, int(_LATE * iteration))


def most_at_first(at: WorkingSet, oracle: Oracle, share: float) -> WorkingSet:
    """Return the part of a working set to begin with: few samples do not tell of many variables."""
    told = max(_FIRST_A_SAMPLE * oracle.n_samples, 2 * int(np.count_nonzero(at.w)))
    limit = max(_MIN_FIRST, min(int(share * oracle.n_coordinates), told))
    return at.take(at.most_violating(limit))
