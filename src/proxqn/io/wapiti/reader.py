"""Reads Wapiti's model file: text, with every string preceded by its length.

.. code-block:: text

    #mdl#2#4103                      kind (2: CRF), weights other than zero
    #rdr#20/1/0                      patterns, largest column, 1 where a line is a sequence
    13:u00:%x[-1,0],                 each pattern, as a netstring
    #qrk#22                          labels
    4:B-NP,
    #qrk#74658                       observations: what the patterns make of the training data
    7:u00:the,
    17=0x1.8p-3                      weights, as C writes a double exactly

An observation has weights for labels (``u``), for pairs of labels (``b``) or for both (``*``). They
are numbered one after the other, in the order of the observations.
"""

from __future__ import annotations

import os
import re
from typing import Final, NoReturn, final

import numpy as np

from proxqn.features.byte_text import text_of
from proxqn.features.template_dialect import Dialect
from proxqn.io.foreign import ForeignFileError
from proxqn.io.pattern_model import (
    Blocks,
    PatternModel,
    check_distinct,
    check_labels,
    read_templates,
)
from proxqn.io.whole_file import read_whole
from proxqn.problem import Floats, Ints

__all__ = ["blocks_of", "parse_model", "read_model"]

_MODEL: Final = re.compile(rb"#mdl#(?:(\d{1,9})#)?(\d{1,15})\s*")
_READER: Final = re.compile(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/(\d{1,9}))?\s*")
_QUARKS: Final = re.compile(rb"#qrk#(\d{1,15})\s*")
_LENGTH: Final = re.compile(rb"\s*(\d{1,9}):")
_PLACE: Final = re.compile(rb"\d{1,18}")
_MEMM: Final = b"1"
_SMALLEST: Final = 4  # bytes of a netstring or a weight: a file holds no more than these allow


def read_model(path: str | os.PathLike[str]) -> PatternModel:
    """Read a model file."""
    return parse_model(read_whole(path), os.fspath(path))


def parse_model(data: bytes, path: str = "the model") -> PatternModel:
    r"""Read the bytes of a model file; ``path`` names it in messages.

    Examples
    --------
    >>> start = b"#mdl#2#1\n#rdr#1/0/0\n10:u0:%x[0,0],\n#qrk#2\n1:A,\n1:B,\n#qrk#1\n4:u0:x,\n"
    >>> model = parse_model(start + b"1=0x1p-1\n")
    >>> model.labels, model.names, model.weights.toarray().tolist()
    (['A', 'B'], ['u0:x'], [[0.0, 0.5]])
    >>> parse_model(start + b"2=0x1p-1\n", "m.wapiti")
    Traceback (most recent call last):
        ...
    proxqn.io.foreign.ForeignFileError: m.wapiti: damaged: weight 2 of 2 in all.
    """
    file = _Cursor(data, path)
    kind, n_weights = file.header(_MODEL, "#mdl#")
    if kind == _MEMM:
        file.fail("is a maximum-entropy Markov model; expected a CRF (wapiti train -T crf).")
    n_patterns, _, alone = file.header(_READER, "#rdr#")
    if int(alone or 0):
        file.fail("was trained with --me, each line on its own; expected a chain.")
    patterns = file.strings(int(n_patterns or 0), "patterns")
    labels = file.strings(int(file.header(_QUARKS, "#qrk#")[0] or 0), "labels")
    observations = file.strings(int(file.header(_QUARKS, "#qrk#")[0] or 0), "observations")
    check_labels(labels, path)
    check_distinct(observations, "observations", path)
    wrong = next((text for text in observations if text[0] not in "ub*"), None)
    if wrong is not None:
        file.fail(f"expected observations that begin with u, b or *, got {wrong[:40]!r}.")
    blocks = blocks_of(observations, len(labels))
    row = file.weights(int(n_weights or 0), blocks.end)
    templates = read_templates(patterns, path, Dialect.WAPITI) if patterns else None
    return PatternModel(templates, labels, observations, blocks, *blocks.cut(*row))


def blocks_of(observations: list[str], n_labels: int) -> Blocks:
    """Return where the weights of observations stand; the first letter says which they have."""
    kinds = np.array([text[0] for text in observations], "U1")
    return Blocks.behind_each_other(n_labels, kinds != "b", kinds != "u")


@final
class _Cursor:
    """The bytes of a file and how far they have been read."""

    def __init__(self, data: bytes, path: str) -> None:
        self._data, self._path, self._at = data, path, 0

    def fail(self, reason: str) -> NoReturn:
        raise ForeignFileError(self._path, reason)

    def header(self, form: re.Pattern[bytes], start: str) -> tuple[bytes | None, ...]:
        """Read a line of counts."""
        found = form.match(self._data, self._at)
        if found is None:
            got = self._data[self._at : self._at + 20]
            self.fail(f"expected {start} and counts at byte {self._at:,}, got {got!r}.")
        self._at = found.end()
        return found.groups()

    def strings(self, count: int, what: str) -> list[str]:
        """Read so many netstrings."""
        self._check_room(count, what)
        found, data, at = [], self._data, self._at
        for _ in range(count):
            length = _LENGTH.match(data, at)
            end = length.end() + int(length[1]) if length else -1
            if length is None or data[end : end + 1] != b",":
                self.fail(f"damaged: {what}: expected LENGTH:TEXT, at byte {at:,}.")
            raw = data[length.end() : end]
            if b"\0" in raw:
                self.fail(f"damaged: {what}: a zero byte in the text at byte {at:,}.")
            found.append(text_of(raw))
            at = end + 2  # the comma and the end of the line
        self._at = at
        return found

    def weights(self, count: int, n_places: int) -> tuple[Ints, Floats]:
        """Read so many weights, to the end of the file."""
        self._check_room(count, "weights")
        cells = [line.partition(b"=") for line in self._data[self._at :].split()]
        if len(cells) != count:
            self.fail(f"damaged: {count:,} weights announced, {len(cells):,} there.")
        try:
            places = np.array([_place(cell[0]) for cell in cells], np.int64)
            values = np.array([_number(cell[2]) for cell in cells], np.float64)
        except ValueError as error:
            self.fail(f"damaged: {error}.")
        if not np.isfinite(values).all():
            self.fail("damaged: a weight is not finite.")
        if count and places.max() >= n_places:
            self.fail(f"damaged: weight {places.max():,} of {n_places:,} in all.")
        if len(np.unique(places)) < count:
            self.fail("damaged: a weight is given twice.")
        return places, values

    def _check_room(self, count: int, what: str) -> None:
        left = len(self._data) - self._at
        if count * _SMALLEST > left:
            self.fail(f"damaged: {count:,} {what} announced, in the {left:,} bytes that are left.")


def _place(text: bytes) -> int:
    if not _PLACE.fullmatch(text):
        raise ValueError(f"expected NUMBER=WEIGHT, got {text[:40]!r}")
    return int(text)


def _number(text: bytes) -> float:
    """Read a number as C does: hexadecimal where it says so."""
    shown = text.decode("latin-1").replace("_", "?")  # which Python would take
    try:
        return float.fromhex(shown) if "x" in shown[:3].lower() else float(shown)
    except (ValueError, OverflowError):
        raise ValueError(f"expected a weight, got {shown[:40]!r}") from None
