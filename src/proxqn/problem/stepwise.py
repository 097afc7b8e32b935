"""What some solvers need beyond the seam: single samples, and blocks of weights.

The methods of an :class:`~proxqn.problem.Oracle` see all samples at once. Stochastic gradient
descent steps after each sample, and blockwise coordinate descent after each feature; at that rate a
call from Python would cost more than the work. So an oracle that can serve them hands out an object
that makes many such steps in one compiled call:

``samples()`` (``abilities.Steps``) gives :class:`SampleSteps`, for ``solvers/rivals/sgd.py``,
``blocks()`` (``abilities.Blocks``) gives :class:`BlockSteps`, for ``solvers/rivals/bcd.py``, and
``stochastic()`` (``abilities.Stochastic``) offers :class:`StochasticSteps`, for the start of
``solvers/prox_qn/start.py``.

They keep a dense weight for every coordinate. They share the oracle's data, not its current point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from proxqn.problem.sparse import Floats, Ints, SparseVector


class SampleSteps(ABC):
    """Weights that move after each sample, with a cumulative ℓ1 penalty: ``cpp/rivals/sgd.hpp``."""

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


class StochasticSteps(ABC):
    """Weights from zero on, that move sample by sample under any penalty.

    They forget no gradient (``cpp/stochastic/saga.hpp``), so that they converge.
    """

    @abstractmethod
    def epoch(self, seed: int) -> float:
        """Visit all samples, in random order; return the sum of the losses met on the way."""

    @abstractmethod
    def weights(self) -> SparseVector:
        """Return the weights."""


@final
@dataclass(frozen=True)
class StochasticOffer:
    """What stochastic steps would cost and be made on, and how to begin them."""

    cost: float  # multiply-adds of an epoch, roughly, beside which ``Priced`` puts a pass
    n_free: int  # features whose derivatives may be several times as large as λ
    n_rows: int  # places where the loss is told something: tokens, samples
    n_entries: int  # of the data, that an epoch visits
    begin: Callable[[], StochasticSteps]


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
    """Weights that move by blocks, each with a line search: ``cpp/rivals/block_descent.hpp``."""

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
