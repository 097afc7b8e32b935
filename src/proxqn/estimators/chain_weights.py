"""The weights of a chain as arrays, by what they are weights of, and with the names of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.columns import Columns, moved, widened
from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Floats, Ints, SparseVector


@final
@dataclass(frozen=True)
class ChainWeights:
    """Weights of features, of label pairs, of labels at the ends of a sequence, and of labels."""

    coef: sp.csr_array  # [L, n_features]
    transitions: Floats  # [L, L]
    start: Floats  # [L] zero where the model has none
    end: Floats  # [L]
    edges: sp.csr_array  # [L², n_edge_features], row y·L + y' of label y followed by y'
    intercept: Floats | None = None  # [L] None where the model has none

    @classmethod
    def from_oracle(cls, oracle: Any, w: SparseVector, n_features: int) -> Self:
        """Cut the oracle's vector; columns past ``n_features`` are ends, then an intercept."""
        coef, transitions, *more = oracle.unpack(w)
        n_labels = len(transitions)
        edges = more[0] if more else sp.csr_array((n_labels**2, 0))
        if coef.shape[1] == n_features:
            return cls(coef, transitions, np.zeros(n_labels), np.zeros(n_labels), edges)
        constant = coef[:, n_features:].toarray().T.copy()
        coef = sp.csr_array(coef[:, :n_features])
        start, end = constant[:2] if len(constant) > 1 else np.zeros((2, n_labels))
        return cls(
            coef, transitions, start, end, edges, constant[-1] if len(constant) % 2 else None
        )

    @property
    def n_nonzero(self) -> int:
        """How many are not zero."""
        dense = [self.transitions, self.start, self.end]
        dense += [] if self.intercept is None else [self.intercept]
        found = sum(int(np.count_nonzero(part)) for part in dense)
        return found + int(self.coef.nnz) + int(self.edges.nnz)

    def without_intercept(self) -> ChainWeights:
        """Return weights that score all labellings alike: the intercept moves into the others.

        Every token but the first is stepped into; the first has the weights of beginnings.
        """
        if self.intercept is None or not self.intercept.any():
            return self
        return replace(
            self,
            transitions=self.transitions + self.intercept[None, :],
            start=self.start + self.intercept,
            intercept=None,
        )

    def for_labels(self, place: Ints, n_labels: int) -> ChainWeights:
        """Renumber the labels: label i becomes ``place[i]``; those with a place below 0 go."""
        kept = np.flatnonzero(place >= 0)
        to, n_old = place[kept], len(place)
        transitions = np.zeros((n_labels, n_labels))
        transitions[np.ix_(to, to)] = self.transitions[np.ix_(kept, kept)]
        before, after = np.divmod(np.arange(n_old**2), n_old)
        pair = np.where(
            (place[before] >= 0) & (place[after] >= 0), place[before] * n_labels + place[after], -1
        )
        start, end = np.zeros((2, n_labels))
        start[to], end[to] = self.start[kept], self.end[kept]
        intercept = None
        if self.intercept is not None:
            intercept = np.zeros(n_labels)
            intercept[to] = self.intercept[kept]
        coef = moved(self.coef, rows=place, shape=(n_labels, self.coef.shape[1]))
        edges = moved(self.edges, rows=pair, shape=(n_labels**2, self.edges.shape[1]))
        return ChainWeights(coef, transitions, start, end, edges, intercept)


@final
@dataclass(frozen=True)
class ChainCoefficients:
    """A chain's weights with the names of labels and features: what another fit may start from.

    Attributes
    ----------
    weights : ChainWeights
        The arrays.
    classes : array of shape (n_classes,)
        The labels of their rows, sorted.
    features, edge_features : Vocabulary or None
        The names of their columns; None where these have none.
    """

    weights: ChainWeights
    classes: NDArray[Any]
    features: Vocabulary | None = None
    edge_features: Vocabulary | None = None

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return self.weights.n_nonzero

    def widened(self, n_features: int, n_edge_features: int) -> ChainCoefficients:
        """Return them with room for columns that came later, after the old ones; nameless now."""
        weights = replace(
            self.weights,
            coef=widened(self.weights.coef, n_features),
            edges=widened(self.weights.edges, n_edge_features),
        )
        return ChainCoefficients(weights, self.classes)

    def onto(self, classes: NDArray[Any], features: Columns, edges: Columns) -> ChainWeights:
        """Return the weights for other labels and features, matched by name.

        What is not there goes; what is new has no weight. Columns without names must be as many.
        """
        old = self.weights
        place = _places_of_labels(self.classes, classes)
        if (place < 0).all():
            raise ValueError(
                f"initial knows none of the labels of y: it has {self.classes[:5].tolist()}, y has "
                f"{classes[:5].tolist()}. Pass a model of the same labels."
            )
        coef = features.take(old.coef, self.features, "features")
        edge_coef = sp.csr_array((old.edges.shape[0], edges.number))
        if old.edges.shape[1] and edges.number:
            edge_coef = edges.take(old.edges, self.edge_features, "edge features")
        return replace(old, coef=coef, edges=edge_coef).for_labels(place, len(classes))


def _places_of_labels(old: NDArray[Any], new: NDArray[Any]) -> Ints:
    if (old.dtype.kind in "US") != (new.dtype.kind in "US") and "O" not in old.dtype.kind:
        return np.full(len(old), -1)
    place = np.minimum(np.searchsorted(new, old), len(new) - 1)
    return np.where(new[place] == old, place, -1)
