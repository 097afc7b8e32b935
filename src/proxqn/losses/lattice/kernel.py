"""The kernels of ``cpp/lattice/`` bound to data.

:class:`LatticeInference` has the ``forward`` and ``backward`` of the plain chain's kernel, so that
a chain oracle runs on it, and what the weights of edges need beside these.
"""

from __future__ import annotations

from types import ModuleType
from typing import final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.aligned_array import aligned_zeros
from proxqn.features.edge_patterns import EdgePatterns
from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.features.partial_labels import Twins
from proxqn.problem.sparse import Floats, Ints, SparseVector

_LANES = 8


@final
class LatticeInference:
    """Rows of every token (and twin), and the patterns' scores.

    Parameters
    ----------
    scores : array of shape (n_labels, stride)
        Scores of labels by slot; ``backward`` moves them to the accepted point.
    labels : array of shape (stride,), optional
        True labels by slot; without them losses are log Z and residuals are marginals.
    """

    def __init__(
        self,
        kernels: ModuleType,
        layout: SequenceLayout,
        patterns: EdgePatterns,
        scores: Floats,
        *,
        labels: NDArray[np.int32] | None = None,
        weights: Floats | None = None,
        twins: Twins | None = None,
    ) -> None:
        n_labels, n_tokens = len(scores), layout.n_tokens
        self._patterns, self._n_labels = patterns, n_labels
        self.data = FeatureIndexed.from_csr(
            patterns.rows, np.arange(patterns.rows.shape[0], dtype=np.int32)
        )
        twin_tokens = np.empty(0, np.int64) if twins is None else twins.tokens
        tokens = np.concatenate([np.arange(n_tokens), twin_tokens])  # of each row
        shape = (len(tokens), -(-n_labels // _LANES) * _LANES)
        self._alpha, self._onward = aligned_zeros(shape), aligned_zeros(shape)
        self._log_domain = np.zeros(len(tokens), dtype=np.uint8)
        sequence = np.repeat(np.arange(layout.n_sequences), layout.lengths)[tokens]
        row_weights = np.ones(len(tokens)) if weights is None else weights[sequence]
        row_weights[n_tokens:] *= -1.0
        self._edges = kernels.Edges(
            self.data.start,
            self.data.slots,
            self.data.value_start,
            self.data.values,
            *patterns.members(tokens),
            row_weights,
            patterns.rows.indptr.astype(np.int64),
            patterns.rows.indices.astype(np.int32),
            patterns.rows.data,
            n_labels,
        )
        self._lattice = kernels.Lattice(
            layout.batches(kernels, n_labels, labels=labels, weights=weights),
            scores,
            np.concatenate([[0], np.cumsum(layout.lengths)]).astype(np.int64),
            patterns.token,
            None if twins is None else twins.start,
            None if twins is None else twins.allowed,
        )
        self.move(SparseVector.empty())

    def move(self, w: SparseVector) -> None:
        """Set the weights of edges; coordinates are column · L² + pair."""
        size = self._n_labels**2
        column, pair = np.divmod(w.coordinates, size)
        shape = (self.data.n_columns, size)
        self.put(sp.csr_array((w.values, (column, pair)), shape=shape))

    def put(self, weights: sp.csr_array) -> None:
        """Set the weights as a matrix, columns of the patterns x label pairs."""
        weights.sort_indices()
        self._edges.put(
            weights.indptr.astype(np.int64),
            weights.indices.astype(np.int32),
            np.ascontiguousarray(weights.data, dtype=np.float64),
        )

    def forward(self, alpha: Floats, transitions: Floats, losses: Floats, n_jobs: int) -> None:
        """Run forward; α goes into rows of its own."""
        self._lattice.forward(
            self._edges, self._alpha, self._log_domain, transitions, losses, n_jobs
        )

    def backward(self, alpha: Floats, transitions: Floats, pairs: Floats, n_jobs: int) -> None:
        """Leave residuals in ``alpha`` and the expected label pairs in ``pairs``."""
        self._transitions = transitions.copy()
        self._lattice.backward(
            self._edges,
            self._alpha,
            self._onward,
            self._log_domain,
            alpha,
            transitions,
            pairs,
            n_jobs,
        )

    def viterbi(self, transitions: Floats, path: NDArray[np.int32], n_jobs: int) -> None:
        """Find the best labels of each sequence."""
        self._lattice.viterbi(self._edges, transitions, path, n_jobs)

    def expected(self, coordinates: Ints, n_jobs: int) -> Floats:
        """Return the expected counts of edge features after ``backward``."""
        out = np.empty(len(coordinates))
        self._edges.gradient(
            coordinates,
            self._alpha,
            self._onward,
            self._log_domain,
            self._transitions,
            out,
            n_jobs,
        )
        return out

    def sweep(
        self, level: float, observed: SparseVector, admitted: Ints | None, n_jobs: int
    ) -> tuple[Ints, Floats, float]:
        """Return expected minus observed counts above the level, and the largest of all."""
        found: tuple[Ints, Floats, float] = self._edges.sweep(
            level,
            self._alpha,
            self._onward,
            self._log_domain,
            self._transitions,
            observed.coordinates,
            observed.values,
            admitted,
            n_jobs,
        )
        return found
