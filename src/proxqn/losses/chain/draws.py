"""Labelings drawn from a chain, as rows of a matrix J with ``E[JᵀJ] = ∇²ℓ``; or its forks.

The Hessian is the covariance of the features under the model, and half the outer product of the
difference of two independent labelings' features has this mean (``cpp/chain/draws.hpp``). Where a
model is so sure that many labelings are hardly more than one, the few places where labels may part
are rows by themselves, with their probabilities (``cpp/chain/forks.hpp``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.losses.chain.data import ChainData
from proxqn.problem.sparse import Floats, Ints

_PILOT = 10_000  # tokens that tell how often two labelings differ
_ROW_COST = 2e4  # multiply-adds of inference beside which one more row costs little
_MOST_ENTRIES = 0.125  # of dense columns in J, for each residual: they cost memory and time
_MAX_PAIRS = 16  # of labelings of each sequence
_FEW = 0.1  # of the tokens: as many runs on which two labelings differ, of a model that is sure
_MANY_PAIRS = 10.0  # of labelings: fewer tell as much as forks
_PILOT_LEAST = 1e-3  # weight of a fork that is a row of its own
_LEAST = 1e-4  # the same where hardly any label parts
_ROUGH = 0.02  # of the weight of forks: what is left out of rows


@final
@dataclass(frozen=True)
class Draws:
    """Rows: where one label or label pair stands for another, and by how much."""

    slot: NDArray[np.int32]  # of each entry of tokens
    row: NDArray[np.int32]
    first: NDArray[np.int32]  # the one label
    second: NDArray[np.int32]  # and the other
    value: NDArray[np.float32]
    edge_row: NDArray[np.int32]  # of each entry of neighbouring labels
    edge_first: NDArray[np.int32]  # y L + y'
    edge_second: NDArray[np.int32]
    edge_value: NDArray[np.float32]
    weight: NDArray[np.float32]  # of each row, one for a single draw
    forks: bool = False  # or labelings

    @property
    def n_drawn(self) -> int:
        """Draws before equal ones became one."""
        return round(float(self.weight.sum(dtype=np.float64)))

    @property
    def multiplicity(self) -> float:
        """How many draws a row stands for, in the mean; one without any."""
        return self.n_drawn / len(self.weight) if len(self.weight) else 1.0

    @property
    def known(self) -> float:
        """The whole weight, times that of rows met at random: of forks, most are not."""
        if not self.forks or len(self.weight) == 0:
            return 1.0
        weight = float(self.weight.sum(dtype=np.float64))
        at_random = np.count_nonzero(self.weight == 1.0) + _ROUGH * weight
        return max(weight / at_random, 1.0)


def pilot_share(data: ChainData) -> float:
    """Return the share of the sequences that tell how often two labelings differ."""
    return min(1.0, _PILOT / data.layout.n_tokens)


def rows_for(n_rows: int, coordinates: Ints, pilot: Draws, data: ChainData) -> tuple[float, float]:
    """Return how many rows to draw, and how many a pair of labelings of all sequences has.

    More than the rows asked for where inference costs more than they do; of dense columns they have
    many entries.
    """
    rows = max(pilot.n_drawn, 1) / pilot_share(data)
    n_dense = np.searchsorted(coordinates, data.features.n_dense * data.n_labels)
    of_token = 2.0 * float(n_dense) / data.n_labels  # entries in dense columns, of either label
    of_row = of_token * len(pilot.slot) / max(pilot.n_drawn, 1)
    most = _MOST_ENTRIES * data.n_labels * data.layout.n_tokens
    cheap = min(data.pass_cost / _ROW_COST, rows, most / of_row if of_row else math.inf)
    return max(n_rows, cheap), rows


def is_sure(rows: float, of_pair: float, data: ChainData) -> bool:
    """Whether forks tell more: labelings hardly differ, and many would be drawn for so many rows.

    Parameters
    ----------
    of_pair : float
        Runs on which two labelings of all sequences differ.
    """
    few = of_pair <= _FEW * data.layout.n_tokens
    return few and rows >= _MANY_PAIRS * of_pair


def pairs_for(pairs: float) -> tuple[int, float]:
    """Return how many pairs of labelings to draw, and of which share of the sequences."""
    return max(1, min(round(pairs), _MAX_PAIRS)), min(pairs, 1.0)


@final
@dataclass(frozen=True)
class Forking:
    """Which forks are rows."""

    least: float  # those of this weight are all there; others stand for several
    share: float  # of the sequences
    seed: int

    @classmethod
    def pilot(cls, data: ChainData, seed: int) -> Forking:
        """Return what tells how much forks weigh."""
        return cls(_PILOT_LEAST, pilot_share(data), seed)

    def giving(self, n_rows: float, found: Draws) -> Forking:
        """Return what gives so many rows of all sequences, as those of this foretell."""
        weight = self.least * found.weight.astype(np.float64)
        return Forking(least_weight(weight, n_rows * self.share), 1.0, self.seed)


def least_weight(weight: Floats, n_rows: float) -> float:
    """Return the least weight at which so many rows are to be expected.

    Forks of that much are all there; of the others so many that their weights add up to it.

    Examples
    --------
    >>> weight = np.array([1.0, 0.5, 0.125, 0.125])
    >>> least_weight(weight, 3.0)  # 1 and 0.5 are rows of their own, and one stands for the rest
    0.25
    """
    falling = np.sort(weight)[::-1]
    left = falling[::-1].cumsum()[::-1]  # what the k-th and those behind it weigh
    few = min(len(falling), math.ceil(n_rows))
    least = left[:few] / (n_rows - np.arange(few))  # if k are rows of their own
    enough = np.flatnonzero(falling[:few] <= least)
    return float(least[enough[0]]) if len(enough) else _LEAST
