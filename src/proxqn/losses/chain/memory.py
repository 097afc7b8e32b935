"""What all points of a chain's loss share: scores, residuals, and which of them these are of."""

from __future__ import annotations

from types import ModuleType
from typing import final

import numpy as np

from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.draws import Draws, Sampling
from proxqn.losses.chain.scores import (
    Binding,
    ChainScores,
    DoubleScores,
    SingleScores,
    Workspace,
)
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.oracle import Lease
from proxqn.problem.sparse import Floats, Ints, SparseColumns


@final
class ChainMemory:
    """Scores, residuals, losses and pair counts: of one point or trial at a time.

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
        size = data.n_labels, data.layout.stride
        n_bytes = max(SingleScores.n_bytes(*size), DoubleScores.n_bytes(*size))
        self._workspace, self._inference = Workspace(n_bytes), inference
        self._bind(DoubleScores)

    def use(self, kind: type[ChainScores]) -> None:
        """Let scores and residuals be of one precision; those of another are lost."""
        if type(self.scores) is not kind:
            self._bind(kind)

    def _bind(self, kind: type[ChainScores]) -> None:
        self._scores_of: SplitWeights | None = None
        self._forward_of: SplitWeights | None = None
        self.scores = kind(self.kernels, self.data, self._workspace, self._inference)

    def put(self, weights: SplitWeights) -> None:
        """Let the scores be those of some weights: the data entries of their features."""
        if self._scores_of is not weights:
            self._scores_of = None  # should it be interrupted
            self.scores.put(weights.states, self.n_jobs)
            self._scores_of = weights

    def forward(self, weights: SplitWeights) -> bool:
        """Compute the losses; False where floats are out of range, and nothing is left of it."""
        self.put(weights)
        self._forward_of = None
        in_range = self.scores.forward(weights.transitions, self.losses, self.n_jobs)
        good = in_range or not isinstance(self.scores, SingleScores)  # doubles go on by logarithms
        self._forward_of = weights if good else None
        return good

    def backward(self, weights: SplitWeights) -> None:
        """Turn what the forward pass of these weights left into residuals."""
        self.put(weights)  # draws may have come between
        self._forward_of = None
        self.scores.backward(weights.transitions, self.expected, self.n_jobs)

    def evaluate(self, weights: SplitWeights) -> None:
        """Do both in one pass over the data, without keeping an array of all scores."""
        assert isinstance(self.scores, DoubleScores)
        self._scores_of = self._forward_of = None
        self.scores.evaluate(
            weights.states, weights.transitions, self.losses, self.expected, self.n_jobs
        )

    def is_forward_of(self, weights: SplitWeights) -> bool:
        """Whether the last pass was the forward pass of these weights."""
        return self._forward_of is weights

    def draw(self, weights: SplitWeights, how: Sampling) -> Draws:
        """Draw pairs of labelings; residuals stay what they are."""
        self.put(weights)
        return self.scores.draw(weights.transitions, how, self.n_jobs)

    def drawn_columns(self, coordinates: Ints, draws: Draws) -> SparseColumns:
        """Return the columns of a drawn matrix."""
        split = np.searchsorted(coordinates, self.data.n_states)
        pairs = coordinates[split:] - self.data.n_states
        return self.scores.drawn_columns(coordinates[:split], pairs, draws, self.n_jobs)

    def loss(self) -> float:
        """Return the sum of the losses."""
        weights = self.data.weights
        return float((self.losses if weights is None else weights * self.losses).sum())

    def pair_gradient(self) -> Floats:
        """Return the derivatives of label pairs, also of those without a weight."""
        return self.expected - self.data.observed
