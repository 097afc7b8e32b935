"""What the loop asks of a model of the loss's curvature, whichever it is.

Two models share it: pairs of steps and derivatives (``quasi_newton.py``), which every loss gives,
and draws from a probabilistic model (``drawn.py``), which few give and which correct themselves by
pairs. The loop knows one of them at a time, and what to fall back on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from proxqn.problem.sparse import Floats, Ints
from proxqn.solvers.inner import Direction, Effort
from proxqn.solvers.line_search import Step
from proxqn.solvers.working_set import WorkingSet


class Curvature(ABC):
    """A quadratic model of ℓ on the working set."""

    @abstractmethod
    def direction(self, at: WorkingSet, effort: Effort) -> Direction | None:
        """Minimise the model plus the penalty; None where the model has broken down."""

    @abstractmethod
    def learn(self, s: Floats, y: Floats, step: Step) -> str:
        """Take in a step s and the change y of the derivatives; what went wrong, in words."""

    @abstractmethod
    def restrict(self, keep: Ints) -> None:
        """Go on with some positions of the working set."""

    @abstractmethod
    def fall_back(self) -> Curvature | None:
        """Return the model to use where this one leads nowhere; None for the last resort."""
