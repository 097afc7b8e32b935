"""How readers open files and report their faults."""

from __future__ import annotations

import gzip
import io
import math
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO, Final

from proxqn.file_error import FileError

__all__ = ["LONGEST", "DataFileError", "Source", "finite", "numbered_lines", "source_name"]

Source = str | os.PathLike[str] | BinaryIO
"""A path, ``-`` for standard input, or an open binary file; gzip is recognised by its bytes."""


class DataFileError(FileError):
    """A fault in a data file.

    Attributes
    ----------
    source, path : str
        Name of the file.
    line : int
        Line number, from 1; 0 if it concerns the file as a whole.
    reason : str
        What was expected, what came.
    """

    def __init__(self, source: str, line: int, problem: str) -> None:
        super().__init__(problem, source, line)

    @property
    def source(self) -> str:
        """Name of the file."""
        return self.path


LONGEST: Final = 32 << 20
"""Bytes of a line: what is packed, or a device, may have one without end."""


def finite(number: str) -> float:
    """Return the number that a text is; ValueError where it is none, or not finite."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def source_name(source: Source) -> str:
    """Give the name of a source for messages."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    return str(getattr(source, "name", "<stream>"))


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if not isinstance(source, str | os.PathLike):
        yield source
    elif os.fspath(source) == "-":
        yield sys.stdin.buffer
    else:
        with open(source, "rb") as file:
            yield file


@contextmanager
def _unpacked(file: BinaryIO) -> Iterator[BinaryIO]:
    """Give the file, through gzip if its first two bytes say so; works for pipes as well."""
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)  # type: ignore[type-var]
    try:
        if buffered.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(buffered) as plain:
                yield plain  # type: ignore[misc]
        else:
            yield buffered
    finally:
        if buffered is not file:
            buffered.detach()  # the file is the caller's to close


def numbered_lines(source: Source, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends, as a stream."""
    name = source_name(source)
    n = 0
    try:
        with _opened(source) as file, _unpacked(file) as plain:
            for n, raw in enumerate(iter(partial(plain.readline, LONGEST + 1), b""), 1):
                if len(raw) > LONGEST:
                    raise DataFileError(name, n, f"expected a line of at most {LONGEST:,} bytes")
                line = raw.decode(encoding)
                if n == 1:
                    line = line.removeprefix("\ufeff")  # a byte-order mark
                yield n, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        problem = f"expected {encoding} text, but byte {error.start + 1} of the line is not"
        raise DataFileError(name, n, problem) from None
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise DataFileError(name, n + 1, f"cannot read on: {error}") from None
