"""Between any input form and the CSR matrix: stretches of tokens with named features.

Every input form is first turned into `NamedEntries`, a stretch of tokens whose features are still
names, each distinct name once; a `MatrixBuilder` then gives the names columns.  Names are thus
looked up once a stretch, however often they occur in it, and memory beyond the result stays
bounded by the stretch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proxqn.features.vocabulary import UNSEEN, Vocabulary, VocabularyBuilder

__all__ = ["FoundEntries", "MatrixBuilder", "NamedEntries"]

# Columns, values (None where all are 1), and sizes of rows.
_Part = tuple[NDArray[np.int32], NDArray[np.float64] | None, NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """The features of a stretch of tokens, row by row.

    Attributes
    ----------
    names : list of str
        The distinct names, in the order in which they first occur.
    codes : int array of shape (n_entries,)
        Which name each entry has, ``names[codes[i]]``.
    values : float array of shape (n_entries,), or None
        The entries' values; None if all are 1.
    row_sizes : int array of shape (n_tokens,)
        How many entries each token has.
    """

    names: list[str]
    codes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    row_sizes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """The features of a stretch of tokens that have a column, row by row.

    Attributes
    ----------
    columns : int32 array of shape (n_entries,)
    values : float array of shape (n_entries,), or None
        None if all are 1.
    start : int64 array of shape (n_tokens + 1,)
        The entries of token t are those from ``start[t]`` to ``start[t + 1] - 1``.
    n_unseen : int
        Entries left out, for the vocabulary does not hold their names.
    """

    columns: NDArray[np.int32]
    values: NDArray[np.float64] | None
    start: NDArray[np.int64]
    n_unseen: int


class MatrixBuilder:
    """Collect stretches of entries into one CSR matrix.

    Parameters
    ----------
    vocabulary : VocabularyBuilder or Vocabulary
        A builder takes up new names; a vocabulary leaves unseen ones out, and they are counted.
    """

    def __init__(self, vocabulary: VocabularyBuilder | Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._parts: list[_Part] = [(np.empty(0, np.int32), None, np.empty(0, np.int64))]
        self.n_unseen = 0

    def append(self, entries: NamedEntries | FoundEntries) -> None:
        """Add the tokens of one more stretch below those already there."""
        if isinstance(entries, FoundEntries):
            self.n_unseen += entries.n_unseen
            self._parts.append((entries.columns, entries.values, np.diff(entries.start)))
            return
        if isinstance(self._vocabulary, VocabularyBuilder):
            counts = np.bincount(entries.codes, minlength=len(entries.names))
            column_of = self._vocabulary.add(entries.names, counts)
        else:
            column_of = self._vocabulary.columns(entries.names)
        columns = column_of.astype(np.int32)[entries.codes]
        values, row_sizes = entries.values, entries.row_sizes
        seen = columns != UNSEEN
        if not seen.all():
            self.n_unseen += len(seen) - int(np.count_nonzero(seen))
            columns, values, row_sizes = _keep(seen, columns, values, row_sizes)
        self._parts.append((columns, values, row_sizes))

    def finish(
        self, n_columns: int, new_column: NDArray[np.int64] | None = None
    ) -> sparse.csr_array:
        """Give the matrix of all tokens; entries of one token with one name are added up.

        Parameters
        ----------
        n_columns : int
            Number of features.
        new_column : int array, optional
            Column each feature moves to, −1 to drop it (after the frequency cut-off).
        """
        all_columns, all_values, all_sizes = zip(*self._parts, strict=True)
        self._parts = []
        columns, row_sizes = np.concatenate(all_columns), np.concatenate(all_sizes)
        values = None
        if any(some is not None for some in all_values):
            both = zip(all_columns, all_values, strict=True)
            values = np.concatenate([np.ones(len(c)) if v is None else v for c, v in both])
        del all_columns, all_values
        if new_column is not None:
            columns = new_column.astype(np.int32)[columns]
            kept = columns != UNSEEN
            if not kept.all():
                columns, values, row_sizes = _keep(kept, columns, values, row_sizes)
        indptr = np.zeros(len(row_sizes) + 1, np.int64)
        np.cumsum(row_sizes, out=indptr[1:])
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        data = np.ones(len(columns)) if values is None else values
        X = sparse.csr_array((data, columns, indptr), shape=(len(row_sizes), n_columns))
        X.sum_duplicates()  # also sorts the columns of each row
        return X


def _keep(
    kept: NDArray[np.bool_],
    columns: NDArray[np.int32],
    values: NDArray[np.float64] | None,
    row_sizes: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None, NDArray[np.int64]]:
    """Entries with ``kept``, and the sizes their rows have then."""
    rows = np.repeat(np.arange(len(row_sizes)), row_sizes)
    sizes = np.bincount(rows[kept], minlength=len(row_sizes))
    return columns[kept], None if values is None else values[kept], sizes
