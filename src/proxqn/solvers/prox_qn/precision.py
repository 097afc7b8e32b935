"""Single precision while it leads on, double precision for what is proved and returned."""

from __future__ import annotations

from typing import final

from proxqn.problem.abilities import Precisions
from proxqn.problem.oracle import Oracle, Point
from proxqn.solvers.standing import Standing

ROUNDING = 1e-5  # relative error of losses and bounds in single precision, with room


@final
class Precision:
    """An oracle in the precision that a run works in now.

    Parameters
    ----------
    single : bool
        Begin in single precision, where the oracle can.
    """

    def __init__(self, oracle: Oracle, *, single: bool) -> None:
        self._exact = oracle
        rounded = oracle.rounded() if single and isinstance(oracle, Precisions) else None
        self.oracle: Oracle = rounded or oracle

    @property
    def single(self) -> bool:
        """Whether it is single precision."""
        return self.oracle is not self._exact

    def refine(self, standing: Standing) -> Point | None:
        """Go to the iterate in double precision; None where the run is there already.

        What was proved in single precision holds less its rounding.
        """
        if not self.single:
            return None
        self.oracle = self._exact
        point = self.oracle.at(standing.iterate.weights)
        standing.refined(point.value, ROUNDING * abs(point.value))
        return point
