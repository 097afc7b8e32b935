"""Standard streams that are closed, as cron or ``>&-`` may leave them, say so when used."""

from __future__ import annotations

import errno
import io
import sys
from typing import Any, NoReturn, TextIO, cast


class _ClosedBytes(io.RawIOBase):
    """What stands where a stream should: only who needs it is stopped."""

    def __init__(self, name: str) -> None:
        self.name = name

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self.name)

    def write(self, data: Any) -> NoReturn:
        raise OSError(errno.EBADF, "is closed", self.name)


class _ClosedText(io.TextIOBase):
    """The same for text; nothing is kept that would have to be written at the end."""

    def __init__(self, name: str) -> None:
        self.buffer: Any = _ClosedBytes(name)

    def write(self, text: str) -> int:
        written: int = self.buffer.write(text)
        return written


def stand_in_for_closed_ones() -> None:
    """Put something in the place of streams that are closed, of which Python has None."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedBytes("standard input")))
    if sys.stdout is None:
        sys.stdout = cast("TextIO", _ClosedText("standard output"))
    if sys.stderr is None:  # nobody listens
        sys.stderr = io.StringIO()
