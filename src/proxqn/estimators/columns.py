"""Columns of coefficients matched between models: by name where both have names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import scipy.sparse as sp

from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Ints


@final
@dataclass(frozen=True)
class Columns:
    """The columns of a matrix of features."""

    number: int
    names: Vocabulary | None = None  # None where they have none

    def take(self, matrix: sp.csr_array, names: Vocabulary | None, what: str) -> sp.csr_array:
        """Return a matrix with columns of these names with ours instead."""
        if names is not None and self.names is not None and names is not self.names:
            place = self.names.columns(names.names())
            return moved(matrix, columns=place, shape=(matrix.shape[0], self.number))
        if matrix.shape[1] != self.number:
            raise ValueError(
                f"initial has {matrix.shape[1]} {what}, but X has {self.number}, and without names "
                "on both sides they cannot be matched. Pass a model of the same features, or fit "
                "both on named ones."
            )
        return matrix


def widened(old: sp.csr_array, n_columns: int) -> sp.csr_array:
    """Return a matrix with room for columns that came later, after the old ones."""
    parts: Any = (old.data, old.indices, old.indptr)
    return sp.csr_array(parts, shape=(old.shape[0], n_columns))


def moved(
    matrix: sp.csr_array,
    *,
    shape: tuple[int, int],
    rows: Ints | None = None,
    columns: Ints | None = None,
) -> sp.csr_array:
    """Renumber rows or columns; entries with a new number below 0 go."""
    entries: Any = sp.coo_array(matrix)
    row = entries.row if rows is None else rows[entries.row]
    column = entries.col if columns is None else columns[entries.col]
    kept = (row >= 0) & (column >= 0)
    return sp.csr_array((entries.data[kept], (row[kept], column[kept])), shape=shape)
