"""What some solvers need beyond the seam: single samples, and blocks of weights.

The methods of an :class:`~proxqn.problem.Oracle` see all samples at once. Stochastic gradient
descent steps after each sample, and blockwise coordinate descent after each feature; at that rate a
call from Python would cost more than the work. So an oracle that can serve them hands out an object
that makes many such steps in one compiled call:

==================  ========================================================================
``SampleOracle``    ``samples()`` gives :class:`SampleSteps`, for ``solvers/rivals/sgd.py``
``BlockOracle``     ``blocks()`` gives :class:`BlockSteps`, for ``solvers/rivals/bcd.py``
==================  ========================================================================

Both keep a dense weight for every coordinate. They share the oracle's data, not its current point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from proxqn.problem import Floats, Ints, Oracle, SparseVector


class SampleSteps(ABC):
    """Weights that move after every sample, with the cumulative ℓ1 penalty (``cpp/sgd.hpp``)."""

    @abstractmethod
    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``, with no step made and no penalty received."""

    @abstractmethod
    def descend(self, order: Ints, *, rate: float, lam: float, l2: float = 0.0) -> None:
        """Make a step with each sample in turn, by ``rate / (1 + k/N)`` in the k-th step so far."""

    @abstractmethod
    def weights(self) -> SparseVector:
        """Return the weights, all penalties brought up to date."""

    @abstractmethod
    def loss(self, order: Ints) -> float:
        """Return the sum of these samples' losses at the weights last returned."""


@final
@dataclass(frozen=True)
class BlockRule:
    """How a block moves: the penalty, Armijo's β and σ, and the floor of second derivatives."""

    lam: float
    l2: float
    sigma: float
    beta: float
    floor: float
    max_trials: int


@final
@dataclass(frozen=True)
class BlockPass:
    """What a pass over some blocks found, block by block, before it moved each."""

    violation: Floats  # largest entry of the min-norm subgradient
    excess: Floats  # largest |g_j| - λ of weights at zero; infinite where a weight is not zero
    forward: int  # samples whose forward inference was run
    backward: int
    refused: int  # blocks in which no trial lowered the objective

    def __len__(self) -> int:
        return len(self.violation)


class BlockSteps(ABC):
    """Weights that move block by block, each with a line search of its own (``cpp/bcd.hpp``)."""

    @property
    @abstractmethod
    def sizes(self) -> Ints:
        """The number of coordinates in each block."""

    @abstractmethod
    def restart(self, weights: SparseVector) -> None:
        """Go to ``weights``: forward inference on all samples."""

    @abstractmethod
    def descend(self, blocks: Ints, rule: BlockRule, *, budget: int) -> BlockPass:
        """Move blocks in turn until all are done or ``budget`` forward inferences were made."""

    @abstractmethod
    def weights(self) -> SparseVector:
        """Return the weights."""

    @abstractmethod
    def loss(self) -> float:
        """Return ℓ at the weights; no inference."""


class SampleOracle(ABC):
    """An oracle whose loss is a sum over samples that each touch few weights."""

    @abstractmethod
    def samples(self) -> SampleSteps:
        """Return a stepper over single samples."""


class BlockOracle(ABC):
    """An oracle with blocks of weights whose second derivatives follow from its marginals."""

    @abstractmethod
    def blocks(self) -> BlockSteps:
        """Return a stepper over blocks."""


def samples_of(oracle: Oracle, solver: str) -> SampleSteps:
    """Return the oracle's sample steps, or say what it lacks."""
    if isinstance(oracle, SampleOracle):
        return oracle.samples()
    raise TypeError(_missing(oracle, solver, "SampleOracle", "samples()", "single samples"))


def blocks_of(oracle: Oracle, solver: str) -> BlockSteps:
    """Return the oracle's block steps, or say what it lacks."""
    if isinstance(oracle, BlockOracle):
        return oracle.blocks()
    raise TypeError(_missing(oracle, solver, "BlockOracle", "blocks()", "blocks of weights"))


def _missing(oracle: Oracle, solver: str, capability: str, method: str, what: str) -> str:
    return (
        f"{type(oracle).__name__} does not work with solver {solver!r}, which needs {what}: it "
        f"must implement proxqn.problem.stepwise.{capability}. Missing: {method}. The solvers "
        "'prox-qn', 'prox-gd' and 'owl-qn' work with any oracle."
    )
