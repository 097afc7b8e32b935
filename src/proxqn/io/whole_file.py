"""Files that are read as a whole, and the error that refuses them."""

from __future__ import annotations

import os
import stat
from typing import Final

from proxqn.file_error import FileError

__all__ = ["ModelFileError", "allowance", "read_whole"]

_SPARE: Final = 64 << 20


class ModelFileError(FileError):
    """A file that is not a model, is damaged, was made to mislead, or is of a later version.

    Attributes
    ----------
    path : str
        The file; empty where the contents came from elsewhere.
    reason : str
        What was expected, what came, and what to do next.

    Examples
    --------
    >>> ModelFileError("the file is empty", "m.proxqn")
    ModelFileError('m.proxqn: the file is empty')
    """


def allowance(size: int) -> int:
    """Return how many bytes a file of this size may ask for: twice its own, and 64 MB."""
    return 2 * size + _SPARE


def read_whole(path: str | os.PathLike[str], opening: bytes = b"", at: int = 0) -> bytes:
    """Read a file into memory; refuse one that has no end, or another opening, before that.

    Parameters
    ----------
    path : path
        A regular file or a pipe; a device may go on for ever.
    opening : bytes
        What a file of the kind has at the place ``at``: nothing more is read of one that has not.
    """
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ModelFileError("is a device, expected a file.", path)
        head = file.read(at + len(opening))
        if head[at:] != opening:
            return head
        return head + file.read() if head else file.read()
