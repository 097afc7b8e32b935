"""What commands write, and where: no output is an input, or another output, by whatever name."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, final

from proxqn.cli.failures import OutputError
from proxqn.replacing import file_mode, refused, replacing

STANDARD = "-"
"""Standard input or output, in place of a file."""

Named = Mapping[str, str | None]
"""Paths by the argument or option that gave them; None where it was not given."""


def check_outputs(outputs: Named, inputs: Named) -> None:
    """Refuse outputs that could not be written, or would destroy something, before hours of work.

    Parameters
    ----------
    outputs, inputs : mapping
        Paths by the name of their option. What is an output of two options is refused, and so is
        an output that is an input, however the paths are spelled.
    """
    written = _places(outputs, standard=1)
    for place in written:
        _check_writable(place)
    for k, place in enumerate(written):
        for other in (*written[:k], *_places(inputs, standard=0)):
            if place.is_file_of(other):
                raise OutputError(
                    f"{place.path}: {place.option} is the same as {other.option} "
                    f"({other.path}), which it would destroy; name another file."
                )
    for names, what in ((outputs, "write to standard output"), (inputs, "read standard input")):
        same = [option for option, path in names.items() if path == STANDARD]
        if len(same) > 1:
            raise OutputError(f"{' and '.join(same)} both {what}; only one of them can.")


def check_regular(option: str, path: str) -> None:
    """Refuse what cannot be read back."""
    mode = None if path == STANDARD else file_mode(path)
    if path == STANDARD or not (mode is None or stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OutputError(f"{path}: {option} needs a regular file, to be read again.")


def write_bytes(data: bytes, path: str) -> None:
    """Write a whole file, or to standard output."""
    with opened(path) as file:
        file.write(data)


def write_lines(pieces: Iterable[str], path: str) -> None:
    """Write pieces of text with a line's end behind each, in constant memory.

    What is no regular file gets each piece at once: someone may be waiting for it.
    """
    with opened(path) as file:
        waited_for = not stat.S_ISREG(_mode(file))
        for piece in pieces:
            file.write(f"{piece}\n".encode())
            if waited_for:
                file.flush()


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open what is written to; a regular file is the old one until all of it is written."""
    if path != STANDARD:
        with replacing(path) as file:
            yield file
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _mode(file: BinaryIO) -> int:
    try:
        return os.fstat(file.fileno()).st_mode
    except OSError:  # a socket's file, or what stands in for standard output
        return 0


@final
@dataclass(frozen=True)
class _Place:
    """What an option names: its identity tells it from others, whatever their spelling."""

    option: str
    path: str
    mode: int | None  # None where nothing is there
    identity: tuple[object, ...]

    def is_file_of(self, other: _Place) -> bool:
        """Whether both are one file or pipe; terminals, devices and sockets have two directions."""
        mode = self.mode or 0
        two_ways = stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
        return self.identity == other.identity and not two_ways


def _places(paths: Named, *, standard: int) -> list[_Place]:
    """Return what stands where; ``standard`` is the descriptor that ``-`` means."""
    found = [
        _standard(option, standard) if path == STANDARD else _place(option, path)
        for option, path in paths.items()
        if path is not None
    ]
    return [place for place in found if place is not None]


def _place(option: str, path: str) -> _Place:
    mode = file_mode(path)
    if mode is None:
        return _Place(option, path, None, ("not there", os.path.realpath(path)))
    about = os.stat(path)
    return _Place(option, path, mode, (about.st_dev, about.st_ino))


def _standard(option: str, descriptor: int) -> _Place | None:
    try:
        about = os.fstat((sys.stdin, sys.stdout)[descriptor].fileno())
    except (OSError, ValueError, AttributeError):  # closed, or something that stands in for it
        return None
    name = ("standard input", "standard output")[descriptor]
    return _Place(option, name, about.st_mode, (about.st_dev, about.st_ino))


def _check_writable(place: _Place) -> None:
    if place.path in ("standard output", "standard input"):
        return
    real = Path(os.path.realpath(place.path))
    if place.mode is None and not real.parent.is_dir():
        raise OutputError(
            f"{place.path}: the folder {real.parent} does not exist; create it first."
        )
    if place.mode is not None and (stat.S_ISDIR(place.mode) or stat.S_ISBLK(place.mode)):
        raise OutputError(f"{place.path}: {refused(place.path, place.mode).strerror}.")
    if place.mode is not None and not os.access(place.path, os.W_OK):
        raise OutputError(f"{place.path}: no permission to write it.")
    regular = place.mode is None or stat.S_ISREG(place.mode)
    if regular and not os.access(real.parent, os.W_OK):
        raise OutputError(f"{place.path}: no permission to write in the folder {real.parent}.")
