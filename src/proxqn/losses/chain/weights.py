"""The weights of a chain: those of features, and one for each pair of neighbouring labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn import _kernels
from proxqn.problem.sparse import Floats, SparseVector


@final
@dataclass(frozen=True, eq=False)
class SplitWeights:
    """Weights in the two parts that inference takes; an object stands for its values."""

    states: SparseVector  # coordinate c·L + y of column c and label y
    transitions: Floats  # [L, L]

    @classmethod
    def of(cls, w: SparseVector, n_states: int, n_labels: int) -> SplitWeights:
        """Split a vector; coordinates of pairs follow those of the states.

        Examples
        --------
        >>> w = SparseVector(np.array([1, 5]), np.array([2.0, 3.0]))
        >>> SplitWeights.of(w, 4, 2).transitions
        array([[0., 3.],
               [0., 0.]])
        >>> SplitWeights.of(w, 4, 2).joined(4)
        SparseVector(coordinates=array([1, 5]), values=array([2., 3.]))
        """
        at = np.searchsorted(w.coordinates, n_states)
        transitions = np.zeros((n_labels, n_labels))
        transitions.flat[w.coordinates[at:] - n_states] = w.values[at:]
        return cls(SparseVector(w.coordinates[:at], w.values[:at]), transitions)

    def joined(self, n_states: int) -> SparseVector:
        """Return both parts as one vector."""
        pairs = np.flatnonzero(self.transitions)
        return SparseVector(
            np.concatenate([self.states.coordinates, pairs + n_states]),
            np.concatenate([self.states.values, self.transitions.ravel()[pairs]]),
        )

    def moved(self, direction: SplitWeights, step: float) -> SplitWeights:
        """Return the weights of a trial."""
        return SplitWeights(
            moved(self.states, direction.states, step),
            self.transitions + step * direction.transitions,
        )


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
