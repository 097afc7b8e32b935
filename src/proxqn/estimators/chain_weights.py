"""The weights of a chain as arrays, by what they are weights of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.columns import moved
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
