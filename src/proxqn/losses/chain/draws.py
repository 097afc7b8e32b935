"""Labelings drawn from a chain, as rows of a matrix J with ``E[JᵀJ] = ∇²ℓ``.

The Hessian is the covariance of the features under the model, and half the outer product of the
difference of two independent labelings' features has this mean (``cpp/chain/draws.hpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray


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
    """Runs of tokens where two labelings drawn from the model differ: ``cpp/chain/draws.hpp``."""

    slot: NDArray[np.int32]  # of each token of a run
    run: NDArray[np.int32]
    first: NDArray[np.int32]  # its label in the one labeling
    second: NDArray[np.int32]  # and in the other
    edge_run: NDArray[np.int32]  # of each pair of neighbours one of which is in the run
    edge_first: NDArray[np.int32]  # y L + y' in the one labeling
    edge_second: NDArray[np.int32]
    scale: NDArray[np.float32]  # of each run's row
    n_drawn: int  # runs before equal ones became one

    @property
    def multiplicity(self) -> float:
        """How many draws a run stands for, in the mean; one where no two labelings differ."""
        return self.n_drawn / len(self.scale) if len(self.scale) else 1.0
