"""Features of the steps between tokens, and the tokens that share them.

Row t of an edge block holds what is observed on the step from token t-1 to token t. Many tokens
have the same row (the same part of speech, say), and equal rows add the same scores to the label
pairs of the step. So the distinct rows are kept once, as patterns, and every token names its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.problem.sparse import Ints

_LONGEST_KEY = 64  # entries: longer rows are hardly ever equal, and slow to compare


@final
@dataclass(frozen=True)
class EdgePatterns:
    """The distinct rows of an edge block, and which token has which."""

    rows: sp.csr_array  # [n_patterns, n_columns] over the columns that occur
    columns: Ints  # [n_columns] their original numbers, ascending
    token: NDArray[np.int32]  # [n_tokens] pattern of the step into the token; -1 without any
    n_features: int  # columns of the original block

    @classmethod
    def none(cls, n_tokens: int) -> Self:
        """Return an empty block: plain transitions everywhere."""
        return cls.from_csr(sp.csr_array((n_tokens, 0)), np.array([n_tokens]))

    @classmethod
    def from_csr(cls, edges: sp.csr_array, lengths: Ints) -> Self:
        """Find the patterns of a canonical block; rows of first tokens are not looked at.

        Examples
        --------
        >>> edges = sp.csr_array(np.array([[9.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]))
        >>> found = EdgePatterns.from_csr(edges, np.array([4]))
        >>> found.token.tolist(), found.columns.tolist(), found.rows.toarray().tolist()
        ([-1, 0, -1, 0], [1], [[1.0]])
        """
        sizes = np.diff(edges.indptr)
        sizes[np.cumsum(lengths) - lengths] = 0
        token = np.full(len(sizes), -1, dtype=np.int32)
        firsts: list[NDArray[Any]] = [np.empty(0, dtype=np.int64)]
        n_patterns = 0
        for size in np.unique(sizes[sizes > 0]).tolist():
            tokens = np.flatnonzero(sizes == size)
            first, number = _distinct(edges, tokens, size)
            token[tokens] = n_patterns + number
            firsts.append(tokens[first])
            n_patterns += len(first)
        rows: Any = edges[np.concatenate(firsts)]
        columns, number = np.unique(rows.indices, return_inverse=True)
        compact = sp.csr_array(
            (rows.data.astype(np.float64), number, rows.indptr), shape=(n_patterns, len(columns))
        )
        return cls(compact, columns.astype(np.int64), token, edges.shape[1])

    def take(self, tokens: NDArray[np.bool_]) -> Self:
        """Keep some tokens, and all patterns."""
        return replace(self, token=self.token[tokens])

    def members(self, tokens: Ints) -> tuple[Ints, NDArray[np.int32]]:
        """Return, as (start, places), where in ``tokens`` those with each pattern stand."""
        pattern = self.token[tokens]
        order = np.argsort(pattern, kind="stable")
        order = order[np.count_nonzero(pattern < 0) :]
        counts = np.bincount(pattern[pattern >= 0], minlength=self.rows.shape[0])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), order.astype(np.int32)


def _distinct(
    edges: sp.csr_array, tokens: NDArray[Any], size: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first of each group of equal rows, and the group of each; all have ``size``."""
    if size > _LONGEST_KEY:
        return np.arange(len(tokens)), np.arange(len(tokens))
    entries = edges.indptr[tokens][:, None] + np.arange(size)
    keys = edges.indices[entries].astype(np.int64)
    values = edges.data[entries].astype(np.float64)
    if (values != 1.0).any():
        keys = np.concatenate([keys, values.view(np.int64)], axis=1)
    if keys.shape[1] > 1:
        keys = np.ascontiguousarray(keys).view(f"V{8 * keys.shape[1]}")
    _, first, number = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    return first, number
