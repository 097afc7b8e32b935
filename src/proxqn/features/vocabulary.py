"""The feature vocabulary: which column of the data a feature name stands for.

A vocabulary lives twice.  While data are read for training it *grows*: names get column numbers
in the order they first occur, and their occurrences are counted.  Frozen, after the frequency
cut-off, it is three arrays (the names as one UTF-8 block, their offsets, their counts), which is
what a model file holds; unseen names then have no column.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxqn import _kernels
from proxqn.features.name_index import NameIndex, pack_names, plain_texts

__all__ = ["UNSEEN", "Vocabulary", "VocabularyBuilder"]

UNSEEN = -1
"""The column reported for a name the vocabulary does not hold."""


class VocabularyBuilder:
    """A vocabulary that still grows: give it names, get column numbers.

    Parameters
    ----------
    known : Vocabulary, optional
        Names that have columns already, and keep them.

    Attributes
    ----------
    kernel : _kernels.GrowingNames
        The names and their counts, for those who read them from tokens.

    Examples
    --------
    >>> builder = VocabularyBuilder()
    >>> builder.add(["the", "dog", "the"]).tolist()
    [0, 1, 0]
    >>> vocabulary, new_column = builder.freeze(min_freq=2)
    >>> vocabulary.names(), new_column.tolist()
    (['the'], [0, -1])
    """

    def __init__(self, known: Vocabulary | None = None) -> None:
        self.kernel = _kernels.GrowingNames()
        if known is not None:
            self.add(known.names(), known.counts)
        self._n_known = len(self)

    def __len__(self) -> int:
        return len(self.kernel)

    def add(self, names: Sequence[str], counts: ArrayLike | None = None) -> NDArray[np.int64]:
        """Column of each name; names not seen before get the next free columns.

        Parameters
        ----------
        names : sequence of str
        counts : array-like of int, optional
            How often each name occurred; once each by default.
        """
        often = np.ones(len(names), np.int64) if counts is None else np.asarray(counts, np.int64)
        columns = self.kernel.add(list(names), often)
        if columns is None:
            columns = self.kernel.add(plain_texts(names), often)
            assert columns is not None  # they are plain now
        return columns

    def freeze(self, min_freq: int = 1) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Drop rare names; give the vocabulary and the new column of every old one.

        Parameters
        ----------
        min_freq : int, default=1
            Names that occurred fewer times are dropped: their new column is −1.  At 1 or less
            all are kept, also a named column of an array that holds only zeros.  Names known
            from the start are always kept.
        """
        blob, offsets, counts = self.kernel.arrays()
        kept = (counts >= min_freq) | (min_freq <= 1)
        kept[: self._n_known] = True
        new_column = np.where(kept, np.cumsum(kept) - 1, UNSEEN)
        everything = Vocabulary(blob, offsets, counts)
        return everything if kept.all() else everything.subset(np.flatnonzero(kept)), new_column


class Vocabulary:
    """Feature names and their columns, fixed.

    Parameters
    ----------
    blob : uint8 array
        The names' UTF-8 bytes, one after the other, in column order.
    offsets : int64 array of shape (n_features + 1,)
        Name j is ``blob[offsets[j]:offsets[j + 1]]``.
    counts : int64 array of shape (n_features,), optional
        How often each feature occurred in the training data; 0 where not known.

    Examples
    --------
    >>> vocabulary = Vocabulary.from_names(["U00:the", "U00:dog"], counts=[7, 2])
    >>> vocabulary
    Vocabulary(2 features: 'U00:the', 'U00:dog')
    >>> vocabulary["U00:dog"], vocabulary.name(0), "U00:cat" in vocabulary
    (1, 'U00:the', False)
    >>> vocabulary.columns(["U00:cat", "U00:the"]).tolist()
    [-1, 0]
    """

    def __init__(
        self, blob: ArrayLike, offsets: ArrayLike, counts: ArrayLike | None = None
    ) -> None:
        self._blob = np.asarray(blob, np.uint8)
        self._offsets = np.asarray(offsets, np.int64)
        n = max(0, self._offsets.size - 1)
        self._counts = np.zeros(n, np.int64) if counts is None else np.asarray(counts, np.int64)
        self._index: NameIndex | None = None
        self._check()

    @classmethod
    def from_names(cls, names: Iterable[str], counts: ArrayLike | None = None) -> Vocabulary:
        """Build a vocabulary from distinct names in column order."""
        vocabulary = cls(*pack_names(list(names)), counts)
        _ = vocabulary.index  # refuses a name given twice
        return vocabulary

    def _check(self) -> None:
        """Refuse arrays that no vocabulary can have, as from a damaged file."""
        blob, offsets = self._blob, self._offsets
        if blob.ndim != 1 or offsets.ndim != 1 or not len(offsets):
            msg = "expected a 1-d blob and n_features + 1 offsets"
            raise ValueError(msg)
        if offsets[0] != 0 or offsets[-1] != len(blob) or (offsets[1:] < offsets[:-1]).any():
            msg = f"expected name offsets that rise from 0 to {len(blob)}, the size of the blob"
            raise ValueError(msg)
        if self._counts.shape != (len(offsets) - 1,):
            msg = f"expected {len(offsets) - 1} counts, one a name, got {self._counts.shape}"
            raise ValueError(msg)
        starts = offsets[:-1][offsets[:-1] < len(blob)]
        if ((blob[starts] & 0xC0) == 0x80).any():  # 10xxxxxx continues a character
            msg = "a feature name begins in the middle of a UTF-8 character"
            raise ValueError(msg)
        if (blob >= 0x80).any():
            try:
                blob.tobytes().decode()
            except UnicodeDecodeError as error:
                msg = f"the feature names are not valid UTF-8 (byte {error.start})"
                raise ValueError(msg) from None

    # --- columns of names ---

    @property
    def index(self) -> NameIndex:
        """What finds names; built when first asked for, so that loading a model stays cheap."""
        if self._index is None:
            self._index = NameIndex(self._blob, self._offsets)
        return self._index

    def columns(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Column of each name, −1 (`UNSEEN`) where the vocabulary does not hold it."""
        return self.index.find(names)

    def __getitem__(self, name: str) -> int:
        column = int(self.columns([name])[0])
        if column == UNSEEN:
            close = difflib.get_close_matches(name, self.search(name[:3])[:1000], 3)
            hint = f"; did you mean one of {close}?" if close else ""
            msg = f"no feature {name!r} among {len(self)}{hint}"
            raise KeyError(msg)
        return column

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and int(self.columns([name])[0]) != UNSEEN

    # --- names of columns ---

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def name(self, column: int) -> str:
        """Name of the feature in a column."""
        if not 0 <= column < len(self):
            msg = f"expected a column from 0 to {len(self) - 1}, got {column}"
            raise IndexError(msg)
        return self._blob[self._offsets[column] : self._offsets[column + 1]].tobytes().decode()

    def names(self, columns: ArrayLike | None = None) -> list[str]:
        """Names of the given columns, of all in order by default."""
        if columns is not None:
            return [self.name(int(j)) for j in np.asarray(columns).ravel()]
        return list(self)

    def __iter__(self) -> Iterator[str]:
        text = self._blob.tobytes()
        bounds = self._offsets.tolist()
        if text.isascii():  # one character a byte: slice the decoded text
            ascii_text = text.decode("ascii")
            return (ascii_text[a:b] for a, b in itertools.pairwise(bounds))
        return (text[a:b].decode() for a, b in itertools.pairwise(bounds))

    # --- looking at it ---

    @property
    def counts(self) -> NDArray[np.int64]:
        """Occurrences of each feature in the training data, shape (n_features,)."""
        return self._counts

    def most_common(self, n: int = 10) -> list[tuple[str, int]]:
        """Give the n most frequent features and their counts, ties in column order."""
        top = np.argsort(-self._counts, kind="stable")[:n]
        return [(self.name(int(j)), int(self._counts[j])) for j in top]

    def search(self, pattern: str) -> list[str]:
        """Names that contain the text, or match it where it is a regular expression.

        Examples
        --------
        >>> Vocabulary.from_names(["U00:the", "U01:dog"]).search("^U01")
        ['U01:dog']
        """
        try:
            matcher = re.compile(pattern)
        except re.error:
            matcher = re.compile(re.escape(pattern))
        return [name for name in self if matcher.search(name)]

    def __repr__(self) -> str:
        shown = [repr(self.name(j)) for j in range(min(3, len(self)))]
        more = ", …" if len(self) > 3 else ""
        noun = "feature" if len(self) == 1 else "features"
        return f"Vocabulary({len(self)} {noun}{': ' if shown else ''}{', '.join(shown)}{more})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (
            np.array_equal(self._offsets, other._offsets)
            and np.array_equal(self._blob, other._blob)
            and np.array_equal(self._counts, other._counts)
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    # --- storing it ---

    def to_arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """Blob, offsets and counts: what a model file stores, and what the constructor takes."""
        return self._blob, self._offsets, self._counts

    def subset(self, columns: ArrayLike) -> Vocabulary:
        """Give the vocabulary of some columns only, in the order given (a pruned model's).

        Examples
        --------
        >>> Vocabulary.from_names(["a", "b", "c"]).subset([2, 0]).names()
        ['c', 'a']
        """
        j = np.asarray(columns, np.int64)
        sizes = self._offsets[j + 1] - self._offsets[j]
        offsets = np.zeros(len(j) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        source = np.repeat(self._offsets[j] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Vocabulary(self._blob[source], offsets, self._counts[j])

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Return what is pickled, in as few bytes as hold it; the index is built where needed."""
        return {
            "blob": self._blob,
            "sizes": _narrow(np.diff(self._offsets)),
            "counts": _narrow(self._counts),
        }

    def __setstate__(self, state: dict[str, NDArray[Any]] | tuple[NDArray[Any], ...]) -> None:
        if isinstance(state, tuple):  # pickled by 0.1: as `to_arrays` gives them
            self.__init__(*state)  # type: ignore[misc]
            return
        offsets = np.concatenate([[0], np.cumsum(state["sizes"], dtype=np.int64)])
        self.__init__(state["blob"], offsets, state["counts"])  # type: ignore[misc]


def _narrow(numbers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the same numbers, 0 or above, in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
