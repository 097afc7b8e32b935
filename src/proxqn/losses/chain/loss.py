"""The loss of linear chains on indexed data: what an oracle of any of them is made of."""

from __future__ import annotations

import scipy.sparse as sp

from proxqn import _kernels
from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.chain import coefficients
from proxqn.losses.chain.memory import ChainMemory
from proxqn.losses.chain.passes import ChainPasses
from proxqn.losses.chain.point import ChainPoint
from proxqn.losses.chain.scores import ChainScores, DoubleScores, SingleScores
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import BlockSteps, SampleSteps, StochasticOffer

_MANY_SCORES = 1 << 17  # a MB of doubles: a usual L2 cache


class ChainLoss(Oracle):
    """Minus the log-likelihood of a linear chain, in one of two precisions.

    Parameters
    ----------
    memory : ChainMemory
        Data, threads and kernels, and the arrays that all points share, also those of the same loss
        in another precision.
    kind : type
        The scores of the precision to work in.
    """

    def __init__(self, memory: ChainMemory, kind: type[ChainScores] = DoubleScores) -> None:
        self._memory, self._model = memory, memory.data
        self._passes = ChainPasses(memory, kind)
        self.n_jobs, self.n_labels = memory.n_jobs, memory.data.n_labels

    @property
    def layout(self) -> SequenceLayout:
        """Where the tokens stand."""
        return self._model.layout

    @property
    def data(self) -> FeatureIndexed:
        """The features of tokens, by feature."""
        return self._model.features

    @property
    def n_coordinates(self) -> int:
        """Numbers in use: all labels of every feature that occurs, and all label pairs."""
        return self._model.n_coordinates

    @property
    def n_parameters(self) -> int:
        """d: all labels x all features + label pairs, or the observed ones of these."""
        return self._model.n_parameters

    @property
    def n_samples(self) -> int:
        """The number of sequences."""
        return self._model.layout.n_sequences

    def at(self, w: SparseVector) -> ChainPoint:
        """Run a forward and a backward pass; in double precision the data are gone through once."""
        weights = self._model.split(w.nonzero())
        self._memory.lease.overwrite()
        value = self._passes.start(weights)
        return ChainPoint(self._passes, weights, value)

    def pass_cost(self) -> float:
        """3 L² multiply-adds a token for the recursions, and 2 L exponentials of about 20."""
        return self._model.pass_cost

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the label's share of the tokens, not its marginals."""
        return self._model.curvatures(coordinates)

    def restrict(self, samples: Ints, factor: float = 1.0) -> ChainLoss:
        """Return the loss of some sequences, in the same precision."""
        memory = self._memory
        part, _ = self._model.restrict(samples, factor, memory.kernels, memory.n_jobs)
        found = ChainLoss(ChainMemory(part, n_jobs=memory.n_jobs, kernels=memory.kernels))
        rounded = found.rounded() if self._passes.kind is SingleScores else None
        return rounded or found

    def rounded(self) -> ChainLoss | None:
        """Return the same loss with scores of four bytes, until they are too far apart for it.

        Small problems have nothing to gain, and the reference knows only one precision.
        """
        memory = self._memory
        small = self.n_labels * self.layout.stride < _MANY_SCORES
        if small or not memory.plain or memory.kernels is not _kernels:
            return None
        return None if self._passes.kind is SingleScores else ChainLoss(memory, SingleScores)

    def samples(self) -> SampleSteps:
        """Return a stepper over single sequences, for stochastic gradient descent."""
        from proxqn.losses.chain.sample_steps import ChainSamples

        return ChainSamples(self._model)

    def stochastic(self, penalty: Penalty) -> StochasticOffer | None:
        """Return what stochastic steps with remembered gradients would cost, for plain chains."""
        from proxqn.losses.chain.saga_steps import offer

        memory = self._memory
        compiled = memory.plain and memory.kernels is _kernels
        return offer(self._model, penalty, self.n_jobs) if compiled else None

    def blocks(self) -> BlockSteps:
        """Return a stepper over features, for blockwise coordinate descent."""
        from proxqn.losses.chain.block_steps import ChainBlocks

        return ChainBlocks(self._model)

    def pack(self, coef: sp.csr_array, transitions: Floats) -> SparseVector:
        """Turn coefficients (labels x features) and transitions into a weight vector.

        What has no weight here is left out: features that do not occur, pairs not admitted. With
        :meth:`unpack` this is the estimator's side of a loss: no solver asks for it.
        """
        return coefficients.pack(self._model, coef, transitions)

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats]:
        """Return coefficients (labels x features, sparse) and transitions (labels x labels)."""
        return coefficients.unpack(self._model, w)
