"""Find names in a block of UTF-8 bytes, many at a time, without a Python dictionary.

A dictionary of ten million feature names takes over a gigabyte and seconds to build.  Here the
names stay one block of bytes, and ``cpp/names/name_table.hpp`` hashes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels

__all__ = ["NameIndex", "pack_names", "plain_texts"]


def pack_names(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack names into one UTF-8 block; name j is ``blob[offsets[j]:offsets[j + 1]]``.

    Examples
    --------
    >>> blob, offsets = pack_names(["a", "né"])
    >>> blob.tobytes().decode(), offsets.tolist()
    ('ané', [0, 1, 4])
    """
    text = "".join(names)
    try:
        blob = np.frombuffer(text.encode(), np.uint8)
    except UnicodeEncodeError:
        bad = next(name for name in names if not _is_text(name))
        msg = f"expected feature names that are valid text, got {bad!r} (a lone surrogate)"
        raise ValueError(msg) from None
    if len(blob) == len(text):  # ASCII: one byte a character
        sizes = np.fromiter(map(len, names), np.int64, len(names))
    else:
        sizes = np.fromiter((len(name.encode()) for name in names), np.int64, len(names))
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return blob, offsets


def plain_texts(names: Sequence[str]) -> list[str]:
    """Return names as plain strings, none of a subclass; refuse those that are no valid text."""
    blob, offsets = pack_names(list(names))
    text, bounds = blob.tobytes(), offsets.tolist()
    return [text[a:b].decode() for a, b in itertools.pairwise(bounds)]


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


class NameIndex:
    """An immutable index of distinct names.

    Parameters
    ----------
    blob : uint8 array
        The names' UTF-8 bytes, one after the other.
    offsets : int64 array of shape (n_names + 1,)
        Where each name begins; the last entry is ``len(blob)``.

    Attributes
    ----------
    kernel : _kernels.Names
        The hash table, for those who look up names in pieces.

    Examples
    --------
    >>> index = NameIndex(*pack_names(["apple", "pear"]))
    >>> index.find(["pear", "plum"]).tolist()
    [1, -1]
    """

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.kernel = _kernels.Names(blob, offsets)
        twin = self.kernel.twin()
        if twin >= 0:
            name = blob[offsets[twin] : offsets[twin + 1]].tobytes().decode()
            msg = f"expected distinct feature names, but {name!r} occurs twice"
            raise ValueError(msg)

    def find(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Position of each name, −1 where it is not in the index."""
        found = self.kernel.find(list(names))
        if found is None:  # some are of a subclass of str, or no valid text, which is refused
            found = self.kernel.find(plain_texts(names))
            assert found is not None  # they are plain now
        return found
