"""Linear chains whose transitions look at the observation, or whose labels are partly unknown.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_{t-1}, y_t] + Σ_t W[y_{t-1}, y_t]·e_t)``, where e_t are
features of the step from token t-1 to t. The weights of the plain chain come first, numbered as in
:mod:`proxqn.losses.chain.oracle`; behind them, coordinate ``c·L² + y·L + y'`` of the edge block is
W of the label pair (y, y') and the c-th edge feature that occurs in the data.

With unknown labels the loss of a sequence is ``log Z - log Z(allowed)``, minus the log-probability
of all labelings that agree with what is known. It is not convex, so there is no certificate.

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
from proxqn.features.edge_patterns import EdgePatterns
from proxqn.features.partial_labels import PartialLabels, Twins
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.lattice import observed
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.losses.trials import moved
from proxqn.problem import Floats, Ints, Oracle, SparseVector, Sweep


@final
class LatticeOracle(Oracle):
    """Minus the log-likelihood of a chain with edge features, with unknown labels, or with both.

    Parameters
    ----------
    X, lengths, n_labels, pairs, transition_pairs, sample_weight, n_jobs
        As in :class:`ChainOracle`; edge features are with the transitions, and tokens that may
        have any label are no observation of a pair.
    labels : array of shape (n_tokens,) or PartialLabels
        True labels.
    edges : csr_array of shape (n_tokens, n_edge_features), optional
        Features of the step into each token; the rows of first tokens are not used.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.lattice.reference`` for the readable NumPy truth.

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
        labels: NDArray[np.integer[Any]] | PartialLabels,
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        edges: sp.csr_array | None = None,
        pairs: Pairs = Pairs.ALL,
        transition_pairs: Pairs | None = None,
        sample_weight: Floats | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        given = _checked(labels, n_labels)
        chain = ChainOracle(
            X,
            given.labels if given.complete else np.maximum(given.labels, 0),
            lengths,
            n_labels=n_labels,
            pairs=pairs if given.complete else Pairs.ALL,
            transition_pairs=transition_pairs if given.complete else Pairs.ALL,
            sample_weight=sample_weight,
            n_jobs=n_jobs,
            kernels=kernels,
        )
        if edges is None:
            edges = sp.csr_array((X.shape[0], 0))
        if edges.shape[0] != X.shape[0]:
            raise ValueError(
                f"one row of edges a row of X expected, {X.shape[0]} in all, got {edges.shape[0]}."
            )
        patterns = EdgePatterns.from_csr(sp.csr_array(edges), chain.layout.lengths)
        self._set_up(chain, patterns, given, sample_weight, kernels)
        self._admitted: Ints | None = None
        steps = transition_pairs or pairs
        if steps is Pairs.OBSERVED:
            self._admitted = observed.edges(patterns, given.evidence())
        if not given.complete and pairs is Pairs.OBSERVED:
            chain.admit_states(
                observed.states(sp.csr_array(X), chain.data.columns, given.evidence())
            )
        if not given.complete and steps is Pairs.OBSERVED:
            chain.admit_transitions(observed.transitions(given.evidence(), chain.layout.lengths))

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
        self._w = self._d = SparseVector.empty()  # of edges
        self._inference.move(self._w)

    def move(self, direction: SparseVector) -> None:
        """Compute the scores of a whole step, but for the edges."""
        chain, self._d = self._split(direction)
        self._chain.move(chain)

    def value_at(self, step: float) -> float:
        """Run the forward pass."""
        self._inference.move(moved(self._w, self._d, step))
        return self._chain.value_at(step)

    def accept(self, step: float) -> None:
        """Run the backward pass."""
        self._chain.accept(step)
        self._w, self._d = moved(self._w, self._d, step), SparseVector.empty()

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the tokens of each coordinate's feature."""
        split = np.searchsorted(coordinates, self._n_chain)
        edges = coordinates[split:] - self._n_chain
        expected = self._inference.expected(edges, self.n_jobs)
        true = self._observed
        at = np.searchsorted(true.coordinates, edges)
        known = at < len(true.coordinates)
        known[known] = true.coordinates[at[known]] == edges[known]
        expected[known] -= true.values[at[known]]
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

    def sample_losses(self) -> tuple[Floats, Floats | None] | None:
        """Return -log P(y_i|x_i) of the last forward pass, or None with unknown labels."""
        return self._chain.sample_losses() if self.convex else None

    @property
    def convex(self) -> bool:
        """Whether all labels are known."""
        return self._labels.complete

    @property
    def pass_cost(self) -> float:
        """About twice that of a plain chain: one sequence at a time."""
        return 2.0 * self._chain.pass_cost

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of the label, or label pair, in the data."""
        split = np.searchsorted(coordinates, self._n_chain)
        column, pair = np.divmod(coordinates[split:] - self._n_chain, self.n_labels**2)
        labels = self._labels.labels
        share = np.bincount(labels[labels >= 0], minlength=self.n_labels) + 1.0
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
        sequences = self._chain.layout.sample(share, seed).sequences
        chosen = np.zeros(self.n_samples, dtype=bool)
        chosen[sequences] = True
        tokens = np.repeat(chosen, self._chain.layout.lengths)
        part = object.__new__(LatticeOracle)
        part._set_up(
            chain,
            self._patterns.take(tokens),
            self._labels.take(tokens),
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
        labels: PartialLabels,
        weights: Floats | None,
        kernels: ModuleType,
    ) -> None:
        self._chain, self._patterns, self._labels = chain, patterns, labels
        self._weights, self._kernels = weights, kernels
        self.n_labels, self.n_jobs = chain.n_labels, chain.n_jobs
        slot_labels = np.zeros(chain.layout.stride, dtype=np.int32)
        slot_labels[chain.layout.token_slot] = np.maximum(labels.labels, 0)
        twins = None if labels.complete else Twins.of(labels, chain.layout.lengths)
        self._inference = LatticeInference(
            kernels,
            chain.layout,
            patterns,
            chain.scores,
            labels=slot_labels,
            weights=weights,
            twins=twins,
        )
        chain.run_on(self._inference)
        self._n_chain = chain.n_coordinates
        known = np.ones(chain.n_samples, dtype=bool) if twins is None else twins.start < 0
        chain.count_pairs(known)
        self._observed = self._count_edges(known)
        self.reset()

    def _split(self, w: SparseVector) -> tuple[SparseVector, SparseVector]:
        """Return the weights of the plain chain and those of edges."""
        at = np.searchsorted(w.coordinates, self._n_chain)
        return (
            SparseVector(w.coordinates[:at], w.values[:at]),
            SparseVector(w.coordinates[at:] - self._n_chain, w.values[at:]),
        )

    def _count_edges(self, sequences: NDArray[np.bool_]) -> SparseVector:
        """Count (edge feature, label before, label) in some sequences, weighted."""
        factor = sequences * (1.0 if self._weights is None else self._weights)
        of_token = np.repeat(factor, self._chain.layout.lengths)
        tokens = np.flatnonzero((self._patterns.token >= 0) & (of_token > 0.0))
        labels = self._labels.labels.astype(np.int64)
        pair = labels[tokens - 1] * self.n_labels + labels[tokens]
        pattern = self._patterns.token[tokens]
        return observed.edge_counts(
            self._patterns.rows, pattern, pair, of_token[tokens], self.n_labels
        )


def _checked(labels: NDArray[np.integer[Any]] | PartialLabels, n_labels: int) -> PartialLabels:
    if not isinstance(labels, PartialLabels):
        return PartialLabels.known(np.asarray(labels), n_labels)
    marks, n_unknown = labels.candidates, np.count_nonzero(labels.labels < 0)
    if marks.shape != (n_unknown, n_labels) or not marks.any(axis=1).all():
        raise ValueError(
            f"candidates must mark at least one of {n_labels} labels for each of the {n_unknown} "
            f"tokens with label -1, got shape {marks.shape}."
        )
    return labels
