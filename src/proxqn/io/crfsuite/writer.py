"""Write CRFsuite's binary model: the bytes that CRFsuite would write for the same weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.crfsuite import cqdb
from proxqn.io.crfsuite.format import (
    ATTRIBUTE_REFS,
    CHUNK,
    FEATURE,
    FEATURES,
    HEADER,
    LABEL_REFS,
    SIZE_LIMIT,
    STATE,
    TRANSITION,
    UNUSED_REFS,
    CRFsuiteModel,
    Header,
)


def to_bytes(model: CRFsuiteModel) -> bytes:
    """Return the file of a model, each of whose attributes has a weight."""
    features = _features(model)
    parts = [CHUNK.pack(FEATURES, CHUNK.size + features.nbytes, len(features)) + features.tobytes()]
    labels_at = HEADER.size + len(parts[0])
    parts.append(_dictionary(Vocabulary.from_names(model.labels), "label"))
    attributes_at = labels_at + len(parts[1])
    parts.append(_aligned(_dictionary(model.attributes, "attribute"), attributes_at))
    refs_at = attributes_at + len(parts[2])
    if refs_at + 8 * len(features) + 8 * (len(model.labels) + len(model.attributes)) >= SIZE_LIMIT:
        raise ValueError(
            f"CRFsuite's files end at 4 GiB; this model has {len(features):,} weights. Train it "
            "with a larger c1, or keep it as a file of proxqn."
        )
    n_state = model.state.nnz
    parts.append(_references(LABEL_REFS, model.transitions, n_state, refs_at, UNUSED_REFS))
    attribute_refs_at = refs_at + len(parts[3])
    parts.append(_references(ATTRIBUTE_REFS, model.state, 0, attribute_refs_at, 0))
    header = Header(
        attribute_refs_at + len(parts[4]),
        len(model.labels),
        len(model.attributes),
        HEADER.size,
        labels_at,
        attributes_at,
        refs_at,
        attribute_refs_at,
    )
    return b"".join([header.pack(), *parts])


def _features(model: CRFsuiteModel) -> Any:
    """Return the features: those of attributes, then those of label pairs, by their numbers."""
    blocks = [(STATE, model.state), (TRANSITION, model.transitions)]
    features = np.zeros(sum(matrix.nnz for _, matrix in blocks), FEATURE)
    done = 0
    for kind, matrix in blocks:
        part = features[done : done + matrix.nnz]
        part["kind"] = kind
        part["source"] = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        part["label"], part["weight"] = matrix.indices, matrix.data
        done += matrix.nnz
    return features


def _dictionary(names: Vocabulary, what: str) -> bytes:
    try:
        return cqdb.write(names)
    except ValueError as error:
        raise ValueError(f"CRFsuite cannot hold the model: {what}: {error}") from None


def _aligned(part: bytes, at: int) -> bytes:
    return part + bytes(-(at + len(part)) % 4)


def _references(name: bytes, matrix: sp.csr_array, first: int, at: int, unused: int) -> bytes:
    """Return, for each row, which features it has; features count on from ``first``."""
    starts = matrix.indptr.astype(np.int64)
    n_rows, n_features = matrix.shape[0], int(starts[-1])
    lists_at = at + CHUNK.size + 4 * (n_rows + unused)
    offsets = np.zeros(n_rows + unused, "<u4")
    offsets[:n_rows] = lists_at + 4 * (starts[:-1] + np.arange(n_rows))
    lists = np.empty(n_rows + n_features, "<u4")
    counts_at = starts[:-1] + np.arange(n_rows)
    is_count = np.zeros(len(lists), dtype=bool)
    is_count[counts_at] = True
    lists[is_count] = np.diff(starts)
    lists[~is_count] = first + np.arange(n_features)
    size = CHUNK.size + offsets.nbytes + lists.nbytes
    return CHUNK.pack(name, size, n_rows + unused) + offsets.tobytes() + lists.tobytes()
