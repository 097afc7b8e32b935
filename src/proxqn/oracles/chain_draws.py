"""Labelings drawn from a chain, as rows of a matrix J with ``E[JᵀJ] = ∇²ℓ``.

The Hessian is the covariance of the features under the model, and half the outer product of the
difference of two independent labelings' features has this mean (``cpp/draws.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem import Ints, SparseColumns


@final
@dataclass(frozen=True)
class Sampling:
    """How much to draw."""

    n_pairs: int  # of labelings of each sequence
    share: float  # of the sequences
    seed: int


@final
@dataclass(frozen=True)
class Draws:
    """Runs of tokens on which two labelings drawn from the model differ (``cpp/draws.hpp``)."""

    slot: NDArray[np.int32]  # of each token of a run
    run: NDArray[np.int32]
    first: NDArray[np.int32]  # its label in the one labeling
    second: NDArray[np.int32]  # and in the other
    edge_run: NDArray[np.int32]  # of each pair of neighbours one of which is in the run
    edge_first: NDArray[np.int32]  # y L + y' in the one labeling
    edge_second: NDArray[np.int32]
    scale: NDArray[np.float32]  # of each run's row

    def pair_columns(self, pairs: Ints) -> SparseColumns:
        """Return the differences of the counts of label pairs, by pair."""
        pair = np.concatenate([self.edge_first, self.edge_second])
        run = np.concatenate([self.edge_run, self.edge_run])
        scale = self.scale[self.edge_run]
        value = np.concatenate([scale, -scale])
        # Other pairs come last. Two bytes are sorted in linear time.
        smallest = np.min_scalar_type(len(pairs))
        size = max(pair.max(initial=-1), pairs.max(initial=-1)) + 1
        numbers = np.full(size, len(pairs), dtype=smallest)
        numbers[pairs] = np.arange(len(pairs))
        place = numbers[pair]
        ends = np.cumsum(np.bincount(place, minlength=len(pairs))[: len(pairs)])
        start = np.concatenate([[0], ends]).astype(np.int64)
        order = np.argsort(place, kind="stable")[: start[-1]]
        return SparseColumns(start, run[order], value[order], len(self.scale))
