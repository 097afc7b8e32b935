"""Linear-chain conditional random fields.

``P(y|x) ∝ exp(Σ_t Θ[y_t]·x_t + Σ_t Λ[y_t, y_{t+1}])`` and ``ℓ = -Σ_i log P(y_i|x_i)``. The
weights are numbered feature by feature: coordinate ``c·L + y`` is Θ of label y and the c-th feature
that occurs in the data, and the L² transition weights Λ[y, y'] follow at the end.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.dense import DenseColumns
from proxqn.features.weight_pairs import WeightPairs
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.data import Pairs as Pairs
from proxqn.losses.chain.loss import ChainLoss
from proxqn.losses.chain.memory import ChainMemory
from proxqn.problem.sparse import Floats


@final
class ChainOracle(ChainLoss):
    """Minus the log-likelihood of a linear-chain CRF.

    All points of it, and of :meth:`rounded`, share the memory of scores and residuals: to go to one
    spends the others.

    Parameters
    ----------
    X : csr_array or array of shape (n_tokens, n_features)
        Finite; any numeric dtype. Dense columns of an array are not copied
        (:mod:`proxqn.features.dense`): it must stay as it is.
    labels : array of shape (n_tokens,)
        True labels as numbers below ``n_labels``.
    lengths : array of shape (n_sequences,)
        Tokens of each sequence, at least one.
    pairs : Pairs or WeightPairs
        Weights for all (feature, label) pairs or only for those seen in the data; or which ones,
        those of neighbouring labels included.
    transition_pairs : Pairs, optional
        The same for pairs of neighbouring labels; as ``pairs`` by default.
    sample_weight : array of shape (n_sequences,), optional
        Factors of the sequences' losses.
    dense : DenseColumns, optional
        Columns beside those of X, which are empty there.
    n_jobs : int
        Threads; the result does not depend on it.
    kernels : module
        ``proxqn._kernels``, or ``proxqn.losses.chain.reference`` for the readable NumPy truth.

    Examples
    --------
    >>> from proxqn.problem.sparse import SparseVector
    >>> X = sp.csr_array(np.eye(3))
    >>> oracle = ChainOracle(X, np.array([0, 1, 1]), np.array([2, 1]), n_labels=2)
    >>> oracle.n_parameters
    10
    >>> point = oracle.at(SparseVector.empty())
    >>> round(point.value, 4)  # three tokens, two labels: 3 log 2
    2.0794
    >>> point.gradient(np.array([0, 1]))  # of both labels of the first feature
    array([-0.5,  0.5])
    """

    def __init__(
        self,
        X: sp.csr_array | NDArray[Any],
        labels: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        *,
        n_labels: int,
        pairs: Pairs | WeightPairs = Pairs.ALL,
        transition_pairs: Pairs | None = None,
        sample_weight: Floats | None = None,
        dense: DenseColumns | None = None,
        n_jobs: int = 1,
        kernels: ModuleType = _kernels,
    ) -> None:
        data = ChainData.of_tokens(
            X,
            labels,
            lengths,
            dense=dense,
            n_labels=n_labels,
            pairs=pairs,
            transition_pairs=transition_pairs or pairs,
            sample_weight=sample_weight,
            kernels=kernels,
        )
        super().__init__(ChainMemory(data, n_jobs=n_jobs, kernels=kernels))
