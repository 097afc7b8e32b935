"""Linear chains whose transitions look at the observation, or whose labels are partly unknown.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_{t-1}, y_t] + Σ_t W[y_{t-1}, y_t]·e_t)``, where e_t are
features of the step from token t-1 to t. The weights of the plain chain come first, numbered as in
:mod:`proxqn.losses.chain.oracle`; behind them, coordinate ``c·L² + y·L + y'`` of the edge block is
W of the label pair (y, y') and the c-th edge feature that occurs in the data.

With unknown labels the loss of a sequence is ``log Z - log Z(allowed)``, minus the log-probability
of all labelings that agree with what is known. It is not convex, so there is no certificate.

All that depends on tokens alone is left to a chain's loss, which runs on other kernels here
(``cpp/lattice/forward_backward.hpp``): slower by a factor, so plain chains stay with their own.
"""

from __future__ import annotations

import copy
from functools import partial
from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.dense import DenseColumns
from proxqn.features.matrix import FeatureIndexed
from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.chain.passes import ChainPasses
from proxqn.losses.lattice.data import LatticeData
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.losses.lattice.point import EdgePasses, LatticePoint
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.units import Rescaled


@final
class LatticeOracle(Oracle):
    """Minus the log-likelihood of a chain with edge features, with unknown labels, or with both.

    Parameters
    ----------
    X, lengths, n_labels, pairs, transition_pairs, sample_weight, dense, n_jobs
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
    >>> from proxqn.problem.sparse import SparseVector
    >>> round(oracle.at(SparseVector.empty()).value, 4)  # three tokens, two labels: 3 log 2
    2.0794
    """

    def __init__(
        self,
        X: sp.csr_array | NDArray[Any],
        labels: NDArray[np.integer[Any]] | PartialLabels,
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        edges: sp.csr_array | None = None,
        pairs: Pairs = Pairs.ALL,
        transition_pairs: Pairs | None = None,
        sample_weight: Floats | None = None,
        dense: DenseColumns | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        data = LatticeData.of_tokens(
            X,
            labels,
            lengths,
            dense=dense,
            n_labels=n_labels,
            edges=edges,
            pairs=pairs,
            transition_pairs=transition_pairs or pairs,
            sample_weight=sample_weight,
            kernels=kernels,
        )
        self.n_jobs, self.n_labels, self._kernels = n_jobs, n_labels, kernels
        self._take(data)

    def _take(self, data: LatticeData) -> None:
        self._model = data
        bound = partial(
            LatticeInference,
            self._kernels,
            data.chain.layout,
            data.patterns,
            labels=data.chain.labels,
            weights=data.chain.weights,
            twins=data.twins,
        )
        chain = ChainPasses(data.chain, n_jobs=self.n_jobs, kernels=self._kernels, inference=bound)
        self._chain = ChainOracle.on(chain)
        self._passes = EdgePasses(data, chain.scores.inference, self.n_jobs)

    @property
    def data(self) -> FeatureIndexed:
        """The features of tokens, by feature."""
        return self._model.chain.features

    @property
    def n_coordinates(self) -> int:
        """Those of the plain chain, and all label pairs of every edge feature that occurs."""
        return self._model.n_coordinates

    @property
    def n_parameters(self) -> int:
        """d: that of the plain chain and all or the observed weights of edges."""
        return self._model.n_parameters

    @property
    def n_samples(self) -> int:
        """The number of sequences."""
        return self._chain.n_samples

    @property
    def convex(self) -> bool:
        """Whether all labels are known."""
        return self._model.labels.complete

    def at(self, w: SparseVector) -> LatticePoint:
        """Run a forward and a backward pass."""
        chain, edges = self._model.split(w.nonzero())
        self._passes.put(edges)
        return LatticePoint(self._chain.at(chain), self._passes, edges)

    def pass_cost(self) -> float:
        """About twice that of a plain chain: one sequence at a time."""
        return 2.0 * self._chain.pass_cost()

    def curvatures(self, coordinates: Ints) -> Floats:
        """Return ``Σ x² p (1 - p)`` with p the share of the label, or label pair, in the data."""
        return self._model.curvatures(coordinates)

    def restrict(self, samples: Ints, factor: float = 1.0) -> LatticeOracle:
        """Return the loss of some sequences."""
        part = copy.copy(self)
        part._take(self._model.restrict(samples, factor, self._kernels, self.n_jobs))
        return part

    def rescaled(self, start: SparseVector) -> Rescaled | None:
        """Return the same loss with all columns of one size."""
        found = self._model.rescaled()
        if found is None:
            return None
        data, units = found
        other = copy.copy(self)
        other._take(data)
        return Rescaled(other, units)

    def pack(
        self, coef: sp.csr_array, transitions: Floats, edge_coef: sp.csr_array
    ) -> SparseVector:
        """Turn coefficients (labels or label pairs x features) into a weight vector.

        What has no weight here is left out: features that do not occur, pairs not admitted. With
        :meth:`unpack` this is the estimator's side of a loss: no solver asks for it.
        """
        data = self._model
        entries, columns = sp.coo_array(edge_coef), data.patterns.columns
        column = np.searchsorted(columns, entries.col)
        known = column < len(columns)
        known[known] = columns[column[known]] == entries.col[known]
        coordinates = column[known].astype(np.int64) * data.n_pairs + entries.row[known]
        values = entries.data[known]
        if data.admitted is not None:
            admitted = np.isin(coordinates, data.admitted)
            coordinates, values = coordinates[admitted], values[admitted]
        order = np.argsort(coordinates)
        edges = SparseVector(coordinates[order], values[order].astype(np.float64))
        return data.joined(self._chain.pack(coef, transitions), edges)

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats, sp.csr_array]:
        """Return coefficients (L x features), transitions (L x L), edge weights (L² x features)."""
        data = self._model
        chain, edges = data.split(w)
        column, pair = np.divmod(edges.coordinates, data.n_pairs)
        edge_coef = sp.coo_array(
            (edges.values, (pair, data.patterns.columns[column])),
            shape=(data.n_pairs, data.patterns.n_features),
        ).tocsr()
        return *self._chain.unpack(chain), edge_coef
