"""The one error of files that cannot be read as what they should be."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["FileError"]


class FileError(ValueError):
    """A file that is damaged, not what it is read as, or made to mislead.

    Of models it is a ``ModelFileError``, of data a ``DataFileError``, of templates a
    ``TemplateError``.

    Attributes
    ----------
    path : str
        The file; empty where the contents came from elsewhere.
    line : int
        Its line, from 1; 0 where it has none, or all are concerned.
    reason : str
        What was expected, what came, and what to do next.

    Examples
    --------
    >>> str(FileError("expected a label", "train.txt", 7)), str(FileError("is empty", "m.proxqn"))
    ('train.txt, line 7: expected a label', 'm.proxqn: is empty')
    """

    def __init__(self, reason: str, path: str | os.PathLike[str] = "", line: int = 0) -> None:
        self.path, self.line, self.reason = os.fspath(path), line, reason
        place = f"{self.path}, line {line}" if line else self.path
        super().__init__(f"{place}: {reason}" if place else reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.reason, self.path, self.line)


def _again(kind: type[FileError], reason: str, path: str, line: int) -> FileError:
    """Make an error again, whatever its own arguments are."""
    error = kind.__new__(kind)
    FileError.__init__(error, reason, path, line)
    return error
