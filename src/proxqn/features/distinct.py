"""Samples that occur several times, merged into one with the sum of their weights.

Inference is what costs, and equal samples need it once. Sorted by their bytes as well, the samples
reach the solver in an order that does not depend on the user's: a fit with shuffled rows, or with
rows repeated instead of weighted, is the same to the last bit.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.problem import Floats


def distinct_samples(
    X: sp.csr_array, labels: NDArray[np.int32], weights: Floats | None
) -> tuple[sp.csr_array, NDArray[np.int32], Floats | None]:
    """Merge equal (row, label) pairs, leave out those of weight 0, and sort the rest.

    Parameters
    ----------
    X : csr_array of shape (n_samples, n_features)
        Canonical, without stored zeros.
    labels : array of shape (n_samples,)
        Label numbers.
    weights : array of shape (n_samples,), optional
        Weights, 0 or above.

    Returns
    -------
    tuple
        The same for the distinct samples; weights are None where all are 1.

    Examples
    --------
    >>> X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]))
    >>> rows, labels, weights = distinct_samples(X, np.array([1, 0, 1], dtype=np.int32), None)
    >>> labels, weights
    (array([0, 1], dtype=int32), array([1., 2.]))
    """
    shares: defaultdict[tuple[int, bytes, bytes], list[float]] = defaultdict(list)
    first: dict[tuple[int, bytes, bytes], int] = {}
    ends = X.indptr.tolist()
    for i, label in enumerate(labels.tolist()):
        weight = 1.0 if weights is None else float(weights[i])
        if weight == 0.0:
            continue
        entries = slice(ends[i], ends[i + 1])
        key = (label, X.indices[entries].tobytes(), X.data[entries].tobytes())
        shares[key].append(weight)
        first.setdefault(key, i)
    keys = sorted(shares)
    rows = np.array([first[key] for key in keys], dtype=np.int64)
    merged = np.array([math.fsum(shares[key]) for key in keys])  # exact: no order in it
    return sp.csr_array(X[rows]), labels[rows], None if (merged == 1.0).all() else merged
