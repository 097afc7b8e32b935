"""Products with dense and with sparse columns: the kernels of each, behind one face.

Dense columns are numbered first, so that their coordinates are the first ones. Names and arguments
are those of ``_kernels.Features``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.sparse import Floats, Ints

Swept = tuple[Ints, Floats, float]
Drawn = tuple[Ints, NDArray[np.int32], NDArray[np.float32]]  # start, row, value


@final
class MixedFeatures:
    """Dense columns, and behind them sparse ones.

    Parameters
    ----------
    dense : DenseFeatures
        Of ``_kernels`` or the reference.
    sparse : Features
        Of the same; there may be no column.
    n_dense, n_sparse : int
        The number of their columns.
    """

    def __init__(self, dense: Any, sparse: Any, n_dense: int, n_sparse: int) -> None:
        self.dense, self.sparse = dense, sparse
        self._n_dense, self._n_sparse = n_dense, n_sparse

    def cut(self, coordinates: Ints, n_labels: int) -> tuple[int, Ints]:
        """Return how many coordinates are of dense columns, and the others as the sparse count."""
        first = self._n_dense * n_labels
        at = int(np.searchsorted(coordinates // n_labels, self._n_dense))
        return at, coordinates[at:] - first

    def scores(
        self, coordinates: Ints, weights: Floats, out: Floats, dirty: NDArray[np.uint8], n_jobs: int
    ) -> None:
        """Sum the scores of both."""
        at, rest = self.cut(coordinates, len(out))
        self.sparse.scores(rest, weights[at:], out, dirty, n_jobs)
        self.dense.add_scores(coordinates[:at], weights[:at], out, dirty, n_jobs)

    def gradient(self, coordinates: Ints, residuals: Floats, out: Floats, n_jobs: int) -> None:
        """Multiply each coordinate's column with residuals."""
        at, rest = self.cut(coordinates, len(residuals))
        self.dense.gradient(coordinates[:at], residuals, out[:at], n_jobs)
        self.sparse.gradient(rest, residuals, out[at:], n_jobs)

    def sweep(
        self,
        residuals: Floats,
        threshold: float,
        pair_start: Ints | None,
        pair_labels: NDArray[np.int32] | None,
        n_jobs: int,
    ) -> Swept:
        """Look at all labels of every column."""
        of_dense, of_sparse = self._pairs(pair_start, pair_labels)
        return self._joined(
            self.dense.sweep(residuals, threshold, *of_dense, n_jobs),
            self._swept(self.sparse.sweep, residuals, threshold, *of_sparse, n_jobs),
            len(residuals),
        )

    def scores_single(
        self,
        coordinates: Ints,
        weights: Floats,
        rank: NDArray[np.int32],
        out: NDArray[np.float32],
        n_jobs: int,
    ) -> None:
        """Sum the scores of both."""
        at, rest = self.cut(coordinates, len(rank))
        self.sparse.scores_single(rest, weights[at:], rank, out, n_jobs)
        self.dense.add_scores_single(coordinates[:at], weights[:at], rank, out, n_jobs)

    def gradient_single(
        self,
        coordinates: Ints,
        rank: NDArray[np.int32],
        residuals: NDArray[np.float32],
        out: Floats,
        n_jobs: int,
    ) -> None:
        """Multiply each coordinate's column with residuals."""
        at, rest = self.cut(coordinates, len(rank))
        self.dense.gradient_single(coordinates[:at], rank, residuals, out[:at], n_jobs)
        self.sparse.gradient_single(rest, rank, residuals, out[at:], n_jobs)

    def sweep_single(
        self,
        rank: NDArray[np.int32],
        residuals: NDArray[np.float32],
        threshold: float,
        pair_start: Ints | None,
        pair_labels: NDArray[np.int32] | None,
        kept: Ints,
        n_jobs: int,
    ) -> Swept:
        """Look at all labels of every column."""
        of_dense, of_sparse = self._pairs(pair_start, pair_labels)
        at, rest = self.cut(kept, len(rank))
        return self._joined(
            self.dense.sweep_single(rank, residuals, threshold, *of_dense, kept[:at], n_jobs),
            self._swept(
                self.sparse.sweep_single, rank, residuals, threshold, *of_sparse, rest, n_jobs
            ),
            len(rank),
        )

    def drawn_columns(
        self,
        coordinates: Ints,
        label_pairs: Ints,
        n_labels: int,
        n_slots: int,
        tokens: tuple[NDArray[Any], ...],
        edges: tuple[NDArray[Any], ...],
        n_jobs: int,
    ) -> Drawn:
        """Return the columns of drawn curvature of both, and those of label pairs."""
        at, rest = self.cut(coordinates, n_labels)
        size = n_labels, n_slots
        others = self.sparse.drawn_columns(rest, label_pairs, *size, tokens, edges, n_jobs)
        J: Drawn = self.dense.drawn_columns(coordinates[:at], *size, tokens, others, n_jobs)
        return J

    def observed_pairs(
        self, labels: NDArray[np.int32], n_labels: int
    ) -> tuple[Ints, NDArray[np.int32]]:
        """Return the labels that occur with each column, as CSR-like (start, labels)."""
        first, others = (
            part.observed_pairs(labels, n_labels) for part in (self.dense, self.sparse)
        )
        start = np.concatenate([first[0], first[0][-1] + others[0][1:]])
        return start, np.concatenate([first[1], others[1]])

    def _pairs(self, start: Ints | None, labels: NDArray[np.int32] | None) -> tuple[Any, Any]:
        """Cut the pairs that have a weight into those of dense columns and the others."""
        if start is None or labels is None:
            return (None, None), (None, None)
        at = start[self._n_dense]
        of_dense = start[: self._n_dense + 1], labels[:at]
        return of_dense, (start[self._n_dense :] - at, labels[at:])

    def _swept(self, sweep: Callable[..., Swept], *arguments: Any) -> Swept:
        """Sweep the sparse columns; without any, residuals need not be read."""
        if self._n_sparse:
            return sweep(*arguments)
        return np.empty(0, dtype=np.int64), np.empty(0), 0.0

    def _joined(self, dense: Swept, sparse: Swept, n_labels: int) -> Swept:
        first = self._n_dense * n_labels
        return (
            np.concatenate([dense[0], sparse[0] + first]),
            np.concatenate([dense[1], sparse[1]]),
            float(np.maximum(dense[2], sparse[2])),  # a NaN stays a NaN
        )
