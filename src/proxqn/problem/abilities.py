"""What an oracle or a point may offer beside the seam: one method each, found by ``isinstance``.

=================  ======  =====================================================================
``Draws``          point   a random J with ``E[JᵀJ] = ∇²ℓ``: curvature without products
``Rounded``        point   how far its derivatives may be from the exact ones
``Diagonal``       oracle  a rough diagonal of the Hessian: where a quasi-Newton model starts
``Subsamples``     oracle  the same loss on some samples: warm-up, folds of a cross-validation
``Precisions``     oracle  the same loss in single precision: faster, right to six digits or so
``Rescalable``     oracle  the same loss in variables of one size (``units.py``)
``Priced``         oracle  what a pass costs: the inner problem's budget
``Steps``          oracle  compiled stochastic steps (``stepwise.py``)
``Stochastic``     oracle  such steps that converge, under any penalty (``stepwise.py``)
``Blocks``         oracle  compiled steps block by block (``stepwise.py``)
=================  ======  =====================================================================

Nothing needs to be inherited: a class that has the method has the ability. A solver does without
what is not there.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector
from proxqn.problem.stepwise import BlockSteps, SampleSteps, StochasticOffer
from proxqn.problem.units import Rescaled


@runtime_checkable
class Draws(Protocol):
    """A point of a probabilistic loss, whose Hessian is a covariance."""

    def draw(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Return a random J with ``E[JᵀJ] = ∇²ℓ`` on ascending coordinates: one forward pass.

        J has about ``n_rows`` rows, or more where they are cheap: the variance falls with their
        number. None where this point cannot draw. What a trial has written over, this restores.
        """


@runtime_checkable
class Rounded(Protocol):
    """A point that knows what rounding may have done; then proofs allow for it."""

    def conjugate_error(self, scale: float) -> float:
        """Return by how much ``conjugate(scale)`` may be too small."""

    def errors(self, coordinates: Ints) -> Floats:
        """Return by how much derivatives on ascending coordinates may be off, at most."""

    def largest_error(self) -> float:
        """Return the same of all derivatives."""


@runtime_checkable
class Diagonal(Protocol):
    """An oracle that knows roughly how curved its loss is in each coordinate."""

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return a rough diagonal of the Hessian, up to a common factor; no inference."""


@runtime_checkable
class Subsamples(Protocol):
    """An oracle whose loss is a sum over samples."""

    def restrict(self, samples: Ints, factor: float = 1.0) -> Oracle:
        """Return the loss on some samples, ascending, each multiplied by ``factor``.

        Its coordinates have the same numbers, and weights for the same pairs, so that weights,
        curvature and λ carry over.
        """


@runtime_checkable
class Precisions(Protocol):
    """An oracle that can also work in single precision."""

    def rounded(self) -> Oracle | None:
        """Return the same loss in single precision, or None where nothing is gained by it.

        Both may share memory: to go to a point of one spends those of the other.
        """


@runtime_checkable
class Rescalable(Protocol):
    """An oracle whose data may be of very different sizes."""

    def rescaled(self, start: SparseVector) -> Rescaled | None:
        """Return the same loss in variables of one size; None where they are of about one size.

        ``start`` is where a run begins: what is found out there may be of use to it. Both may share
        memory: to go to a point of one spends those of the other.
        """


@runtime_checkable
class Priced(Protocol):
    """An oracle that knows what it costs."""

    def pass_cost(self) -> float:
        """Return the multiply-adds of a forward and a backward pass, roughly."""


@runtime_checkable
class Steps(Protocol):
    """An oracle whose loss is a sum over samples that each touch few weights."""

    def samples(self) -> SampleSteps:
        """Return a stepper over single samples."""


@runtime_checkable
class Stochastic(Protocol):
    """An oracle whose loss is a sum over samples, of which it can remember the gradients."""

    def stochastic(self, penalty: Penalty) -> StochasticOffer | None:
        """Return what steps from zero would cost; None where they would take too much memory."""


@runtime_checkable
class Blocks(Protocol):
    """An oracle with blocks of weights whose second derivatives follow from its marginals."""

    def blocks(self) -> BlockSteps:
        """Return a stepper over blocks."""


ABILITIES = (
    Draws,
    Rounded,
    Diagonal,
    Subsamples,
    Precisions,
    Rescalable,
    Priced,
    Steps,
    Stochastic,
    Blocks,
)
