"""Linear-chain conditional random fields.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_t, y_{t+1}])`` and ``ℓ = -Σ_i log P(y_i|x_i)``. The
weights are numbered feature by feature: coordinate ``c·L + y`` is Θ of label y and the c-th feature
that occurs in the data, and the L² transition weights Λ[y, y'] follow at the end.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.layout import SequenceLayout, Subset
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.chain.draws import Sampling
from proxqn.losses.chain.kernel import check, feature_kernel
from proxqn.losses.chain.scores import ChainScores, DoubleScores, SingleScores, Workspace
from proxqn.losses.trials import moved
from proxqn.problem import Floats, Ints, Oracle, SparseColumns, SparseVector, Sweep
from proxqn.problem.stepwise import BlockOracle, BlockSteps, SampleOracle, SampleSteps

_MANY_SCORES = 1 << 17  # a MB of doubles: a usual L2 cache
_PILOT = 10_000  # tokens that tell how often two labelings differ
_ROW_COST = 2e4  # multiply-adds of inference beside which one more row costs little
_MAX_PAIRS = 16  # of labelings of each sequence
_MAX_REFUSED = 32  # trials too far out for single precision, before it is given up


class Pairs(Enum):
    """Which (feature, label) and (label, label) pairs have a weight."""

    ALL = "all"
    OBSERVED = "observed"


@final
class ChainOracle(Oracle, SampleOracle, BlockOracle):
    """Minus the log-likelihood of a linear-chain CRF.

    Parameters
    ----------
    X : csr_array of shape (n_tokens, n_features)
        Finite; any numeric dtype.
    labels : array of shape (n_tokens,)
        True labels as numbers below ``n_labels``.
    lengths : array of shape (n_sequences,)
        Tokens of each sequence, at least one.
    pairs : Pairs
        Weights for all (feature, label) pairs or only for those seen in the data.
    transition_pairs : Pairs, optional
        The same for pairs of neighbouring labels; as ``pairs`` by default.
    sample_weight : array of shape (n_sequences,), optional
        Factors of the sequences' losses.
    n_jobs : int
        Threads; the result does not depend on it.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.chain.reference`` for the readable NumPy truth.

    Examples
    --------
    >>> X = sp.csr_array(np.eye(3))
    >>> oracle = ChainOracle(X, np.array([0, 1, 1]), np.array([2, 1]), n_labels=2)
    >>> oracle.n_parameters
    10
    >>> round(oracle.value_at(0.0), 4)  # three tokens, two labels: 3 log 2
    2.0794
    """

    _scores: ChainScores

    def __init__(
        self,
        X: sp.csr_array,
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        pairs: Pairs = Pairs.ALL,
        transition_pairs: Pairs | None = None,
        sample_weight: Floats | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        X, labels = sp.csr_array(X), np.asarray(labels)
        tokens = np.asarray(lengths, dtype=np.int64)
        check(X, labels, tokens, n_labels, sample_weight)
        layout = SequenceLayout.from_lengths(tokens)
        slot_labels = np.zeros(layout.stride, dtype=np.int32)
        slot_labels[layout.token_slot] = labels
        self._set_up(
            layout,
            FeatureIndexed.from_csr(X, layout.token_slot, layout.stride),
            slot_labels,
            n_labels,
            sample_weight,
            n_jobs,
            kernels,
        )
        self._pairs: tuple[Ints, NDArray[np.int32]] | None = None  # admitted labels per column
        if pairs is Pairs.OBSERVED:
            columns = feature_kernel(kernels, self.data)
            self._pairs = columns.observed_pairs(slot_labels, n_labels)
        if (transition_pairs or pairs) is Pairs.OBSERVED:
            self._admitted = self._label_pair_counts(None) > 0

    @property
    def n_coordinates(self) -> int:
        """Numbers in use: all labels of every feature that occurs, and all label pairs."""
        return self._n_unigrams + self.n_labels**2

    @property
    def n_parameters(self) -> int:
        """d: all labels x all features + label pairs, or the observed ones of these."""
        everything = self.n_labels * self.data.n_features
        n_states = everything if self._pairs is None else len(self._pairs[1])
        return n_states + int(self._admitted.sum())

    @property
    def n_samples(self) -> int:
        """The number of sequences."""
        return self.layout.n_sequences

    def reset(self) -> None:
        """Go to w = 0."""
        self._w = self._d = SparseVector.empty()  # of features
        self._transitions = np.zeros((self.n_labels, self.n_labels))
        self._transition_change = np.zeros_like(self._transitions)
        self._step = math.nan  # the trial that the scores are of
        self._accepted = False  # whether there is a point to return to

    def move(self, direction: SparseVector) -> None:
        """Compute the scores of a whole step: the data entries of the features in w and d."""
        self._aim(direction)
        self._put(1.0)

    def _aim(self, direction: SparseVector) -> None:
        split = np.searchsorted(direction.coordinates, self._n_unigrams)
        self._d = SparseVector(direction.coordinates[:split], direction.values[:split])
        self._transition_change = np.zeros_like(self._transitions)
        pairs = direction.coordinates[split:] - self._n_unigrams
        self._transition_change.flat[pairs] = direction.values[split:]
        self._step = math.nan

    def value_at(self, step: float) -> float:
        """Run the forward pass: L² multiply-adds and L exponentials a token.

        A step other than 1 needs scores of its own.

        Infinite where a trial leads so far out that single precision cannot tell: a shorter one may
        do. After some of these, and at a point to start from, it goes on in double precision.
        """
        self._put(step)
        transitions = self._transitions + step * self._transition_change
        in_range = self._scores.forward(transitions, self._losses, self.n_jobs)
        if not in_range and isinstance(self._scores, SingleScores):
            self._n_refused += 1
            if self._accepted and self._n_refused <= _MAX_REFUSED:
                return math.inf
            self._scores = self._new_scores(DoubleScores)
            self._put(step)
            self._scores.forward(transitions, self._losses, self.n_jobs)
        return self._loss()

    def start_at(self, weights: SparseVector) -> float:
        """In double precision go through the data once, without an array of all scores."""
        if not (self._plain and isinstance(self._scores, DoubleScores)):
            return super().start_at(weights)
        self.reset()
        self._aim(weights)
        self._w, self._transitions = self._d, self._transition_change
        self._d, self._transition_change = SparseVector.empty(), np.zeros_like(self._transitions)
        self._scores.evaluate(self._w, self._transitions, self._losses, self._expected, self.n_jobs)
        self._accepted = True
        return self._loss()

    def accept(self, step: float) -> None:
        """Run the backward pass: 2 L² multiply-adds and L exponentials a token."""
        self._w, self._d = self._put(step), SparseVector.empty()
        self._transitions += step * self._transition_change
        self._transition_change = np.zeros_like(self._transitions)
        self._scores.backward(self._transitions, self._expected, self.n_jobs)
        self._step, self._accepted = 0.0, True

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the rows of each coordinate's feature."""
        split = np.searchsorted(coordinates, self._n_unigrams)
        out = np.empty(len(coordinates))
        self._scores.gradient(coordinates[:split], out[:split], self.n_jobs)
        pairs = coordinates[split:] - self._n_unigrams
        out[split:] = self._pair_gradient().flat[pairs]
        return out

    def sweep(self, level: float) -> Sweep:
        """Stream over all data entries times labels; keep what exceeds the level."""
        return self.sweep_with(level, np.empty(0, dtype=np.int64))

    def sweep_with(self, level: float, kept: Ints) -> Sweep:
        """In single precision take the derivatives to be kept from the same sums."""
        split = np.searchsorted(kept, self._n_unigrams)
        coordinates, gradient, largest = self._scores.sweep(
            level, self._pairs, kept[:split], self.n_jobs
        )
        pair_gradient = np.where(self._admitted, self._pair_gradient(), 0.0).ravel()
        above = np.flatnonzero(np.abs(pair_gradient) > level)
        pairs = SparseVector(above, pair_gradient[above]).including(
            kept[split:] - self._n_unigrams, self._pair_gradient().ravel().take
        )
        return Sweep(
            SparseVector(
                np.concatenate([coordinates, pairs.coordinates + self._n_unigrams]),
                np.concatenate([gradient, pairs.values]),
            ),
            float(np.maximum(largest, np.abs(pair_gradient).max())),  # a NaN stays a NaN
        )

    def sample_losses(self) -> tuple[Floats, Floats | None]:
        """Return -log P(y_i|x_i) of the last forward pass."""
        return self._losses, self._weights

    @property
    def pass_cost(self) -> float:
        """3 L² multiply-adds a token for the recursions, and 2 L exponentials of about 20."""
        return self.layout.n_tokens * self.n_labels * (3.0 * self.n_labels + 40.0)

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the label's share of the tokens, not its marginals."""
        split = np.searchsorted(coordinates, self._n_unigrams)
        column, label = np.divmod(coordinates[:split], self.n_labels)
        pairs = coordinates[split:] - self._n_unigrams
        share = (self._label_counts + 1.0) / (self.layout.n_tokens + self.n_labels)  # never 0
        pair_share = np.outer(share, share).ravel()[pairs]
        factor = 1.0 if self._weights is None else float(self._weights.mean())
        n_pairs = self.layout.n_tokens - self.layout.n_sequences
        return factor * np.concatenate(
            [
                self.data.squares()[column] * (share * (1.0 - share))[label],
                max(n_pairs, 1) * pair_share * (1.0 - pair_share),
            ]
        )

    def sample_curvature(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Draw labelings: the Hessian is the covariance of the features under the model."""
        if not self._plain:
            return None
        self._put(0.0)
        few = min(1.0, _PILOT / self.layout.n_tokens)
        pilot = self._scores.draw(self._transitions, Sampling(1, few, seed), self.n_jobs)
        rows = max(len(pilot.scale), 1) / few  # of a pair of labelings of every sequence
        cheap = min(self.pass_cost / _ROW_COST, rows)
        pairs = max(n_rows, cheap) / rows
        n_pairs = max(1, min(round(pairs), _MAX_PAIRS))
        how = Sampling(n_pairs, min(pairs, 1.0), seed)
        draws = self._scores.draw(self._transitions, how, self.n_jobs)
        split = np.searchsorted(coordinates, self._n_unigrams)
        states, edges = coordinates[:split], coordinates[split:] - self._n_unigrams
        return self._scores.drawn_columns(states, edges, draws, self.n_jobs)

    @property
    def single(self) -> bool:
        """Whether the scores have been rounded to single precision since the last reset."""
        return self._rounded

    def set_single(self, single: bool) -> None:
        """Choose the bytes of the scores: four, until they are too far apart for it, or eight.

        Small problems have nothing to gain, and the reference knows only one precision.
        """
        large = self.n_labels * self.layout.stride >= _MANY_SCORES
        self._rounded = single and large and self._kernels is _kernels
        self._n_refused = 0
        self._scores = self._new_scores(SingleScores if self._rounded else DoubleScores)

    def _new_scores(self, kind: type[ChainScores]) -> ChainScores:
        self._step = math.nan
        return kind(
            self._kernels,
            self.layout,
            self.data,
            self._labels,
            self._label_counts,
            self._weights,
            self._workspace,
        )

    def subsample(self, share: float, seed: int) -> ChainOracle:
        """Take a random share of the batches of sequences, their losses scaled to the whole."""
        chosen = self.layout.sample(share, seed)
        layout = chosen.layout
        slot_labels = np.zeros(layout.stride, dtype=np.int32)
        slot_labels[chosen.new_slots] = self._labels[chosen.old_slots]
        weights = np.ones(self.n_samples) if self._weights is None else self._weights
        part = object.__new__(ChainOracle)
        part._set_up(
            layout,
            self._restricted(chosen),
            slot_labels,
            self.n_labels,
            weights[chosen.sequences] * (self.layout.n_tokens / layout.n_tokens),
            self.n_jobs,
            self._kernels,
        )
        part._pairs, part._admitted = self._pairs, self._admitted
        if isinstance(self._scores, SingleScores):
            part.set_single(True)
        return part

    def run_on(self, inference: Any) -> None:
        """Replace the kernel of plain chains by another with the same methods.

        Such as :class:`~proxqn.losses.lattice.kernel.LatticeInference`, bound to ``scores``.
        """
        self._scores.inference = inference
        self._plain = False

    @property
    def scores(self) -> NDArray[Any]:
        """The scores at the current point, in double precision of shape (labels, slots)."""
        return self._scores.scores

    def count_pairs(self, sequences: NDArray[np.bool_]) -> None:
        """Count the true label pairs of some sequences only; the kernel takes care of the rest."""
        ones = np.ones(self.n_samples) if self._weights is None else self._weights
        self._observed = self._label_pair_counts(ones * sequences)

    def admit_states(self, pairs: tuple[Ints, NDArray[np.int32]]) -> None:
        """Say which labels have a weight with each feature, where the labels alone do not."""
        self._pairs = pairs

    def admit_transitions(self, admitted: NDArray[np.bool_]) -> None:
        """Say which label pairs have a weight, shape (n_labels, n_labels)."""
        self._admitted = admitted

    def samples(self) -> SampleSteps:
        """Return a stepper over single sequences, for stochastic gradient descent."""
        from proxqn.losses.chain.sample_steps import ChainSamples

        return ChainSamples(self.layout, self.data, self._labels, **self._model())

    def blocks(self) -> BlockSteps:
        """Return a stepper over features, for blockwise coordinate descent."""
        from proxqn.losses.chain.block_steps import ChainBlocks

        return ChainBlocks(self.layout, self.data, self._labels, **self._model())

    def pack(self, coef: sp.csr_array, transitions: Floats) -> SparseVector:
        """Turn coefficients (labels x features) and transitions into a weight vector.

        What has no weight here is left out: features that do not occur, pairs not admitted.
        """
        entries = sp.coo_array(coef)
        column = np.searchsorted(self.data.columns, entries.col)
        known = column < self.data.n_columns
        known[known] = self.data.columns[column[known]] == entries.col[known]
        unigrams = column[known] * self.n_labels + entries.row[known]
        values = entries.data[known]
        if self._pairs is not None:
            start, pair_labels = self._pairs
            columns = np.repeat(np.arange(self.data.n_columns), np.diff(start))
            admitted = np.isin(unigrams, columns * self.n_labels + pair_labels)
            unigrams, values = unigrams[admitted], values[admitted]
        pairs = np.flatnonzero(np.where(self._admitted, transitions, 0.0))
        coordinates = np.concatenate([unigrams, pairs + self._n_unigrams]).astype(np.int64)
        values = np.concatenate([values, np.ravel(transitions)[pairs]])
        order = np.argsort(coordinates)
        return SparseVector(coordinates[order], values[order].astype(np.float64))

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats]:
        """Return coefficients (labels x features, sparse) and transitions (labels x labels)."""
        split = np.searchsorted(w.coordinates, self._n_unigrams)
        column, label = np.divmod(w.coordinates[:split], self.n_labels)
        coef = sp.coo_array(
            (w.values[:split], (label, self.data.columns[column])),
            shape=(self.n_labels, self.data.n_features),
        ).tocsr()
        transitions = np.zeros((self.n_labels, self.n_labels))
        transitions.flat[w.coordinates[split:] - self._n_unigrams] = w.values[split:]
        return coef, transitions

    def _set_up(
        self,
        layout: SequenceLayout,
        data: FeatureIndexed,
        slot_labels: NDArray[np.int32],
        n_labels: int,
        sample_weight: Floats | None,
        n_jobs: int,
        kernels: ModuleType,
    ) -> None:
        self.layout, self.data, self.n_labels, self.n_jobs = layout, data, n_labels, n_jobs
        self._labels, self._weights, self._kernels = slot_labels, sample_weight, kernels
        self._admitted = np.ones((n_labels, n_labels), dtype=bool)
        self._observed = self._label_pair_counts(sample_weight)
        self._losses = np.zeros(layout.n_sequences)
        self._expected = np.zeros((n_labels, n_labels))
        self._plain = True  # whether inference is that of plain chains
        size = n_labels, layout.stride
        n_bytes = max(SingleScores.n_bytes(*size), DoubleScores.n_bytes(*size))
        self._workspace = Workspace(n_bytes)
        self.set_single(False)
        self.reset()

    def _model(self) -> dict[str, Any]:
        return {
            "n_labels": self.n_labels,
            "pairs": self._pairs,
            "admitted": self._admitted,
            "sample_weight": self._weights,
        }

    @cached_property
    def _label_counts(self) -> Ints:
        """Tokens of each label; slots without a token have the first label."""
        counts = np.bincount(self._labels, minlength=self.n_labels)
        counts[0] -= len(self._labels) - self.layout.n_tokens
        return counts

    @property
    def _n_unigrams(self) -> int:
        return self.data.n_columns * self.n_labels

    def _pair_gradient(self) -> Floats:
        return self._expected - self._observed

    def _loss(self) -> float:
        losses = self._losses if self._weights is None else self._weights * self._losses
        return float(losses.sum())

    def _put(self, step: float) -> SparseVector:
        """Let the scores be those of a trial, whose weights are returned."""
        if step != self._step:
            self._trial = moved(self._w, self._d, step)
            self._scores.put(self._trial, self.n_jobs)
            self._step = step
        return self._trial

    def _restricted(self, chosen: Subset) -> FeatureIndexed:
        """Return the data of some batches."""
        slot_map = np.full(self.layout.stride, -1, dtype=np.int32)
        slot_map[chosen.old_slots] = chosen.new_slots
        names = ("start", "slots", "value_start", "values")
        columns = feature_kernel(self._kernels, self.data)
        found = dict(zip(names, columns.restrict_slots(slot_map, self.n_jobs), strict=True))
        lists = self.data.lists
        if lists is not None:
            lists = lists.restricted(chosen.old_slots, chosen.new_slots, chosen.layout.stride)
        return replace(self.data, **found, lists=lists)

    def _label_pair_counts(self, weights: Floats | None) -> Floats:
        """Count neighbouring labels in the data, each weighted by its sequence."""
        labels, lengths = self._labels[self.layout.token_slot], self.layout.lengths
        pairs = labels[:-1] * self.n_labels + labels[1:]
        factors = np.repeat(np.ones(len(lengths)) if weights is None else weights, lengths)[1:]
        factors[np.cumsum(lengths)[:-1] - 1] = 0.0  # from one sequence to the next
        counts = np.bincount(pairs, factors, minlength=self.n_labels**2).astype(np.float64)
        return counts.reshape(self.n_labels, self.n_labels)
