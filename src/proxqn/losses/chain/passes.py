"""The passes that points and lines of a chain's loss are made of, in one of two precisions."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from proxqn.losses.chain.draws import Draws, Sampling
from proxqn.losses.chain.memory import ChainMemory
from proxqn.losses.chain.scores import ChainScores, DoubleScores
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.oracle import NOTHING
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep

_PILOT = 10_000  # tokens that tell how often two labelings differ
_ROW_COST = 2e4  # multiply-adds of inference beside which one more row costs little
_MOST_ENTRIES = 0.125  # of dense columns in J, for each residual: they cost memory and time
_MAX_PAIRS = 16  # of labelings of each sequence
_MAX_REFUSED = 32  # trials too far out for single precision, before it is given up


@final
class ChainPasses:
    """Inference and products on memory that another precision may share.

    Parameters
    ----------
    memory : ChainMemory
        Where results stand.
    kind : type
        The scores of the precision to work in, until scores are too far apart for it.
    """

    def __init__(self, memory: ChainMemory, kind: type[ChainScores]) -> None:
        self.memory, self.data, self.kind = memory, memory.data, kind
        self._n_refused = 0

    def start(self, weights: SplitWeights) -> float:
        """Go to weights from anywhere: a forward and a backward pass; return ℓ there."""
        memory = self.memory
        memory.use(self.kind)
        if memory.plain and self.kind is DoubleScores:
            memory.evaluate(weights)
            return memory.loss()
        value = self.forward(weights, refuse=False)
        memory.backward(weights)
        return value

    def put(self, weights: SplitWeights) -> None:
        """Compute the scores of some weights."""
        self.memory.put(weights)

    def forward(self, weights: SplitWeights, *, refuse: bool = True) -> float:
        """Return ℓ at some weights: L² multiply-adds and L exponentials a token.

        Infinite where a trial leads so far out that single precision cannot tell: a shorter one may
        do. After some of these, or where it may not be refused, it goes on in double precision.
        """
        memory = self.memory
        if not memory.forward(weights):
            self._n_refused += 1
            if refuse and self._n_refused <= _MAX_REFUSED:
                return math.inf
            self.kind = DoubleScores
            memory.use(DoubleScores)
            memory.forward(weights)
        return memory.loss()

    def backward(self, weights: SplitWeights) -> None:
        """Turn the trial into a point: 2 L² multiply-adds and L exponentials a token."""
        self.memory.backward(weights)

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the rows of each coordinate's feature."""
        memory, split = self.memory, np.searchsorted(coordinates, self.data.n_states)
        out = np.empty(len(coordinates))
        memory.scores.gradient(coordinates[:split], out[:split], memory.n_jobs)
        out[split:] = memory.pair_gradient().flat[coordinates[split:] - self.data.n_states]
        return out

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Stream over all data entries times labels; keep what exceeds the level.

        In single precision the derivatives to be kept are taken from the same sums.
        """
        memory, data = self.memory, self.data
        split = np.searchsorted(keep, data.n_states)
        coordinates, gradient, largest = memory.scores.sweep(
            level, data.pairs, keep[:split], memory.n_jobs
        )
        every_pair = memory.pair_gradient().ravel()
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
        if not self.memory.plain:
            return None
        few = min(1.0, _PILOT / self.data.layout.n_tokens)
        pilot = self.memory.draw(weights, Sampling(1, few, seed))
        rows = max(pilot.n_drawn, 1) / few  # of a pair of labelings of every sequence
        cheap = min(self.data.pass_cost / _ROW_COST, rows, self._affordable(coordinates, pilot))
        pairs = max(n_rows, cheap) / rows
        n_pairs = max(1, min(round(pairs), _MAX_PAIRS))
        draws = self.memory.draw(weights, Sampling(n_pairs, min(pairs, 1.0), seed))
        return self.memory.drawn_columns(coordinates, draws)

    def _affordable(self, coordinates: Ints, pilot: Draws) -> float:
        """Return how many rows are cheap by their entries, which are many in dense columns."""
        n_labels = self.data.n_labels
        n_dense = np.searchsorted(coordinates, self.data.features.n_dense * n_labels)
        of_token = 2.0 * float(n_dense) / n_labels  # those of either label
        of_row = of_token * len(pilot.slot) / max(pilot.n_drawn, 1)
        most = _MOST_ENTRIES * n_labels * self.data.layout.n_tokens
        return most / of_row if of_row else math.inf
