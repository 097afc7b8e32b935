"""Linear scores of new data under a sparse model: only features with a weight are touched."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.problem import Floats


@final
class SparseScores:
    """Products of rows of features with sparse coefficients.

    Neither time nor memory depends on how many features the model could have used: a sentence is
    labelled at once also by a model with 10⁷ of them.

    Parameters
    ----------
    coef : csr_array of shape (n_outputs, n_features)
        The coefficients.
    n_entries : int
        About how many data entries will come. With many, a table of all features pays.

    Examples
    --------
    >>> coef = sp.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]))
    >>> SparseScores(coef, n_entries=4)(sp.csr_array(np.array([[1.0, 1.0, 5.0], [0.0, 3.0, 0.0]])))
    array([[2., 1.],
           [6., 0.]])
    """

    def __init__(self, coef: sp.csr_array, n_entries: int) -> None:
        self._used, number = np.unique(coef.indices, return_inverse=True)
        small: Any = sp.csr_array(
            (coef.data, number, coef.indptr), shape=(coef.shape[0], len(self._used))
        )
        self._weights = sp.csr_array(small.T)  # [n_used, n_outputs]
        self._table: NDArray[np.int32] | None = None
        if coef.shape[1] <= 4 * n_entries + 1024:
            self._table = np.full(coef.shape[1], -1, dtype=np.int32)
            self._table[self._used] = np.arange(len(self._used))

    def __call__(self, X: sp.csr_array) -> Floats:
        """Return ``X @ coef.T``, dense."""
        number = self._numbers(X.indices)
        keep = number >= 0
        start = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
        shape = (X.shape[0], len(self._used))
        rows: Any = sp.csr_array((X.data[keep], number[keep], start), shape=shape)
        scores: Floats = (rows @ self._weights).toarray()
        return scores

    def _numbers(self, features: NDArray[Any]) -> NDArray[Any]:
        """Return each feature's number among those with a weight, -1 without one."""
        if self._table is not None:
            looked_up: NDArray[np.int32] = self._table[features]
            return looked_up
        number = np.searchsorted(self._used, features)
        found = number < len(self._used)
        found[found] = self._used[number[found]] == features[found]
        return np.where(found, number, -1)
