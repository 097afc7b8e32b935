"""The weights that λ does not rule out from the start: those that stochastic steps are made on.

A derivative is at most its column's ``Σ|x|`` in size. Where that is no more than λ, all the
column's weights are zero at the optimum: on text with many rare words, most of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from proxqn.features.matrix import FeatureIndexed
from proxqn.problem.penalty import Penalty
from proxqn.problem.sparse import Floats, Ints
from proxqn.problem.stepwise import StochasticOffer, StochasticSteps

_FREE = 5.0  # times λ
_ENTRY_COST = 10.0  # multiply-adds, in time: rows of weights are read and written all over memory
_MOST_WEIGHTS = 2  # for each score and entry of the data: memory follows the data


@final
@dataclass(frozen=True)
class Reach:
    """These columns, and rows of weights that belong to no column, as transitions do."""

    kept: Ints  # columns, ascending
    n_free: int  # those of them whose derivatives may be several times as large as λ
    n_entries: int  # of these columns
    n_columns: int  # of the data
    size: int  # weights of a column
    n_own: int = 0  # their coordinates follow those of the columns

    @classmethod
    def of(
        cls,
        data: FeatureIndexed,
        sample_weight: Floats | None,
        penalty: Penalty,
        *,
        size: int,
        n_own: int,
    ) -> Reach:
        """Keep the columns that λ does not rule out."""
        least = 0.0 if len(penalty.unpenalised) else penalty.least
        heaviest = 1.0 if sample_weight is None else float(sample_weight.max(initial=0.0))
        sizes = heaviest * _column_sizes(data)
        kept = np.flatnonzero(sizes > least)
        n_entries = int(np.diff(data.start)[kept].sum())
        n_free = int(np.count_nonzero(sizes > _FREE * least))
        return cls(kept, n_free, n_entries, data.n_columns, size, n_own)

    @property
    def columns(self) -> Ints:
        """The columns that the rows of the weights stand for; the own ones follow the data's."""
        return np.append(self.kept, np.arange(self.n_columns, self.n_columns + self.n_own))

    @property
    def coordinates(self) -> Ints:
        """All of them, row by row."""
        found: Ints = (self.columns[:, np.newaxis] * self.size + np.arange(self.size)).ravel()
        return found

    def offer(
        self,
        n_rows: int,
        pass_cost: float,
        begin: Callable[[], StochasticSteps],
        *,
        entry_cost: float = _ENTRY_COST,
    ) -> StochasticOffer | None:
        """Return an offer, or None where dense rows of weights would outgrow the data.

        Parameters
        ----------
        entry_cost : float
            Multiply-adds, in time, of each weight of an entry's column.
        """
        room = n_rows * self.size + self.n_entries
        if len(self.columns) * self.size > _MOST_WEIGHTS * room:
            return None
        cost = pass_cost + entry_cost * self.n_entries * self.size
        return StochasticOffer(cost, self.n_free, n_rows, self.n_entries, begin)


def _column_sizes(data: FeatureIndexed) -> Floats:
    """Return ``Σ|x|`` of each column; an entry that is one is only counted."""
    sizes = np.diff(data.start).astype(np.float64)
    real = data.value_start >= 0
    if real.any():
        ends = np.concatenate([[0.0], np.cumsum(np.abs(data.values))])
        first = data.value_start[real]
        sizes[real] = ends[first + np.diff(data.start)[real]] - ends[first]
    return sizes
