"""The weights of a fitted chain, on their way to and from the oracle's one long vector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.estimators.sequence_input import Tokens
from proxqn.oracles.chain import ChainOracle
from proxqn.problem import Floats, SparseVector


@final
@dataclass(frozen=True)
class ChainWeights:
    """Weights of features, of label pairs, and of labels at the ends of a sequence."""

    coef: sp.csr_array  # [L, n_features]
    transitions: Floats  # [L, L]
    start: Floats  # [L] zero where the model has none
    end: Floats  # [L]

    @classmethod
    def from_oracle(cls, oracle: ChainOracle, w: SparseVector, n_features: int) -> Self:
        """Cut the oracle's vector; columns past ``n_features`` are those of :func:`mark_ends`."""
        coef, transitions = oracle.unpack(w)
        if coef.shape[1] == n_features:
            nothing = np.zeros(len(transitions))
            return cls(coef, transitions, nothing, nothing.copy())
        start, end = coef[:, n_features:].toarray().T
        return cls(sp.csr_array(coef[:, :n_features]), transitions, start.copy(), end.copy())

    def widened(self, n_features: int) -> ChainWeights:
        """Return the weights with room for features that came later, after the old ones."""
        old = self.coef
        parts: Any = (old.data, old.indices, old.indptr)
        return replace(self, coef=sp.csr_array(parts, shape=(old.shape[0], n_features)))

    def onto(self, oracle: ChainOracle, known: NDArray[Any], classes: NDArray[Any]) -> SparseVector:
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
        return oracle.pack(coef, transitions)


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
    return Tokens(joined, tokens.lengths, tokens.listed)
