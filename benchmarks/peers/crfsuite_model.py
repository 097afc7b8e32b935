"""CRFsuite's model file: exact weights, in our numbering.

python-crfsuite, sklearn-crfsuite, chaine and underthesea-core all write this format.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from numpy.typing import NDArray
from scipy import sparse

# A record of the model file's feature chunk (crf1d_model.c). The file is read beside
# Tagger.info() because the latter rounds weights to six decimals and so loses small ones.
FEATURE_RECORD = np.dtype([("kind", "<u4"), ("src", "<u4"), ("dst", "<u4"), ("weight", "<f8")])
OFFSET_FIELD = 28  # where the file's header keeps the offset of the feature chunk
CHUNK_HEADER = np.dtype([("name", "S4"), ("size", "<u4"), ("n", "<u4")])
STATE, TRANSITION = 0, 1  # kinds of feature


def read_weights(
    model_path: Path, n_labels: int, n_features: int
) -> tuple[sparse.csr_array[Any, tuple[int, int]], NDArray[np.float64]]:
    """Return label × feature and from × to weights, exact, in the caller's label order."""
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(model_path)):
        info = tagger.info()
    label_of = _names_by_id(info.labels)
    feature_of = _names_by_id(info.attributes)
    records = _read_records(model_path.read_bytes())
    state, bigram = records[records["kind"] == STATE], records[records["kind"] == TRANSITION]
    rows, columns = label_of[state["dst"]], feature_of[state["src"]]
    coef = sparse.coo_array((state["weight"], (rows, columns)), shape=(n_labels, n_features))
    transitions = np.zeros((n_labels, n_labels))
    transitions[label_of[bigram["src"]], label_of[bigram["dst"]]] = bigram["weight"]
    return coef.tocsr(), transitions


def _names_by_id(ids: Mapping[str, str]) -> NDArray[np.int64]:
    """Return our number (the name CRFsuite was given) at the place of CRFsuite's number."""
    numbers = np.zeros(len(ids), dtype=np.int64)
    for name, crfsuite_id in ids.items():
        numbers[int(crfsuite_id)] = int(name)
    return numbers


def _read_records(model: bytes) -> NDArray[np.void]:
    """Return the feature records (`FEATURE_RECORD`) of a model file."""
    offset = int(np.frombuffer(model, "<u4", count=1, offset=OFFSET_FIELD)[0])
    chunk = np.frombuffer(model, CHUNK_HEADER, count=1, offset=offset)[0]
    if chunk["name"] != b"FEAT":
        raise ValueError(f"expected the feature chunk 'FEAT' at {offset}, found {chunk['name']!r}")
    start = offset + CHUNK_HEADER.itemsize
    return np.frombuffer(model, FEATURE_RECORD, count=int(chunk["n"]), offset=start)
