"""Labelings drawn from a chain, as rows of a matrix J with ``E[JᵀJ] = ∇²ℓ``.

The Hessian is the covariance of the features under the model, and half the outer product of the
difference of two independent labelings' features has this mean (``cpp/chain/draws.hpp``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.losses.chain.data import ChainData
from proxqn.problem.sparse import Ints

_PILOT = 10_000  # tokens that tell how often two labelings differ
_ROW_COST = 2e4  # multiply-adds of inference beside which one more row costs little
_MOST_ENTRIES = 0.125  # of dense columns in J, for each residual: they cost memory and time
_MAX_PAIRS = 16  # of labelings of each sequence


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


def pilot_share(data: ChainData) -> float:
    """Return the share of the sequences that tell how often two labelings differ."""
    return min(1.0, _PILOT / data.layout.n_tokens)


def pairs_for(n_rows: int, coordinates: Ints, pilot: Draws, data: ChainData) -> tuple[int, float]:
    """Return how many pairs of labelings to draw, and of which share of the sequences.

    More than the rows asked for where inference costs more than they do; of dense columns they have
    many entries.
    """
    rows = max(pilot.n_drawn, 1) / pilot_share(data)  # of a pair of labelings of every sequence
    n_dense = np.searchsorted(coordinates, data.features.n_dense * data.n_labels)
    of_token = 2.0 * float(n_dense) / data.n_labels  # entries in dense columns, of either label
    of_row = of_token * len(pilot.slot) / max(pilot.n_drawn, 1)
    most = _MOST_ENTRIES * data.n_labels * data.layout.n_tokens
    cheap = min(data.pass_cost / _ROW_COST, rows, most / of_row if of_row else math.inf)
    pairs = max(n_rows, cheap) / rows
    return max(1, min(round(pairs), _MAX_PAIRS)), min(pairs, 1.0)
