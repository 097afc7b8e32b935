"""Read CRFsuite's binary model; every offset, size, count and hash table is checked first."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.io.crfsuite import cqdb
from proxqn.io.crfsuite.format import (
    ATTRIBUTE_REFS,
    CHUNK,
    FEATURE,
    FEATURES,
    HEADER,
    KIND,
    LABEL_REFS,
    MAGIC,
    STATE,
    TRANSITION,
    VERSION,
    CRFsuiteModel,
    Header,
)
from proxqn.io.foreign import BinaryReader

_MOST_LABELS: Final = 1 << 14  # their table of transitions takes 2 GiB


def read(path: str | os.PathLike[str]) -> CRFsuiteModel:
    """Read a file; :class:`~proxqn.io.foreign.ForeignFileError` if it is no good model."""
    return from_reader(BinaryReader.open(path))


def from_bytes(data: bytes, path: str | os.PathLike[str] = "the model") -> CRFsuiteModel:
    """Read the bytes of a file; ``path`` stands in error messages."""
    return from_reader(BinaryReader(data, path))


def from_reader(file: BinaryReader) -> CRFsuiteModel:
    """Read an open file."""
    header = read_header(file)
    features = _features(file, header)
    labels = cqdb.read(file, header.labels, header.n_labels, "labels")
    attributes = cqdb.read(file, header.attributes, header.n_attributes, "attributes")
    shapes = (len(attributes), len(labels)), (len(labels), len(labels))
    state = _References(file, header.attribute_refs, ATTRIBUTE_REFS, len(attributes))
    steps = _References(file, header.label_refs, LABEL_REFS, len(labels))
    if state.total + steps.total != len(features):
        file.fail(
            f"damaged: {len(features):,} features, but {state.total + steps.total:,} references."
        )
    return CRFsuiteModel(
        tuple(labels),
        attributes,
        _matrix(file, features, state.rows_and_features(), STATE, shapes[0]),
        _matrix(file, features, steps.rows_and_features(), TRANSITION, shapes[1]),
    )


def read_header(file: BinaryReader) -> Header:
    """Read the first 48 bytes; refuse another program's file, and another version."""
    if not len(file):
        file.fail("the file is empty; expected a model that CRFsuite has written.")
    if file.data[:4] != MAGIC:
        file.fail("not a CRFsuite model: it does not begin with 'lCRF'.")
    file.check(0, HEADER.size, "the header")
    _, size, kind, version, _, *numbers = HEADER.unpack_from(file.data)
    if kind != KIND or version != VERSION:
        file.fail(
            f"expected a model of kind {KIND.decode()} and version {VERSION}, got "
            f"{kind.decode('latin-1')!r} and {version}: not of CRFsuite 0.11 or 0.12, or damaged."
        )
    header = Header(size, *numbers)
    if size != len(file):
        file.fail(f"damaged: the file has {len(file):,} bytes, its header says {size:,}.")
    if header.n_labels > _MOST_LABELS:
        file.fail(f"{header.n_labels:,} labels; at most {_MOST_LABELS:,} are read.")
    return header


def _features(file: BinaryReader, header: Header) -> NDArray[Any]:
    n = _chunk(file, header.features, FEATURES)
    features = file.array(header.features + CHUNK.size, n, FEATURE, "the features")
    if not np.isfinite(features["weight"]).all():
        file.fail("damaged: a weight is not a finite number.")
    return features


def _chunk(file: BinaryReader, at: int, name: bytes) -> int:
    """Return how many items a part has; refuse one that is not there."""
    file.check(at, CHUNK.size, f"the part {name.decode()}")
    found, size, n = CHUNK.unpack_from(file.data, at)
    if found != name:
        file.fail(f"damaged: expected the part {name.decode()} at {at:,}.")
    file.check(at, size, f"the part {name.decode()}")
    return int(n)


class _References:
    """Which features labels or attributes have."""

    def __init__(self, file: BinaryReader, at: int, name: bytes, n: int) -> None:
        if _chunk(file, at, name) < n:
            file.fail(f"damaged: the part {name.decode()} is not of {n:,} items.")
        self._starts = file.array(at + CHUNK.size, n, "<u4", name.decode()).astype(np.int64)
        if n and (self._starts.max() > len(file) - 4):
            file.fail(f"damaged: a list of the part {name.decode()} lies outside the file.")
        self._bytes = np.frombuffer(file.data, np.uint8)
        self._counts = self._words(self._starts)
        if (self._starts + 4 + 4 * self._counts > len(file)).any():
            file.fail(f"damaged: a list of the part {name.decode()} lies outside the file.")
        self.total = int(self._counts.sum())

    def rows_and_features(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of rows and features; as many as the file has features, not more."""
        rows = np.repeat(np.arange(len(self._counts)), self._counts)
        bytes_ = self._bytes[cqdb.ranges(self._starts + 4, 4 * self._counts)]
        return rows, bytes_.view("<u4").astype(np.int64)

    def _words(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        words: NDArray[Any] = self._bytes[at[:, None] + np.arange(4)].view("<u4")[:, 0]
        return words.astype(np.int64)


def _matrix(
    file: BinaryReader,
    features: NDArray[Any],
    references: tuple[NDArray[np.int64], NDArray[np.int64]],
    kind: int,
    shape: tuple[int, int],
) -> sp.csr_array:
    """Return the weights of one kind, each feature of it referred to once, by its own source."""
    rows, numbers = references
    if len(numbers) and numbers.max() >= len(features):
        file.fail("damaged: a reference to a feature that is not there.")
    chosen = features[numbers]
    wrong = (chosen["kind"] != kind) | (chosen["source"] != rows) | (chosen["label"] >= shape[1])
    if wrong.any():
        file.fail("damaged: a feature is not of the label or attribute that refers to it.")
    matrix = sp.csr_array((chosen["weight"], (rows, chosen["label"].astype(np.int64))), shape=shape)
    if matrix.nnz != len(numbers):
        file.fail("damaged: two weights of the same pair.")
    return matrix
