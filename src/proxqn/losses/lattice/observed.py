"""Which pairs of features and labels occur in data whose labels may be partly unknown.

``evidence`` marks the labels that each token may have, shape (n_tokens, L), and nothing for tokens
that may have any: they say nothing of which pairs belong together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.edge_patterns import EdgePatterns
from proxqn.problem.sparse import Floats, Ints, SparseVector

Evidence = NDArray[np.bool_]


def states(
    X: sp.csr_array, dense: NDArray[Any] | None, columns: Ints, evidence: Evidence
) -> tuple[Ints, NDArray[np.int32]]:
    """Return the labels that occur with each of the columns, as CSR-like (start, labels).

    The first columns are dense ones, the others numbers of columns of X.
    """
    present = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    counts: Any = sp.csr_array(present.T) @ sp.csr_array(evidence.astype(np.float64))
    n_dense = 0 if dense is None else dense.shape[1]
    chosen = counts[columns[n_dense:]]
    if dense is not None:
        chosen = sp.csr_array(sp.vstack([sp.csr_array(_dense_counts(dense, evidence)), chosen]))
    chosen.sort_indices()
    return chosen.indptr.astype(np.int64), chosen.indices.astype(np.int32)


def _dense_counts(values: NDArray[Any], evidence: Evidence, n_rows: int = 4096) -> Floats:
    """Count, for each column and label, the rows where a value is not zero."""
    counts = np.zeros((values.shape[1], evidence.shape[1]))
    for first in range(0, len(values), n_rows):
        some = values[first : first + n_rows] != 0
        counts += some.T.astype(np.float64) @ evidence[first : first + n_rows]
    return counts


def transitions(evidence: Evidence, lengths: Ints) -> NDArray[np.bool_]:
    """Return which labels follow each other, shape (L, L)."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    inside = sequence[1:] == sequence[:-1]
    before, after = (part[inside].astype(np.float64) for part in (evidence[:-1], evidence[1:]))
    found: NDArray[np.bool_] = before.T @ after > 0
    return found


def edges(patterns: EdgePatterns, evidence: Evidence) -> Ints:
    """Return the coordinates, column · L² + pair, of the edge features that occur with a pair.

    Examples
    --------
    >>> block = EdgePatterns.from_csr(sp.csr_array(np.ones((3, 1))), np.array([3]))
    >>> edges(block, np.array([[True, False], [True, True], [False, False]])).tolist()
    [0, 1]
    """
    tokens = np.flatnonzero(patterns.token >= 0)
    token, before = np.nonzero(evidence[tokens - 1])
    now = sp.csr_array(evidence[tokens])
    often = np.diff(now.indptr)[token]  # labels now, for each label before
    places = np.repeat(now.indptr[token] - (np.cumsum(often) - often), often)
    after = now.indices[places + np.arange(len(places))]
    pair = np.repeat(before, often) * evidence.shape[1] + after
    pattern = np.repeat(patterns.token[tokens[token]], often)
    rows = patterns.rows
    present = sp.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    return edge_counts(present, pattern, pair, np.ones(len(pair)), evidence.shape[1]).coordinates


def edge_counts(
    rows: sp.csr_array, pattern: NDArray[Any], pair: NDArray[Any], weights: Floats, n_labels: int
) -> SparseVector:
    """Sum the features of patterns over tokens, each with its pair of labels and its weight."""
    size = n_labels**2
    by_pattern = sp.csr_array((weights, (pattern, pair)), shape=(rows.shape[0], size))
    counts: Any = sp.csr_array(rows.T).astype(np.float64) @ by_pattern
    counts.sort_indices()
    column = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
    return SparseVector(column * size + counts.indices, counts.data)
