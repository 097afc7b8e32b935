"""Where a stand-in writes: a file, or standard output, in bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from proxqn.cli.outputs import check_writable
from proxqn.io.container import write_atomically


@contextmanager
def opened(path: str | None) -> Iterator[BinaryIO]:
    """Open a file for lines that are written as they come."""
    if path in (None, "-"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_writable(path)
    with open(str(path), "wb") as file:
        yield file


def write_whole(data: bytes, path: str | None) -> None:
    """Write a model: the file is the old one or the whole new one."""
    if path in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_atomically(data, str(path))
