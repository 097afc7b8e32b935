"""Reads CRF++'s model files: the binary one, and the text that ``crf_learn -t`` leaves beside it.

The binary one, little-endian:

===================  ==================================================================
bytes                what
===================  ==================================================================
4, 4, 8              version (100), kind (0), factor of all scores (a double)
4, 4, 4              how many weights, columns of the data, bytes of the double array
4, then so many      labels, each ended by a zero byte
4, then so many      templates, the same; zero bytes fill up to a multiple of 4
as said              the double array: names and where their weights begin
4 each               weights, in single precision
===================  ==================================================================

A name that begins with U has a weight for each label, any other (B) one for each pair of labels.
The text has the same in lines, paragraph by paragraph, its weights in double precision.
"""

from __future__ import annotations

import os
import struct
from typing import Final

import numpy as np

from proxqn.features.byte_text import text_of
from proxqn.features.template_dialect import Dialect
from proxqn.io.crfpp.double_array import UNIT, DamagedArrayError, entries
from proxqn.io.foreign import BinaryReader, ForeignFileError
from proxqn.io.pattern_model import (
    Blocks,
    PatternModel,
    check_distinct,
    check_labels,
    read_templates,
)
from proxqn.problem import Floats, Ints

__all__ = ["HEADER", "VERSION", "blocks_of", "parse_model", "read_model"]

HEADER: Final = struct.Struct("<IidIII")
VERSION: Final = 100
_TEXT: Final = b"version:"
_NOT_FINITE: Final = "damaged: a weight is not finite."


def read_model(path: str | os.PathLike[str]) -> PatternModel:
    """Read a model file of either form."""
    file = BinaryReader.open(path)
    return parse_model(file.data, file.path)


def parse_model(data: bytes, path: str = "the model") -> PatternModel:
    r"""Read the bytes of a model file; ``path`` names it in messages.

    Examples
    --------
    >>> head = b"version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\n"
    >>> model = parse_model(head + b"A\nB\n\nU0:%x[0,0]\n\n0 U0:x\n\n0.0\n0.5\n")
    >>> model.labels, model.names, model.weights.toarray().tolist()
    (['A', 'B'], ['U0:x'], [[0.0, 0.5]])
    """
    return _text(data, path) if data.startswith(_TEXT) else _binary(BinaryReader(data, path))


def _binary(file: BinaryReader) -> PatternModel:
    head = HEADER.unpack(file.span(0, HEADER.size, "the header"))
    version, _, _, n_weights, _, n_bytes = head
    if version // 100 != VERSION // 100:
        file.fail(f"expected a CRF++ model, of version {VERSION} or a little later; got {version}.")
    at, found = HEADER.size, []
    for what in ("labels", "templates"):
        size = file.uint32(at, f"the size of the {what}")
        found.append(_strings(file, at + 4, size, what))
        at += 4 + size
    expected = at + n_bytes + 4 * n_weights
    if n_bytes % UNIT.itemsize or expected != len(file):
        file.fail(f"damaged: its header says {expected:,} bytes, it has {len(file):,}.")
    units = file.array(at, n_bytes // UNIT.itemsize, UNIT, "the double array")
    try:
        names, starts = entries(units)
    except DamagedArrayError as error:
        file.fail(f"damaged: the double array: {error}.")
    weights = file.array(at + n_bytes, n_weights, "<f4", "the weights")
    if not np.isfinite(weights).all():
        file.fail(_NOT_FINITE)
    labels, templates = found[0], [line for line in found[1] if line]
    texts = [text_of(name) for name in names]
    return _model(file.path, labels, templates, (texts, starts), weights.astype(np.float64))


def _strings(file: BinaryReader, at: int, size: int, what: str) -> list[str]:
    raw = file.span(at, size, f"the {what}")
    if not raw.endswith(b"\0"):
        file.fail(f"damaged: the {what} have no end.")
    return [text_of(part) for part in raw[:-1].split(b"\0")]


def _text(data: bytes, path: str) -> PatternModel:
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    paragraphs, at = [], 0
    for what in ("header", "labels", "templates", "names"):
        try:
            end = lines.index(b"", at)
        except ValueError:
            raise ForeignFileError(path, f"damaged: no empty line after the {what}.") from None
        paragraphs.append(lines[at:end])
        at = end + 1
    head, labels, templates, names = paragraphs
    values = _floats(lines[at:], path)
    announced = dict(line.split(b": ", 1) for line in head if b": " in line).get(b"maxid", b"")
    if announced != b"%d" % len(values):
        told = text_of(announced[:20])
        raise ForeignFileError(
            path, f"damaged: {told or 'no number of'} weights announced, {len(values):,} there."
        )
    starts, texts = [], []
    for line in names:
        start, _, name = line.partition(b" ")
        if not (start.isdigit() and len(start) < 16):
            got = text_of(line[:40])
            raise ForeignFileError(path, f"damaged: expected NUMBER NAME, got {got!r}.")
        starts.append(int(start))
        texts.append(text_of(name))
    named = texts, np.array(starts, np.int64)
    return _model(path, list(map(text_of, labels)), list(map(text_of, templates)), named, values)


def _floats(lines: list[bytes], path: str) -> Floats:
    try:
        return np.array([float(line.replace(b"_", b"?")) for line in lines], np.float64)
    except ValueError as error:
        raise ForeignFileError(path, f"damaged: a weight: {error}.") from None


def _model(
    path: str,
    labels: list[str],
    templates: list[str],
    names: tuple[list[str], Ints],
    weights: Floats,
) -> PatternModel:
    """Put together what was read, and check what concerns several parts."""
    check_labels(labels, path)
    texts, starts = names
    if not texts:
        raise ForeignFileError(path, "has no features; expected some, with their weights.")
    check_distinct(texts, "names", path)
    for line in templates:
        if line[:1] not in ("U", "B"):
            reason = f"damaged: expected templates that begin with U or B, got {line[:40]!r}."
            raise ForeignFileError(path, reason)
    order = np.argsort(starts, kind="stable")
    texts, starts = [texts[i] for i in order.tolist()], starts[order]
    blocks = blocks_of(texts, len(labels), starts)
    if (np.diff(starts) < blocks.sizes[:-1]).any() or starts[0] < 0 or blocks.end > len(weights):
        raise ForeignFileError(
            path, f"damaged: weights of names overlap, or lie outside the {len(weights):,} in all."
        )
    if not np.isfinite(weights).all():
        raise ForeignFileError(path, _NOT_FINITE)
    places = np.flatnonzero(weights)
    parsed = read_templates(templates, path, Dialect.CRFPP)
    return PatternModel(parsed, labels, texts, blocks, *blocks.cut(places, weights[places]))


def blocks_of(names: list[str], n_labels: int, starts: Ints | None = None) -> Blocks:
    """Return where the weights of names stand; one behind the other by default."""
    of_tokens = np.array([name[0] for name in names], "U1") == "U"
    if starts is None:
        return Blocks.behind_each_other(n_labels, of_tokens, ~of_tokens)
    return Blocks(n_labels, of_tokens, ~of_tokens, starts)
