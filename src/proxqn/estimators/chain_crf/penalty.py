"""The penalty of a chain, whose groups of weights may have a λ of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from proxqn.estimators.base import own_lam
from proxqn.penalties import ElasticNet
from proxqn.penalties.blocks import Blocks
from proxqn.penalties.cyclic import Cyclic
from proxqn.problem.penalty import Penalty


@final
@dataclass(frozen=True)
class ChainPenalty:
    """λ of all weights, and of groups that have one of their own; made before the data are read.

    Examples
    --------
    >>> penalty = ChainPenalty.of(1.0, 0.0, lam_transitions=0.0, lam_intercept=None)
    >>> penalty.on_groups(lambda: {"features": 10, "transitions": 4}).unpenalised
    array([10, 11, 12, 13])
    """

    rest: ElasticNet
    own: dict[str, Callable[[int], Penalty]] = field(default_factory=dict)

    @classmethod
    def of(cls, lam: float, l2: float, *, lam_transitions: Any, lam_intercept: Any) -> ChainPenalty:
        """Make it of an estimator's parameters; refuse bad ones."""
        rest, own = ElasticNet(lam, l2), {}
        given = {"transitions": lam_transitions, "intercept": lam_intercept}
        for group, value in given.items():
            if value is not None:
                own[group] = _constant(own_lam(f"lam_{group}", value), l2)
        return cls(rest, own)

    def on_groups(self, groups: Callable[[], dict[str, int]]) -> Penalty:
        """Return the penalty of coordinates that come group by group, so many each."""
        if not self.own:
            return self.rest
        sizes = groups()
        boundaries = np.cumsum(list(sizes.values()))[:-1]
        parts = [self.own[name](n) if name in self.own else self.rest for name, n in sizes.items()]
        return Blocks(boundaries.tolist(), parts)


def _constant(lam: float, l2: float) -> Callable[[int], Penalty]:
    """Return what makes a penalty of so many coordinates; with λ = 0 they have no ridge either."""
    return lambda size: Cyclic([lam], l2 if lam > 0.0 else 0.0, size=size)
