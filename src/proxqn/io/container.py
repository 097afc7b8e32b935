"""The container of model files: named arrays and JSON in a safetensors file with a checksum.

A file is an ordinary safetensors file whose metadata has one entry, ``proxqn``, a JSON text that
begins with the checksum. The SHA-256 is taken over the whole file with the checksum's own 64 digits
set to zeros, so it covers every other bit, headers included, and it is compared before anything is
parsed. No time, host or path is stored: identical contents give identical bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from proxqn.io.whole_file import ModelFileError, read_whole
from proxqn.replacing import write_atomically

__all__ = ["Arrays", "Contents", "ModelFileError", "from_bytes", "read", "to_bytes", "write"]

Arrays = Mapping[str, NDArray[Any]]

FORMAT_VERSION: Final = 4
"""Files of this version and all before it can be read."""

_KEY: Final = "proxqn"
_OPENING: Final = b'{"__metadata__":{"proxqn":"{\\"sha256\\":\\"'
_DIGITS: Final = 64
_TYPES: Final[dict[str, np.dtype[Any]]] = {
    "F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "U64": np.dtype("<u8"), "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"), "U8": np.dtype("u1"),
}  # fmt: skip
_LENGTH_BYTES: Final = 8  # a safetensors file begins with the size of its JSON header
_BRACKETS: Final = 1 << 17  # in the header, whatever its size: an empty list of 2 bytes takes 64


@final
@dataclass(frozen=True)
class Contents:
    """What a file holds: its kind (such as ``"chain"``), 1-D arrays, and JSON values.

    ``version`` is the oldest format that has what is in it, so that older readers take what they
    can.
    """

    kind: str
    arrays: Arrays
    meta: dict[str, Any]
    version: int = 1
    size: int = 0  # bytes of the file it was read from


def to_bytes(contents: Contents) -> bytes:
    """Return the file's bytes, the same for the same contents.

    Examples
    --------
    >>> some = Contents("chain", {"w": np.array([1.0])}, {"lam": 0.5})
    >>> data = to_bytes(some)
    >>> data == to_bytes(some), from_bytes(data).meta
    (True, {'lam': 0.5})
    """
    from safetensors.numpy import save

    head = {"sha256": "0" * _DIGITS, "version": contents.version, "kind": contents.kind}
    # One metadata entry only: safetensors writes several in an order that changes between runs.
    text = json.dumps(
        head | {"meta": contents.meta}, separators=(",", ":"), allow_nan=False, ensure_ascii=True
    )
    arrays = {name: np.ascontiguousarray(array) for name, array in contents.arrays.items()}
    blank = save(arrays, {_KEY: text})
    at = _LENGTH_BYTES + len(_OPENING)
    if blank[_LENGTH_BYTES:at] != _OPENING:
        raise RuntimeError("this version of safetensors writes its metadata elsewhere in the file.")
    return b"".join([blank[:at], _digest(blank, at), blank[at + _DIGITS :]])


def from_bytes(data: bytes, name: str = "the file") -> Contents:
    """Check the checksum and return the contents; ``name`` stands in error messages."""
    at = _LENGTH_BYTES + len(_OPENING)
    if not data:
        raise ModelFileError("the file is empty; expected a proxqn model.", name)
    if data[_LENGTH_BYTES:at] != _OPENING:
        raise ModelFileError(
            "not a proxqn model, or damaged at its beginning. Expected a file written by "
            "proxqn.save or `proxqn train`.",
            name,
        )
    if data[at : at + _DIGITS] != _digest(data, at):
        raise ModelFileError(
            f"damaged: the checksum does not match the contents ({len(data):,} bytes). "
            "Copy the file again, or train again.",
            name,
        )
    return _parse(data, name)


def _digest(data: bytes, at: int) -> bytes:
    digest = hashlib.sha256()
    view = memoryview(data)
    for part in (view[:at], b"0" * _DIGITS, view[at + _DIGITS :]):
        digest.update(part)
    return digest.hexdigest().encode()


def _parse(data: bytes, name: str) -> Contents:
    """Parse a file whose checksum is right: what fails now was never a good file."""
    begin = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    try:
        header = _object(_header(data, begin))
        head = _object(_object(header.pop("__metadata__"))[_KEY])
        version, kind, meta = head["version"], head["kind"], _object(head["meta"])
        if not isinstance(kind, str):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError("no proxqn model: its header cannot be read.", name) from None
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelFileError(
            f"format version {version!r:.40}; this package reads versions 1 to "
            f"{FORMAT_VERSION}. Install a newer proxqn.",
            name,
        )
    try:
        arrays = {key: _view(data, begin, entry) for key, entry in header.items()}
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ModelFileError(f"the arrays cannot be read ({error}).", name) from None
    return Contents(kind, arrays, meta, version, len(data))


def _header(data: bytes, begin: int) -> str:
    """Return the header's JSON; refuse one that would take far more memory than it has bytes."""
    if begin > len(data):
        raise ValueError
    if sum(data.count(mark, 0, begin) for mark in b"[{") > _BRACKETS + len(data) // 16:
        raise ValueError
    return data[_LENGTH_BYTES:begin].decode()


def _object(value: Any) -> dict[str, Any]:
    """Return a JSON object, parsed if it is still text; numbers are finite."""
    if isinstance(value, str):
        value = json.loads(value, parse_constant=_refuse)
    if not isinstance(value, dict):
        raise TypeError
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _view(data: bytes, begin: int, entry: dict[str, Any]) -> NDArray[Any]:
    """Return an array of the file without a copy: a large one is read once, and read-only."""
    kind, (size,), (start, stop) = _TYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
    if any(type(number) is not int for number in (size, start, stop)):
        raise TypeError("a place that is no whole number")
    if not 0 <= start <= stop <= len(data) - begin or stop - start != size * kind.itemsize:
        raise ValueError("an array lies outside the file")
    if (begin + start) % kind.itemsize:
        raise ValueError("an array begins in the middle of a number")
    return np.frombuffer(data, kind, size, begin + start)


def write(contents: Contents, path: str | os.PathLike[str]) -> None:
    """Write a file so that its name holds the old file or the whole new one at any moment."""
    write_atomically(to_bytes(contents), path)


def read(path: str | os.PathLike[str]) -> Contents:
    """Read a file back; :class:`ModelFileError` if it is damaged."""
    return from_bytes(read_whole(path, _OPENING, _LENGTH_BYTES), os.fspath(path))
