"""The weights of a fitted chain, on their way to and from the oracle's one long vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.input.sequences import Tokens
from proxqn.losses.chain.oracle import ChainOracle
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.problem import Floats, SparseVector

Loss = ChainOracle | LatticeOracle


@final
@dataclass(frozen=True)
class ChainWeights:
    """Weights of features, of label pairs, and of labels at the ends of a sequence."""

    coef: sp.csr_array  # [L, n_features]
    transitions: Floats  # [L, L]
    start: Floats  # [L] zero where the model has none
    end: Floats  # [L]
    edges: sp.csr_array  # [L², n_edge_features], row y·L + y' of label y followed by y'

    @classmethod
    def from_oracle(cls, oracle: Loss, w: SparseVector, n_features: int) -> Self:
        """Cut the oracle's vector; columns past ``n_features`` are those of :func:`mark_ends`."""
        if isinstance(oracle, LatticeOracle):
            coef, transitions, edges = oracle.unpack(w)
        else:
            coef, transitions = oracle.unpack(w)
            edges = sp.csr_array((transitions.size, 0))
        if coef.shape[1] == n_features:
            nothing = np.zeros(len(transitions))
            return cls(coef, transitions, nothing, nothing.copy(), edges)
        start, end = coef[:, n_features:].toarray().T
        coef = sp.csr_array(coef[:, :n_features])
        return cls(coef, transitions, start.copy(), end.copy(), edges)

    def widened(self, n_features: int, n_edge_features: int) -> ChainWeights:
        """Return the weights with room for features that came later, after the old ones."""
        return replace(
            self,
            coef=_with_columns(self.coef, n_features),
            edges=_with_columns(self.edges, n_edge_features),
        )

    def onto(self, oracle: Loss, known: NDArray[Any], classes: NDArray[Any]) -> SparseVector:
        """Return the weights in the oracle's numbering; ``classes`` contain all ``known`` ones."""
        place = np.searchsorted(classes, known)
        parts: Any = [self.coef]
        if oracle.data.n_features > self.coef.shape[1]:
            parts.append(sp.csr_array(np.column_stack([self.start, self.end])))
        old: Any = sp.coo_array(sp.hstack(parts))
        coef = sp.csr_array(
            (old.data, (place[old.row], old.col)), shape=(len(classes), oracle.data.n_features)
        )
        transitions = np.zeros((len(classes), len(classes)))
        transitions[np.ix_(place, place)] = self.transitions
        if not isinstance(oracle, LatticeOracle):
            return oracle.pack(coef, transitions)
        edges: Any = sp.coo_array(self.edges)
        before, after = np.divmod(edges.row, len(known))
        pair = place[before] * len(classes) + place[after]
        shape = (len(classes) ** 2, edges.shape[1])
        moved = sp.csr_array((edges.data, (pair, edges.col)), shape=shape)
        return oracle.pack(coef, transitions, moved)


def _with_columns(old: sp.csr_array, n_columns: int) -> sp.csr_array:
    parts: Any = (old.data, old.indices, old.indptr)
    return sp.csr_array(parts, shape=(old.shape[0], n_columns))


def mark_ends(tokens: Tokens) -> Tokens:
    """Append two columns that are 1 at the first and at the last token of a sequence.

    If all sequences have one token, the second stays empty: it would only repeat the first, which
    is then the constant feature of an intercept.
    """
    ends = np.cumsum(tokens.lengths)
    rows = ends - tokens.lengths
    columns = np.zeros(len(ends), dtype=np.int64)
    if not tokens.alone:
        rows = np.concatenate([rows, ends - 1])
        columns = np.repeat([0, 1], len(ends))
    marks = sp.csr_array(
        (np.ones(len(rows), dtype=tokens.X.dtype), (rows, columns)), shape=(tokens.X.shape[0], 2)
    )
    joined: Any = sp.hstack([tokens.X, marks], format="csr")
    return replace(tokens, X=joined)
