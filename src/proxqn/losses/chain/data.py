"""What a chain's loss is made of: labelled sequences, indexed for the kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from types import ModuleType
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features import column_sizes
from proxqn.features.column_sizes import Sizes
from proxqn.features.dense import DenseColumns, split
from proxqn.features.layout import SequenceLayout, Subset
from proxqn.features.matrix import FeatureIndexed
from proxqn.features.weight_pairs import WeightPairs
from proxqn.losses import rounding
from proxqn.losses.chain.weights import SplitWeights
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.units import Units, UnitsFound

_MOST_DRAWN = 1e15  # of a column: its square is in the range of floats

StatePairs = tuple[Ints, NDArray[np.int32]]  # labels of each column, as CSR-like (start, labels)


class Pairs(Enum):
    """Which (feature, label) and (label, label) pairs have a weight."""

    ALL = "all"
    OBSERVED = "observed"


@final
@dataclass(frozen=True)
class ChainData:
    """Sequences, and which of the model's pairs have a weight.

    Coordinate ``c·L + y`` is the weight of label y and column c of the features, and the L² of
    label pairs follow at the end.
    """

    layout: SequenceLayout
    features: FeatureIndexed
    labels: NDArray[np.int32]  # [stride] true labels by slot
    n_labels: int
    weights: Floats | None  # [n_sequences] factors of the losses; None for ones
    pairs: StatePairs | None  # labels that have a weight with a column; None for all
    admitted: NDArray[np.bool_]  # [L, L] label pairs that have a weight
    row_entries: int = 1 << 30  # of a token, at most
    counted: NDArray[np.bool_] | None = None  # [n_sequences] whose label pairs are observed; or all

    @classmethod
    def of_tokens(
        cls,
        X: sp.csr_array | NDArray[Any],
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        *,
        dense: DenseColumns | None,
        n_labels: int,
        pairs: Pairs | WeightPairs,
        transition_pairs: Pairs | WeightPairs,
        sample_weight: Floats | None,
        kernels: ModuleType,
    ) -> Self:
        """Index tokens; parameters as in :class:`~proxqn.losses.chain.oracle.ChainOracle`."""
        X, dense = (X, dense) if sp.issparse(X) else split(np.asarray(X), dense)
        X, labels = sp.csr_array(X), np.asarray(labels)
        tokens = np.asarray(lengths, dtype=np.int64)
        _check(X, labels, tokens, n_labels, sample_weight)
        layout = SequenceLayout.from_lengths(tokens)
        slot_labels = np.zeros(layout.stride, dtype=np.int32)
        slot_labels[layout.token_slot] = labels
        features = FeatureIndexed.from_csr(X, layout.token_slot, layout.stride)
        if dense is not None:
            rows = dense.at(layout.token_slot, layout.stride)
            features = features.with_dense(dense.columns, rows)
        everything = np.ones((n_labels, n_labels), dtype=bool)
        most = int(np.diff(X.indptr).max(initial=0)) + features.n_dense
        found = cls(layout, features, slot_labels, n_labels, sample_weight, None, everything, most)
        if isinstance(pairs, WeightPairs):
            states = pairs.labels_of(features.columns)
            return replace(found, pairs=states, admitted=pairs.transitions)
        if pairs is Pairs.OBSERVED:
            columns = features.kernel(kernels)
            found = replace(found, pairs=columns.observed_pairs(slot_labels, n_labels))
        if transition_pairs is Pairs.OBSERVED:
            found = replace(found, admitted=found.count_label_pairs(None) > 0)
        return found

    @property
    def n_states(self) -> int:
        """Coordinates of (column, label) pairs; those of label pairs follow."""
        return self.features.n_columns * self.n_labels

    @property
    def n_coordinates(self) -> int:
        """Numbers in use: all labels of every feature that occurs, and all label pairs."""
        return self.n_states + self.n_labels**2

    @property
    def n_parameters(self) -> int:
        """d: all labels x all features + label pairs, or the observed ones of these."""
        everything = self.n_labels * self.features.n_features
        n_states = everything if self.pairs is None else len(self.pairs[1])
        return n_states + int(self.admitted.sum())

    @property
    def pass_cost(self) -> float:
        """3 L² multiply-adds a token for the recursions, and 2 L exponentials of about 20."""
        return self.layout.n_tokens * self.n_labels * (3.0 * self.n_labels + 40.0)

    @cached_property
    def extent(self) -> rounding.Columns:
        """The sizes of columns and rows, for what rounding may do."""
        heaviest = 1.0 if self.weights is None else float(self.weights.max(initial=0.0))
        return rounding.Columns.of(self.features, heaviest, self.row_entries)

    def recursion(self, states: SparseVector, transitions: float) -> rounding.Recursion:
        """Return what sums over labelings are computed from, with the largest transition."""
        size = self.extent.score(states.coordinates // self.n_labels, states.values)
        entries = min(self.extent.row_entries, len(states.coordinates))
        return rounding.Recursion(
            self.layout.lengths, 2.0 * self.n_labels, entries + 2, size + transitions
        )

    def derivative_errors(self, coordinates: Ints, of_marginals: float) -> Floats:
        """Return by how much derivatives may be off, given the share of marginals."""
        split = np.searchsorted(coordinates, self.n_states)
        columns = coordinates[:split] // self.n_labels
        found = np.full(len(coordinates), self._pair_error(of_marginals))
        found[:split] = self.extent.derivatives(columns, of_marginals)
        return found

    def largest_error(self, of_marginals: float) -> float:
        """Return the same of all derivatives."""
        every = np.arange(self.features.n_columns)
        of_columns = self.extent.derivatives(every, of_marginals).max(initial=0.0)
        return max(float(of_columns), self._pair_error(of_marginals))

    def _pair_error(self, of_marginals: float) -> float:
        heaviest = 1.0 if self.weights is None else float(self.weights.max(initial=0.0))
        n = self.layout.n_tokens
        return heaviest * n * (of_marginals + 2.0 * (n + 2.0) * rounding.U)

    @cached_property
    def wide(self) -> bool:
        """Whether some feature's values are too large for products in single precision."""
        return column_sizes.wide(self.features)

    @cached_property
    def drawable(self) -> bool:
        """Whether differences of two labelings can be written in single precision, and squared."""
        return column_sizes.longest(self.features) <= _MOST_DRAWN

    def rescaled(self) -> tuple[Self, UnitsFound] | None:
        """Return the same with columns of one size, and what is known of these."""
        sizes = column_sizes.of_features(self.features)
        return None if sizes is None else self.divided(sizes)

    def divided(self, sizes: Sizes) -> tuple[Self, UnitsFound]:
        """Return the same with columns divided by these sizes, as ``rescaled`` does."""
        units = Units(((sizes.unit, self.n_labels), (np.ones(1), self.n_labels**2)))
        data = replace(self, features=column_sizes.divided(self.features, sizes.unit))
        return data, UnitsFound(units, units.where([sizes.outlying]), sizes.resolved)

    @cached_property
    def label_counts(self) -> Ints:
        """Tokens of each label; slots without a token have the first label."""
        counts = np.bincount(self.labels, minlength=self.n_labels)
        counts[0] -= len(self.labels) - self.layout.n_tokens
        return counts

    @cached_property
    def observed(self) -> Floats:
        """The true label pairs, each weighted by its sequence, shape (L, L)."""
        if self.counted is None:
            return self.count_label_pairs(self.weights)
        factors = 1.0 if self.weights is None else self.weights
        return self.count_label_pairs(np.where(self.counted, factors, 0.0))

    def count_label_pairs(self, weights: Floats | None) -> Floats:
        """Count neighbouring labels in the data, each weighted by its sequence."""
        labels, lengths = self.labels[self.layout.token_slot], self.layout.lengths
        pairs, size = labels[:-1] * self.n_labels + labels[1:], self.n_labels**2
        between = np.cumsum(lengths)[:-1] - 1  # from one sequence to the next
        if weights is None:
            counts = np.bincount(pairs, minlength=size)
            counts -= np.bincount(pairs[between], minlength=size)
        else:
            factors = np.repeat(weights, lengths)[1:]
            factors[between] = 0.0
            counts = np.bincount(pairs, factors, minlength=size)
        return counts.astype(np.float64).reshape(self.n_labels, self.n_labels)

    def split(self, w: SparseVector) -> SplitWeights:
        """Return the weights of features and those of label pairs."""
        return SplitWeights.of(w, self.n_states, self.n_labels)

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the label's share of the tokens, not its marginals."""
        split = np.searchsorted(coordinates, self.n_states)
        column, label = np.divmod(coordinates[:split], self.n_labels)
        pairs = coordinates[split:] - self.n_states
        share = (self.label_counts + 1.0) / (self.layout.n_tokens + self.n_labels)  # never 0
        pair_share = np.outer(share, share).ravel()[pairs]
        factor = 1.0 if self.weights is None else float(self.weights.mean())
        n_pairs = self.layout.n_tokens - self.layout.n_sequences
        return factor * np.concatenate(
            [
                self.features.typical_squares()[column] * (share * (1.0 - share))[label],
                max(n_pairs, 1) * pair_share * (1.0 - pair_share),
            ]
        )

    def restrict(
        self, samples: Ints, factor: float, kernels: ModuleType, n_jobs: int
    ) -> tuple[ChainData, Subset]:
        """Return the same of some sequences, and where their tokens were.

        Coordinates and pairs with a weight are those of all sequences.
        """
        _check_samples(samples, self.layout.n_sequences)
        chosen = self.layout.restrict(samples)
        slot_labels = np.zeros(chosen.layout.stride, dtype=np.int32)
        slot_labels[chosen.new_slots] = self.labels[chosen.old_slots]
        weights = None if self.weights is None else self.weights[samples] * factor
        if weights is None and factor != 1.0:
            weights = np.full(len(samples), factor)
        part = replace(
            self,
            layout=chosen.layout,
            features=self._restricted_features(chosen, kernels, n_jobs),
            labels=slot_labels,
            weights=weights,
            counted=None if self.counted is None else self.counted[samples],
        )
        return part, chosen

    def _restricted_features(
        self, chosen: Subset, kernels: ModuleType, n_jobs: int
    ) -> FeatureIndexed:
        slot_map = np.full(self.layout.stride, -1, dtype=np.int32)
        slot_map[chosen.old_slots] = chosen.new_slots
        names = ("start", "slots", "value_start", "values")
        columns = replace(self.features, dense=None).kernel(kernels)
        found = dict(zip(names, columns.restrict_slots(slot_map, n_jobs), strict=True))
        lists, dense = self.features.lists, self.features.dense
        places = chosen.old_slots, chosen.new_slots, chosen.layout.stride
        return replace(
            self.features,
            **found,
            lists=None if lists is None else lists.restrict(*places),
            dense=None if dense is None else dense.restrict(*places),
        )


def _check(
    X: sp.csr_array,
    labels: NDArray[np.integer[Any]],
    lengths: Ints,
    n_labels: int,
    sample_weight: Floats | None,
) -> None:
    """Refuse what does not fit: the kernels take labels and lengths as indices, unchecked."""
    n_tokens = X.shape[0]
    if labels.shape != (n_tokens,):
        raise ValueError(
            f"one label a row of X expected, {n_tokens} in all, got an array of {labels.shape}."
        )
    if n_tokens and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError(
            f"labels must be numbers from 0 to n_labels - 1 = {n_labels - 1}, "
            f"got {labels.min()} to {labels.max()}; number the label names first."
        )
    if lengths.ndim != 1 or lengths.min(initial=1) < 1 or lengths.sum() != n_tokens:
        raise ValueError(
            f"lengths must be 1 or above and sum to the {n_tokens} rows of X, got "
            f"{len(lengths)} lengths from {lengths.min(initial=0)} that sum to {lengths.sum()}."
        )
    if sample_weight is None:
        return
    if sample_weight.shape != lengths.shape:
        raise ValueError(
            f"one sample weight a sequence expected, {len(lengths)} in all, "
            f"got an array of {sample_weight.shape}."
        )
    if not (np.isfinite(sample_weight) & (sample_weight >= 0.0)).all():
        raise ValueError("sample weights must be finite numbers, 0 or above.")


def _check_samples(samples: Ints, n_samples: int) -> None:
    """Refuse what is no choice of samples: the kernels take their places as indices, unchecked."""
    ascending = len(samples) > 0 and bool((np.diff(samples) > 0).all())
    if not ascending or samples[0] < 0 or samples[-1] >= n_samples:
        raise ValueError(
            f"samples must be ascending numbers from 0 to {n_samples - 1}, at least one and each "
            f"once, got {samples!r}."
        )
