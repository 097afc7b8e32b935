"""Linear chains whose transitions look at the observation.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_{t-1}, y_t] + Σ_t W[y_{t-1}, y_t]·e_t)``, where e_t are
features of the step from token t-1 to t. The weights of the plain chain come first, numbered as in
:mod:`proxqn.oracles.chain`; behind them, coordinate ``c·L² + y·L + y'`` of the edge block is W of
the label pair (y, y') and the c-th edge feature that occurs in the data.

All that depends on tokens alone is left to a :class:`ChainOracle`, which runs on other kernels here
(``cpp/lattice.hpp``): slower by a factor, so plain chains stay with their own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.data.edges import EdgePatterns
from proxqn.oracles.chain import ChainOracle, Pairs
from proxqn.oracles.lattice_kernel import LatticeInference
from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep


@final
class LatticeOracle(Oracle):
    """Minus the log-likelihood of a chain with edge features.

    Parameters
    ----------
    X, labels, lengths, n_labels, pairs, sample_weight, n_jobs
        As in :class:`ChainOracle`.
    edges : csr_array of shape (n_tokens, n_edge_features)
        Features of the step into each token; the rows of first tokens are not used.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.oracles.lattice_reference`` for the readable NumPy truth.

    Examples
    --------
    >>> X, edges = sp.csr_array(np.eye(3)), sp.csr_array(np.ones((3, 1)))
    >>> labels, lengths = np.array([0, 1, 1]), np.array([2, 1])
    >>> oracle = LatticeOracle(X, labels, lengths, n_labels=2, edges=edges)
    >>> oracle.n_parameters  # 2 · 3 of tokens, 4 label pairs, 4 of the edge feature
    14
    >>> round(oracle.value_at(0.0), 4)  # three tokens, two labels: 3 log 2
    2.0794
    """

    def __init__(
        self,
        X: sp.csr_array,
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        edges: sp.csr_array,
        pairs: Pairs = Pairs.ALL,
        sample_weight: Floats | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        chain = ChainOracle(
            X,
            labels,
            lengths,
            n_labels=n_labels,
            pairs=pairs,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
            kernels=kernels,
        )
        if edges.shape[0] != X.shape[0]:
            raise ValueError(
                f"one row of edges a row of X expected, {X.shape[0]} in all, got {edges.shape[0]}."
            )
        patterns = EdgePatterns.from_csr(sp.csr_array(edges), chain.layout.lengths)
        self._set_up(chain, patterns, np.asarray(labels), sample_weight, kernels)
        self._admitted: Ints | None = None
        if pairs is Pairs.OBSERVED:
            self._admitted = self._observed_edges(None).coordinates

    @property
    def n_coordinates(self) -> int:
        """Those of the plain chain, and all label pairs of every edge feature that occurs."""
        return self._n_chain + len(self._patterns.columns) * self.n_labels**2

    @property
    def n_parameters(self) -> int:
        """d: that of the plain chain and all or the observed weights of edges."""
        if self._admitted is None:
            return self._chain.n_parameters + self._patterns.n_features * self.n_labels**2
        return self._chain.n_parameters + len(self._admitted)

    @property
    def n_samples(self) -> int:
        """The number of sequences."""
        return self._chain.n_samples

    def reset(self) -> None:
        """Go to w = 0."""
        self._chain.reset()
        self._w = self._d = SparseVector.empty()
        self._inference.move(self._w, self._d)

    def move(self, direction: SparseVector) -> None:
        """Compute the change of the scores: data entries of the features in w and d."""
        chain, self._d = self._split(direction)
        self._chain.move(chain)
        self._inference.move(self._w, self._d)

    def value_at(self, step: float) -> float:
        """Run the forward pass."""
        return self._chain.value_at(step)

    def accept(self, step: float) -> None:
        """Run the backward pass."""
        self._chain.accept(step)
        self._w = _moved(self._w, self._d, step)
        self._d = SparseVector.empty()
        self._inference.move(self._w, self._d)

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the tokens of each coordinate's feature."""
        split = np.searchsorted(coordinates, self._n_chain)
        edges = coordinates[split:] - self._n_chain
        expected = self._inference.expected(edges, self.n_jobs)
        observed = self._observed
        at = np.searchsorted(observed.coordinates, edges)
        known = at < len(observed.coordinates)
        known[known] = observed.coordinates[at[known]] == edges[known]
        expected[known] -= observed.values[at[known]]
        return np.concatenate([self._chain.gradient(coordinates[:split]), expected])

    def sweep(self, level: float) -> Sweep:
        """Stream over all data entries times labels or label pairs; keep what exceeds the level."""
        chain = self._chain.sweep(level)
        coordinates, gradient, largest = self._inference.sweep(
            level, self._observed, self._admitted, self.n_jobs
        )
        return Sweep(
            SparseVector(
                np.concatenate([chain.gradient.coordinates, coordinates + self._n_chain]),
                np.concatenate([chain.gradient.values, gradient]),
            ),
            float(np.maximum(chain.largest, largest)),  # a NaN stays a NaN
        )

    def sample_losses(self) -> tuple[Floats, Floats | None]:
        """Return -log P(y_i|x_i) of the last forward pass."""
        return self._chain.sample_losses()

    @property
    def pass_cost(self) -> float:
        """About twice that of a plain chain: one sequence at a time."""
        return 2.0 * self._chain.pass_cost

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of the label, or label pair, in the data."""
        split = np.searchsorted(coordinates, self._n_chain)
        column, pair = np.divmod(coordinates[split:] - self._n_chain, self.n_labels**2)
        share = np.bincount(self._labels, minlength=self.n_labels) + 1.0
        share /= share.sum()
        by_pair = np.outer(share, share).ravel()
        by_pair *= 1.0 - by_pair
        factor = 1.0 if self._weights is None else float(self._weights.mean())
        tokens = self._patterns.token
        often = np.bincount(tokens[tokens >= 0], minlength=self._patterns.rows.shape[0])
        squares: Floats = self._patterns.rows.power(2).T @ often.astype(np.float64)
        return np.concatenate(
            [self._chain.curvatures(coordinates[:split]), factor * squares[column] * by_pair[pair]]
        )

    def subsample(self, share: float, seed: int) -> LatticeOracle:
        """Take a random share of the batches of sequences, their losses scaled to the whole."""
        chain = self._chain.subsample(share, seed)
        sequences = self._chain.layout.sample(share, seed)[1]
        chosen = np.zeros(self.n_samples, dtype=bool)
        chosen[sequences] = True
        tokens = np.repeat(chosen, self._chain.layout.lengths)
        part = object.__new__(LatticeOracle)
        part._set_up(
            chain,
            self._patterns.take(tokens),
            self._labels[tokens],
            chain.sample_losses()[1],
            self._kernels,
        )
        part._admitted = self._admitted
        return part

    def pack(
        self, coef: sp.csr_array, transitions: Floats, edge_coef: sp.csr_array
    ) -> SparseVector:
        """Turn coefficients (labels or label pairs x features) into a weight vector.

        What has no weight here is left out: features that do not occur, pairs not admitted.
        """
        chain, entries = self._chain.pack(coef, transitions), sp.coo_array(edge_coef)
        columns = self._patterns.columns
        column = np.searchsorted(columns, entries.col)
        known = column < len(columns)
        known[known] = columns[column[known]] == entries.col[known]
        coordinates = column[known].astype(np.int64) * self.n_labels**2 + entries.row[known]
        values = entries.data[known]
        if self._admitted is not None:
            admitted = np.isin(coordinates, self._admitted)
            coordinates, values = coordinates[admitted], values[admitted]
        order = np.argsort(coordinates)
        return SparseVector(
            np.concatenate([chain.coordinates, coordinates[order] + self._n_chain]),
            np.concatenate([chain.values, values[order].astype(np.float64)]),
        )

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats, sp.csr_array]:
        """Return coefficients (L x features), transitions (L x L), edge weights (L² x features)."""
        chain, edges = self._split(w)
        column, pair = np.divmod(edges.coordinates, self.n_labels**2)
        edge_coef = sp.coo_array(
            (edges.values, (pair, self._patterns.columns[column])),
            shape=(self.n_labels**2, self._patterns.n_features),
        ).tocsr()
        return *self._chain.unpack(chain), edge_coef

    @property
    def data(self) -> Any:
        """The features of tokens, by feature."""
        return self._chain.data

    def _set_up(
        self,
        chain: ChainOracle,
        patterns: EdgePatterns,
        labels: NDArray[np.integer[Any]],
        weights: Floats | None,
        kernels: ModuleType,
    ) -> None:
        self._chain, self._patterns, self._labels = chain, patterns, labels
        self._weights, self._kernels = weights, kernels
        self.n_labels, self.n_jobs = chain.n_labels, chain.n_jobs
        slot_labels = np.zeros(chain.layout.stride, dtype=np.int32)
        slot_labels[chain.layout.token_slot] = labels
        self._inference = LatticeInference(
            kernels, chain.layout, patterns, chain.scores, labels=slot_labels, weights=weights
        )
        chain.run_on(self._inference)
        self._n_chain = chain.n_coordinates
        self._observed = self._observed_edges(weights)
        self.reset()

    def _split(self, w: SparseVector) -> tuple[SparseVector, SparseVector]:
        """Return the weights of the plain chain and those of edges."""
        at = np.searchsorted(w.coordinates, self._n_chain)
        return (
            SparseVector(w.coordinates[:at], w.values[:at]),
            SparseVector(w.coordinates[at:] - self._n_chain, w.values[at:]),
        )

    def _observed_edges(self, weights: Floats | None) -> SparseVector:
        """Count (edge feature, label before, label) in the data, weighted by sequence."""
        patterns, size = self._patterns, self.n_labels**2
        tokens = np.flatnonzero(patterns.token >= 0)
        pair = self._labels[tokens - 1].astype(np.int64) * self.n_labels + self._labels[tokens]
        sequence = np.repeat(np.arange(self.n_samples), self._chain.layout.lengths)
        often = np.ones(len(tokens)) if weights is None else weights[sequence[tokens]]
        by_pattern = sp.csr_array(
            (often, (patterns.token[tokens], pair)), shape=(patterns.rows.shape[0], size)
        )
        counts: Any = sp.csr_array(patterns.rows.T) @ by_pattern
        counts.sort_indices()
        column = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        return SparseVector(column * size + counts.indices.astype(np.int64), counts.data)


def _moved(w: SparseVector, d: SparseVector, step: float) -> SparseVector:
    coordinates = np.union1d(w.coordinates, d.coordinates)
    values = np.zeros(len(coordinates))
    values[np.searchsorted(coordinates, w.coordinates)] = w.values
    values[np.searchsorted(coordinates, d.coordinates)] += step * d.values
    return SparseVector(coordinates, values).nonzero()
