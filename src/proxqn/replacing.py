"""Files that are written: a regular file is replaced as a whole, anything else is written to.

A reader of a regular file sees the old one or the whole new one at any moment; the new one has the
mode of the old, and its owner where the system allows that. A link stays a link: what it leads to
is written. A pipe, a terminal, a character device or a socket gets the bytes. A folder and a block
device (a disk) are refused.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_DESCRIPTORS = re.compile(r"/proc/\d+/fd|/dev/fd")  # the folders of /dev/stdout and its like
_NAME = 32  # characters of a file's name in that of the part beside it


def write_atomically(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file at once, see :func:`replacing`."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to be written; a regular one is the old one until the block has ended well.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "name.txt")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"whole"), path.exists()
    >>> path.read_bytes()
    b'whole'
    """
    mode = file_mode(path)
    descriptor = _own_descriptor(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            yield file
    elif mode is None or stat.S_ISREG(mode):
        with _beside(Path(os.path.realpath(path))) as file:
            yield file
    elif stat.S_ISSOCK(mode):
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(os.fspath(path))
            with channel.makefile("wb") as stream:
                yield stream
    elif stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        with os.fdopen(os.open(path, os.O_WRONLY), "wb") as file:
            yield file
    else:
        raise refused(path, mode)


def file_mode(path: str | os.PathLike[str]) -> int | None:
    """Return the type and mode of what a path leads to, as ``os.stat`` has them; None for nothing.

    A link that leads nowhere is nothing: its target will be made.
    """
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def refused(path: str | os.PathLike[str], mode: int) -> OSError:
    """Return the error for what is never written to: a folder, a disk."""
    name = os.fspath(path)
    if stat.S_ISDIR(mode):
        return IsADirectoryError(errno.EISDIR, "is a folder, expected a file", name)
    return OSError(
        errno.EINVAL, "is a disk or the like, which is not written to; expected a file", name
    )


def _own_descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of an open file of this process that a path such as /dev/stdout names.

    What it is was chosen by who started us: it is written on, not replaced.
    """
    place = os.path.abspath(path)
    for _ in range(40):  # as many links as Linux follows
        folder, name = os.path.split(place)
        if _DESCRIPTORS.fullmatch(os.path.realpath(folder)) and name.isdecimal():
            return int(name)
        if not os.path.islink(place):
            return None
        place = os.path.join(folder, os.readlink(place))
    return None


@contextmanager
def _beside(target: Path) -> Iterator[BinaryIO]:
    """Write beside the target, bring it to disk, then rename."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, f"the folder {target.parent} does not exist; create it first", str(target)
        )
    beside = target.with_name(f".{target.name[:_NAME]}.{secrets.token_hex(8)}.part")
    old = target.stat() if target.exists() else None
    # Nobody else reads what is written before the old file's mode is set.
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            if old is not None:
                _take_over(handle, old)
            yield file
            file.flush()
            os.fsync(handle)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(target.parent)


def _take_over(handle: int, old: os.stat_result) -> None:
    """Give a file the mode of another, and its owner and group where that is allowed."""
    if not hasattr(os, "fchown"):
        return
    for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
        with suppress(OSError):
            os.fchown(handle, owner, group)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Bring the rename itself to disk, where the system has a way to."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
