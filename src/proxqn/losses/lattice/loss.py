"""The loss of chains with edge features or unknown labels, on indexed data."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import scipy.sparse as sp

from proxqn.losses.chain.loss import ChainLoss
from proxqn.losses.chain.memory import ChainMemory
from proxqn.losses.lattice import coefficients
from proxqn.losses.lattice.data import LatticeData
from proxqn.losses.lattice.edges import EdgePasses
from proxqn.losses.lattice.kernel import LatticeInference
from proxqn.losses.lattice.point import LatticePoint
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import Floats, Ints, SparseVector


class LatticeLoss(Oracle):
    """Minus the log-likelihood of a chain's loss with the inference of lattices in it.

    Parameters
    ----------
    data : LatticeData
        Sequences, edges and labels.
    n_jobs : int
        Threads.
    kernels : module
        ``proxqn._kernels`` or the reference.
    """

    def __init__(self, data: LatticeData, *, n_jobs: int, kernels: ModuleType) -> None:
        self._model, self._kernels = data, kernels
        self.n_jobs, self.n_labels = n_jobs, data.chain.n_labels
        inference = partial(
            LatticeInference,
            kernels,
            data.chain.layout,
            data.patterns,
            labels=data.chain.labels,
            weights=data.chain.weights,
            twins=data.twins,
        )
        memory = ChainMemory(data.chain, n_jobs=n_jobs, kernels=kernels, inference=inference)
        self._chain = ChainLoss(memory)
        self._passes = EdgePasses(data, memory.scores.inference, n_jobs)

    @property
    def data(self) -> Any:
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

    def restrict(self, samples: Ints, factor: float = 1.0) -> LatticeLoss:
        """Return the loss of some sequences."""
        part = self._model.restrict(samples, factor, self._kernels, self.n_jobs)
        return LatticeLoss(part, n_jobs=self.n_jobs, kernels=self._kernels)

    def pack(
        self, coef: sp.csr_array, transitions: Floats, edge_coef: sp.csr_array
    ) -> SparseVector:
        """Turn coefficients (labels or label pairs x features) into a weight vector.

        What has no weight here is left out: features that do not occur, pairs not admitted. With
        :meth:`unpack` this is the estimator's side of a loss: no solver asks for it.
        """
        return coefficients.pack(self._model, coef, transitions, edge_coef)

    def unpack(self, w: SparseVector) -> tuple[sp.csr_array, Floats, sp.csr_array]:
        """Return coefficients (L x features), transitions (L x L), edge weights (L² x features)."""
        return coefficients.unpack(self._model, w)
