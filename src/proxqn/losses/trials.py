"""The weights of a trial step."""

from __future__ import annotations

from proxqn import _kernels
from proxqn.problem.sparse import SparseVector


def moved(w: SparseVector, d: SparseVector, step: float) -> SparseVector:
    """Return ``w + step d`` without zeros (``cpp/base/sparse_vector.hpp``).

    Examples
    --------
    >>> import numpy as np
    >>> w = SparseVector(np.array([1, 4]), np.array([1.0, 2.0]))
    >>> found = moved(w, SparseVector(np.array([0, 4]), np.array([3.0, 4.0])), -0.5)
    >>> found.coordinates.tolist(), found.values.tolist()
    ([0, 1], [-1.5, 1.0])
    """
    sums = _kernels.add_sparse(w.coordinates, w.values, d.coordinates, d.values, step)
    return SparseVector(*sums)
