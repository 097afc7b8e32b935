"""The passes that points and lines of a chain's loss are made of.

All points share one memory, of scores, residuals and losses, in one of two precisions at a time; it
knows whose these are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import final

import numpy as np

from proxqn.losses.chain import draws
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.draws import Draws, Forking
from proxqn.losses.chain.scores import (
    Binding,
    ChainScores,
    DoubleScores,
    SingleScores,
    Workspace,
)
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.oracle import NOTHING, Lease
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep

_MAX_REFUSED = 32  # trials too far out for single precision, before it is given up


@final
@dataclass(eq=False)
class Precision:
    """What an oracle's points work in, until scores are too far apart for it."""

    kind: type[ChainScores]
    n_refused: int = 0


@final
class ChainPasses:
    """Inference and products, and the arrays that they leave: of one point or trial at a time.

    Parameters
    ----------
    data : ChainData
        What the loss is of.
    n_jobs : int
        Threads.
    kernels : module
        ``proxqn._kernels`` or the reference.
    inference : callable, optional
        Binds other inference than that of plain chains to an array of scores. It takes no part in
        single precision, in draws, or in passes without an array of scores.
    """

    def __init__(
        self,
        data: ChainData,
        *,
        n_jobs: int,
        kernels: ModuleType,
        inference: Binding | None = None,
    ) -> None:
        self.data, self.n_jobs, self.kernels = data, n_jobs, kernels
        self.plain = inference is None
        self.lease = Lease()
        self.losses = np.zeros(data.layout.n_sequences)  # -log P(y_i|x_i) of the last forward pass
        self.expected = np.zeros((data.n_labels, data.n_labels))
        most = max(data.n_labels, -(-data.n_labels // 8) * 4)  # doubles; floats, eight together
        self._workspace = Workspace(8 * most * data.layout.stride)
        self._inference = inference
        self._precision = Precision(DoubleScores)
        self._bind()

    def _bind(self) -> None:
        """Let scores and residuals be of the precision worked in; what they were is lost."""
        self._scores_of: SplitWeights | None = None
        self._forward_of: SplitWeights | None = None
        self.scores = self._precision.kind(
            self.kernels, self.data, self._workspace, self.n_jobs, self._inference
        )

    def start(self, weights: SplitWeights, precision: Precision) -> float:
        """Go to weights from anywhere: a forward and a backward pass; return ℓ there."""
        self._precision = precision
        if type(self.scores) is not precision.kind:
            self._bind()
        if self.plain and isinstance(self.scores, DoubleScores):  # in one pass over the data
            self._scores_of = self._forward_of = None
            self.scores.evaluate(weights.states, weights.transitions, self.losses, self.expected)
            return self._loss()
        value = self.forward(weights, refuse=False)
        self.backward(weights)
        return value

    def put(self, weights: SplitWeights) -> None:
        """Let the scores be those of some weights: the data entries of their features."""
        if self._scores_of is not weights:
            self._scores_of = None  # should it be interrupted
            self.scores.put(weights.states)
            self._scores_of = weights

    def forward(self, weights: SplitWeights, *, refuse: bool = True) -> float:
        """Return ℓ at some weights: L² multiply-adds and L exponentials a token.

        Infinite where a trial leads so far out that single precision cannot tell: a shorter one may
        do. After some of these, or where it may not be refused, it goes on in double precision.
        """
        self.put(weights)
        self._forward_of = None
        in_range = self.scores.forward(weights.transitions, self.losses)
        precision = self._precision
        if not in_range and precision.kind is SingleScores:  # doubles go on by logarithms
            precision.n_refused += 1
            if refuse and precision.n_refused <= _MAX_REFUSED:
                return math.inf
            precision.kind = DoubleScores
            self._bind()
            return self.forward(weights)
        self._forward_of = weights
        return self._loss()

    def backward(self, weights: SplitWeights) -> None:
        """Turn the trial into a point: 2 L² multiply-adds and L exponentials a token."""
        self.put(weights)  # draws may have come between
        self._forward_of = None
        self.scores.backward(weights.transitions, self.expected)

    def is_forward_of(self, weights: SplitWeights) -> bool:
        """Whether the last pass was the forward pass of these weights."""
        return self._forward_of is weights

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the rows of each coordinate's feature."""
        split = np.searchsorted(coordinates, self.data.n_states)
        of_states = self.scores.gradient(coordinates[:split])
        pairs = self._pair_gradient()[coordinates[split:] - self.data.n_states]
        return np.concatenate([of_states, pairs])

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Stream over all data entries times labels; keep what exceeds the level.

        In single precision the derivatives to be kept are taken from the same sums.
        """
        data = self.data
        split = np.searchsorted(keep, data.n_states)
        coordinates, gradient, largest = self.scores.sweep(level, data.pairs, keep[:split])
        every_pair = self._pair_gradient()
        of_pairs = np.where(data.admitted.ravel(), every_pair, 0.0)
        above = np.flatnonzero(np.abs(of_pairs) > level)
        pairs = SparseVector(above, of_pairs[above]).including(
            keep[split:] - data.n_states, every_pair.take
        )
        return Sweep(
            SparseVector(
                np.concatenate([coordinates, pairs.coordinates + data.n_states]),
                np.concatenate([gradient, pairs.values]),
            ),
            float(np.maximum(largest, np.abs(of_pairs).max())),  # a NaN stays a NaN
        )

    def draw(
        self, weights: SplitWeights, coordinates: Ints, n_rows: int, seed: int
    ) -> SparseColumns | None:
        """Draw labelings: the Hessian is the covariance of the features under the model."""
        if not (self.plain and self.data.drawable):
            return None
        self.put(weights)
        share = draws.pilot_share(self.data)
        pilot = self.scores.draw(weights.transitions, 1, share, seed)
        n_best, of_pair = draws.rows_for(n_rows, coordinates, pilot, self.data)
        if draws.is_sure(n_best, of_pair, self.data):
            found = self._fork(weights, n_best, seed)
        else:
            n_pairs, share = draws.pairs_for(n_best / of_pair)
            found = self.scores.draw(weights.transitions, n_pairs, share, seed)
        split = np.searchsorted(coordinates, self.data.n_states)
        pairs = coordinates[split:] - self.data.n_states
        return self.scores.drawn_columns(coordinates[:split], pairs, found)

    def _fork(self, weights: SplitWeights, n_rows: float, seed: int) -> Draws:
        """Look where labels may part: first how likely they do, then at so many forks."""
        pilot = Forking.pilot(self.data, seed)
        weighed = self.scores.fork(weights.transitions, pilot, traced=False)
        return self.scores.fork(weights.transitions, pilot.giving(n_rows, weighed))

    def _loss(self) -> float:
        weights = self.data.weights
        return float((self.losses if weights is None else weights * self.losses).sum())

    def _pair_gradient(self) -> Floats:
        """Return the derivatives of label pairs, also of those without a weight."""
        return (self.expected - self.data.observed).ravel()
