"""Linear-chain conditional random fields.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_t, y_{t+1}])`` and ``ℓ = -Σ_i log P(y_i|x_i)``. The
weights are numbered feature by feature: coordinate ``c·L + y`` is Θ of label y and the c-th feature
that occurs in the data, and the L² transition weights Λ[y, y'] follow at the end.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.dense import DenseColumns
from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.features.weight_pairs import WeightPairs
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.data import Pairs as Pairs
from proxqn.losses.chain.passes import ChainPasses, Precision
from proxqn.losses.chain.point import ChainPoint
from proxqn.losses.chain.scores import ChainScores, DoubleScores, SingleScores
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.stepwise import BlockSteps, SampleSteps, StochasticOffer
from proxqn.problem.units import Rescaled

_MANY_SCORES = 1 << 17  # a MB of doubles: a usual L2 cache


@final
class ChainOracle(Oracle):
    """Minus the log-likelihood of a linear-chain CRF.

    All points of it, and of :meth:`rounded`, share the memory of scores and residuals: to go to one
    spends the others.

    Parameters
    ----------
    X : csr_array or array of shape (n_tokens, n_features)
        Finite; any numeric dtype. Dense columns of an array are not copied
        (:mod:`proxqn.features.dense`): it must stay as it is.
    labels : array of shape (n_tokens,)
        True labels as numbers below ``n_labels``.
    lengths : array of shape (n_sequences,)
        Tokens of each sequence, at least one.
    pairs : Pairs or WeightPairs
        Weights for all (feature, label) pairs or only for those seen in the data; or which ones,
        those of neighbouring labels included.
    transition_pairs : Pairs, optional
        The same for pairs of neighbouring labels; as ``pairs`` by default.
    sample_weight : array of shape (n_sequences,), optional
        Factors of the sequences' losses.
    dense : DenseColumns, optional
        Columns beside those of X, which are empty there.
    n_jobs : int
        Threads; the result does not depend on it.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.chain.reference`` for the readable NumPy truth.

    Examples
    --------
    >>> from proxqn.problem.sparse import SparseVector
    >>> X = sp.csr_array(np.eye(3))
    >>> oracle = ChainOracle(X, np.array([0, 1, 1]), np.array([2, 1]), n_labels=2)
    >>> oracle.n_parameters
    10
    >>> point = oracle.at(SparseVector.empty())
    >>> round(point.value, 4)  # three tokens, two labels: 3 log 2
    2.0794
    >>> point.gradient(np.array([0, 1]))  # of both labels of the first feature
    array([-0.5,  0.5])
    """

    def __init__(
        self,
        X: sp.csr_array | NDArray[Any],
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        pairs: Pairs | WeightPairs = Pairs.ALL,
        transition_pairs: Pairs | None = None,
        sample_weight: Floats | None = None,
        dense: DenseColumns | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        data = ChainData.of_tokens(
            X,
            labels,
            lengths,
            dense=dense,
            n_labels=n_labels,
            pairs=pairs,
            transition_pairs=transition_pairs or pairs,
            sample_weight=sample_weight,
            kernels=kernels,
        )
        self._take(ChainPasses(data, n_jobs=n_jobs, kernels=kernels), DoubleScores)

    @classmethod
    def on(cls, passes: ChainPasses, kind: type[ChainScores] = DoubleScores) -> Self:
        """Return the loss whose points share the memory of these passes, in a precision."""
        oracle = cls.__new__(cls)
        oracle._take(passes, kind)
        return oracle

    def _take(self, passes: ChainPasses, kind: type[ChainScores]) -> None:
        self._passes, self._model, self._precision = passes, passes.data, Precision(kind)
        self.n_jobs, self.n_labels = passes.n_jobs, passes.data.n_labels

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
        self._passes.lease.overwrite()
        value = self._passes.start(weights, self._precision)
        return ChainPoint(self._passes, weights, value)

    def pass_cost(self) -> float:
        """3 L² multiply-adds a token for the recursions, and 2 L exponentials of about 20."""
        return self._model.pass_cost

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the label's share of the tokens, not its marginals."""
        return self._model.curvatures(coordinates)

    def restrict(self, samples: Ints, factor: float = 1.0) -> ChainOracle:
        """Return the loss of some sequences, in the same precision."""
        kernels = self._passes.kernels
        part, _ = self._model.restrict(samples, factor, kernels, self.n_jobs)
        found = ChainOracle.on(ChainPasses(part, n_jobs=self.n_jobs, kernels=kernels))
        rounded = found.rounded() if self._precision.kind is SingleScores else None
        return rounded or found

    def rescaled(self, start: SparseVector) -> Rescaled | None:
        """Return the same loss with all columns of one size."""
        found = self._model.rescaled()
        if found is None:
            return None
        data, units = found
        passes = ChainPasses(data, n_jobs=self.n_jobs, kernels=self._passes.kernels)
        return Rescaled(ChainOracle.on(passes), units)

    def rounded(self) -> ChainOracle | None:
        """Return the same loss with scores of four bytes, until they are too far apart for it.

        Small problems have nothing to gain, and the reference knows only one precision.
        """
        small = self.n_labels * self.layout.stride < _MANY_SCORES
        if small or not self._compiled or self._precision.kind is SingleScores or self._model.wide:
            return None
        return ChainOracle.on(self._passes, SingleScores)

    @property
    def _compiled(self) -> bool:
        """Whether it is a plain chain on the compiled kernels."""
        return self._passes.plain and self._passes.kernels is _kernels

    def samples(self) -> SampleSteps:
        """Return a stepper over single sequences, for stochastic gradient descent."""
        from proxqn.losses.chain.sample_steps import ChainSamples

        return ChainSamples(self._model)

    def stochastic(self, penalty: Penalty) -> StochasticOffer | None:
        """Return what stochastic steps with remembered gradients would cost, for plain chains."""
        from proxqn.losses.chain.saga_steps import offer

        compiled = self._compiled and not self._model.wide
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
        data, n_labels, entries = self._model, self.n_labels, sp.coo_array(coef)
        column = data.features.places(entries.col)
        known = column >= 0
        states = column[known] * n_labels + entries.row[known]
        values = entries.data[known]
        if data.pairs is not None:
            start, pair_labels = data.pairs
            own = np.repeat(np.arange(len(start) - 1), np.diff(start))
            admitted = np.isin(states, own * n_labels + pair_labels)
            states, values = states[admitted], values[admitted]
        order = np.argsort(states)
        found = SparseVector(states[order].astype(np.int64), values[order].astype(np.float64))
        return SplitWeights(found, np.where(data.admitted, transitions, 0.0)).joined(data.n_states)

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats]:
        """Return coefficients (labels x features, sparse) and transitions (labels x labels)."""
        data = self._model
        weights = data.split(w)
        column, label = np.divmod(weights.states.coordinates, data.n_labels)
        shape = data.n_labels, data.features.n_features
        short = max(shape) <= np.iinfo(np.int32).max
        kind: Any = np.int32 if short else np.int64  # scipy keeps what comes
        place: Any = label.astype(kind), data.features.columns[column].astype(kind)
        coef = sp.coo_array((weights.states.values, place), shape=shape).tocsr()
        return coef, weights.transitions
