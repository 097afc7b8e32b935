"""What the loss of a chain with edge features or unknown labels is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features import column_sizes
from proxqn.features.column_sizes import Sizes
from proxqn.features.dense import DenseColumns, split
from proxqn.features.edge_patterns import EdgePatterns
from proxqn.features.partial_labels import PartialLabels, Twins
from proxqn.losses import rounding
from proxqn.losses.chain.data import ChainData, Pairs
from proxqn.losses.lattice import observed
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.units import Units, UnitsFound


@final
@dataclass(frozen=True)
class LatticeData:
    """A plain chain's data, which has the tokens' features, and what is known beside these.

    The coordinates of the plain chain come first; behind them, ``c·L² + y·L + y'`` is the weight of
    the label pair (y, y') and column c of the edge features.
    """

    chain: ChainData
    patterns: EdgePatterns
    labels: PartialLabels
    admitted: Ints | None  # coordinates of edges, from 0, that have a weight; None for all

    @classmethod
    def of_tokens(
        cls,
        X: sp.csr_array | NDArray[Any],
        labels: NDArray[np.integer[Any]] | PartialLabels,
        lengths: NDArray[np.integer[Any]],
        *,
        dense: DenseColumns | None,
        n_labels: int,
        edges: sp.csr_array | None,
        pairs: Pairs,
        transition_pairs: Pairs,
        sample_weight: Floats | None,
        kernels: ModuleType,
    ) -> Self:
        """Index tokens; parameters as in :class:`~proxqn.losses.lattice.oracle.LatticeOracle`."""
        X, dense = (X, dense) if sp.issparse(X) else split(np.asarray(X), dense)
        given, X = _checked(labels, n_labels), sp.csr_array(X)
        chain = ChainData.of_tokens(
            X,
            given.labels if given.complete else np.maximum(given.labels, 0),
            lengths,
            dense=dense,
            n_labels=n_labels,
            pairs=pairs if given.complete else Pairs.ALL,
            transition_pairs=transition_pairs if given.complete else Pairs.ALL,
            sample_weight=sample_weight,
            kernels=kernels,
        )
        if edges is None:
            edges = sp.csr_array((X.shape[0], 0))
        if edges.shape[0] != X.shape[0]:
            raise ValueError(
                f"one row of edges a row of X expected, {X.shape[0]} in all, got {edges.shape[0]}."
            )
        patterns = EdgePatterns.from_csr(sp.csr_array(edges), chain.layout.lengths)
        found = cls(chain, patterns, given, None)
        if transition_pairs is Pairs.OBSERVED:
            found = replace(found, admitted=observed.edges(patterns, given.evidence()))
        return found if given.complete else found._with_evidence(X, pairs, transition_pairs)

    def _with_evidence(self, X: sp.csr_array, pairs: Pairs, transition_pairs: Pairs) -> Self:
        """Take from unknown labels which pairs may be true, and from known ones which are."""
        chain, evidence = self.chain, self.labels.evidence()
        if pairs is Pairs.OBSERVED:
            dense = chain.features.dense
            values = None if dense is None else dense.values
            states = observed.states(X, values, chain.features.columns, evidence)
            chain = replace(chain, pairs=states)
        if transition_pairs is Pairs.OBSERVED:
            transitions = observed.transitions(evidence, chain.layout.lengths)
            chain = replace(chain, admitted=transitions)
        assert self.twins is not None
        return replace(self, chain=replace(chain, counted=self.twins.start < 0))

    @property
    def n_pairs(self) -> int:
        """L², the label pairs of an edge feature."""
        return self.chain.n_labels**2

    @property
    def n_coordinates(self) -> int:
        """Those of the plain chain, and all label pairs of every edge feature that occurs."""
        return self.chain.n_coordinates + len(self.patterns.columns) * self.n_pairs

    @property
    def n_parameters(self) -> int:
        """d: that of the plain chain and all or the observed weights of edges."""
        if self.admitted is None:
            return self.chain.n_parameters + self.patterns.n_features * self.n_pairs
        return self.chain.n_parameters + len(self.admitted)

    @cached_property
    def twins(self) -> Twins | None:
        """Rows of sequences with unknown labels, for sums over what these may be."""
        return None if self.labels.complete else Twins.of(self.labels, self.chain.layout.lengths)

    @cached_property
    def observed(self) -> SparseVector:
        """(edge feature, label before, label) of the sequences whose labels are known, weighted."""
        chain, token_pattern = self.chain, self.patterns.token
        factor = np.ones(chain.layout.n_sequences) if chain.weights is None else chain.weights
        if chain.counted is not None:
            factor = factor * chain.counted
        of_token = np.repeat(factor, chain.layout.lengths)
        tokens = np.flatnonzero((token_pattern >= 0) & (of_token > 0.0))
        labels = self.labels.labels.astype(np.int64)
        pair = labels[tokens - 1] * chain.n_labels + labels[tokens]
        return observed.edge_counts(
            self.patterns.rows, token_pattern[tokens], pair, of_token[tokens], chain.n_labels
        )

    def split(self, w: SparseVector) -> tuple[SparseVector, SparseVector]:
        """Return the weights of the plain chain and those of edges, which count from 0."""
        n_chain = self.chain.n_coordinates
        at = np.searchsorted(w.coordinates, n_chain)
        return (
            SparseVector(w.coordinates[:at], w.values[:at]),
            SparseVector(w.coordinates[at:] - n_chain, w.values[at:]),
        )

    def joined(self, chain: SparseVector, edges: SparseVector) -> SparseVector:
        """Return both as one vector."""
        return SparseVector(
            np.concatenate([chain.coordinates, edges.coordinates + self.chain.n_coordinates]),
            np.concatenate([chain.values, edges.values]),
        )

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of the label, or label pair, in the data."""
        chain, split = self.chain, np.searchsorted(coordinates, self.chain.n_coordinates)
        column, pair = np.divmod(coordinates[split:] - chain.n_coordinates, self.n_pairs)
        labels = self.labels.labels
        share = np.bincount(labels[labels >= 0], minlength=chain.n_labels) + 1.0
        share /= share.sum()
        by_pair = np.outer(share, share).ravel()
        by_pair *= 1.0 - by_pair
        factor = 1.0 if chain.weights is None else float(chain.weights.mean())
        tokens = self.patterns.token
        often = np.bincount(tokens[tokens >= 0], minlength=self.patterns.rows.shape[0])
        squares: Floats = self.patterns.rows.power(2).T @ often.astype(np.float64)
        return np.concatenate(
            [chain.curvatures(coordinates[:split]), factor * squares[column] * by_pair[pair]]
        )

    def recursion(self, chain: SparseVector, edges: SparseVector) -> rounding.Recursion:
        """Return what sums over labelings are computed from, for what rounding may do."""
        split = self.chain.split(chain)
        rows = abs(self.patterns.rows)
        largest = np.zeros(rows.shape[1])
        np.maximum.at(largest, edges.coordinates // self.n_pairs, np.abs(edges.values))
        of_edges = float((rows @ largest).max(initial=0.0)) + float(np.abs(split.transitions).max())
        found = self.chain.recursion(split.states, of_edges)
        most = int(np.diff(rows.indptr).max(initial=0))
        return replace(
            found, additions=4.0 * self.chain.n_labels + 2.0 * most, entries=found.entries + most
        )

    def edge_errors(self, coordinates: Ints, of_marginals: float) -> Floats:
        """Return by how much derivatives of edges may be off; coordinates count from 0."""
        heaviest = 1.0 if self.chain.weights is None else float(self.chain.weights.max(initial=0.0))
        n = self.chain.layout.n_tokens
        share = of_marginals + 4.0 * (n + 2.0) * rounding.U
        found: Floats = heaviest * share * self._edge_sums[coordinates // self.n_pairs]
        return found

    @cached_property
    def _edge_sums(self) -> Floats:
        tokens = self.patterns.token
        often = np.bincount(tokens[tokens >= 0], minlength=self.patterns.rows.shape[0])
        found: Floats = abs(self.patterns.rows).T @ often.astype(np.float64)
        return found

    def rescaled(self) -> tuple[LatticeData, UnitsFound] | None:
        """Return the same with columns of one size, and what is known of these."""
        of_tokens = column_sizes.of_features(self.chain.features)
        of_edges = column_sizes.of_matrix(self.patterns.rows)
        if of_tokens is None and of_edges is None:
            return None
        chain, tokens = self.chain.divided(of_tokens or Sizes.usual(self.chain.features.n_columns))
        sizes = of_edges or Sizes.usual(len(self.patterns.columns))
        rows = column_sizes.divided_matrix(self.patterns.rows, sizes.unit)
        data = replace(self, chain=chain, patterns=replace(self.patterns, rows=rows))
        units = Units((*tokens.units.blocks, (sizes.unit, self.n_pairs)))
        edges = self.chain.n_coordinates + Units(((sizes.unit, self.n_pairs),)).where(
            [sizes.outlying]
        )
        outlying = np.concatenate([tokens.outlying, edges])
        return data, UnitsFound(units, outlying, tokens.resolved and sizes.resolved)

    def restrict(
        self, samples: Ints, factor: float, kernels: ModuleType, n_jobs: int
    ) -> LatticeData:
        """Return the same of some sequences; coordinates and pairs are those of all."""
        chain, chosen = self.chain.restrict(samples, factor, kernels, n_jobs)
        patterns, labels = self.patterns.take(chosen.tokens), self.labels.take(chosen.tokens)
        return replace(self, chain=chain, patterns=patterns, labels=labels)


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
