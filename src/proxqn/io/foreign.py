"""Model files of other programs, read as if they had been made to mislead.

Such files carry no checksum, only counts and offsets, and a program that believes them reads
beyond its memory. So whatever a file says of itself is held against the bytes that are there
before anything is allocated or looked at; what does not fit is a :class:`ForeignFileError`.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Final, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray

from proxqn.io.whole_file import ModelFileError, read_whole

__all__ = ["BinaryReader", "ForeignFileError"]

_UINT32: Final = struct.Struct("<I")


class ForeignFileError(ModelFileError):
    """A file that is not what it is read as, is damaged, or holds what cannot be kept here.

    Attributes
    ----------
    path : str
        The file.
    reason : str
        What was expected, what came, and what to do next.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(reason, path)


@final
class BinaryReader:
    """The bytes of a little-endian file; whatever is asked for is checked to lie inside.

    Parameters
    ----------
    data : bytes
        The whole file.
    path : str, optional
        Its name, for messages.

    Examples
    --------
    >>> file = BinaryReader(b"lCRF" + (7).to_bytes(4, "little"), "m.crfsuite")
    >>> file.span(0, 4, "the magic number"), file.uint32(4, "the size")
    (b'lCRF', 7)
    >>> file.array(4, 3, "<u4", "the offsets")
    Traceback (most recent call last):
        ...
    proxqn.io.foreign.ForeignFileError: m.crfsuite: damaged: the offsets (12 bytes at 4) lie \
outside the file, which has 8 bytes.
    """

    def __init__(self, data: bytes, path: str | os.PathLike[str] = "the model") -> None:
        self.data = data
        self.path = os.fspath(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Read a whole file; the system's own errors pass through."""
        return cls(read_whole(path), path)

    def __len__(self) -> int:
        return len(self.data)

    def fail(self, reason: str) -> NoReturn:
        """Raise the error of this file."""
        raise ForeignFileError(self.path, reason)

    def check(self, at: int, size: int, what: str) -> None:
        """Refuse a stretch that does not lie inside the file."""
        if at < 0 or size < 0 or at + size > len(self.data):
            self.fail(
                f"damaged: {what} ({size:,} bytes at {at:,}) lie outside the file, which has "
                f"{len(self.data):,} bytes."
            )

    def span(self, at: int, size: int, what: str) -> bytes:
        """Return ``size`` bytes."""
        self.check(at, size, what)
        return self.data[at : at + size]

    def uint32(self, at: int, what: str) -> int:
        """Return one unsigned number of 32 bits."""
        self.check(at, _UINT32.size, what)
        return int(_UINT32.unpack_from(self.data, at)[0])

    def array(self, at: int, count: int, dtype: Any, what: str) -> NDArray[Any]:
        """Return ``count`` numbers or records, read-only and without a copy."""
        kind = np.dtype(dtype)
        self.check(at, count * kind.itemsize, what)
        return np.frombuffer(self.data, kind, count, at)

    def text(self, at: int, size: int, what: str, encoding: str = "utf-8") -> str:
        """Return a text of ``size`` bytes."""
        try:
            return self.span(at, size, what).decode(encoding)
        except UnicodeDecodeError as error:
            self.fail(f"{what} at {at:,} is not {encoding} text (byte {error.start}).")
