"""Another penalty, with bounds on all weights."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Ints


@final
class Bounded(Penalty):
    """A penalty whose weights are at most so large.

    Then every violated weight has its price, so that there is a proof under small λ, too.

    Parameters
    ----------
    penalty : Penalty
        The other one.
    largest : float
        ``|w_j|`` at most; above 0.

    Examples
    --------
    >>> from proxqn.penalties.elastic_net import ElasticNet
    >>> penalty = Bounded(ElasticNet(1.0), 2.0)
    >>> penalty.on(np.array([0, 3])).prox(np.array([9.0, 2.5]), curvature=1.0)
    array([2. , 1.5])
    """

    def __init__(self, penalty: Penalty, largest: float) -> None:
        if not (isinstance(largest, int | float | np.number) and 0.0 < largest < math.inf):
            raise ValueError(
                f"max_weight must be a finite number above 0, or None: no bound; got {largest!r}."
            )
        self._penalty, self.largest = penalty, float(largest)

    def on(self, coordinates: Ints) -> Local:
        """Return what the other says, within the bounds."""
        local, bound = self._penalty.on(coordinates), self.largest
        lower, upper = np.maximum(local.lower, -bound), np.minimum(local.upper, bound)
        return Local(local.lam, local.l2, lower, upper)

    @property
    def least(self) -> float:
        """The smallest λ above 0."""
        return self._penalty.least

    @property
    def unpenalised(self) -> Ints:
        """The coordinates whose λ is 0."""
        return self._penalty.unpenalised
