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

from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.dense import DenseColumns
from proxqn.features.partial_labels import PartialLabels
from proxqn.losses.chain.data import Pairs
from proxqn.losses.lattice.data import LatticeData
from proxqn.losses.lattice.loss import LatticeLoss
from proxqn.problem.sparse import Floats


@final
class LatticeOracle(LatticeLoss):
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
        super().__init__(data, n_jobs=n_jobs, kernels=kernels)
