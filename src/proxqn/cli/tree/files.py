"""Files of a label tree on the command line: samples in SVMlight's lines, paths of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from proxqn.features.hierarchy import Hierarchy
from proxqn.io.container import ModelFileError
from proxqn.io.readers.record import DataFileError, numbered_lines, source_name
from proxqn.io.readers.svmlight import LabelledRows, read_svmlight


@final
@dataclass(frozen=True)
class TreeReading:
    """How a file of samples is read; stored with the model."""

    ignore: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the options, for the model file."""
        return {"format": "svmlight", "ignore": list(self.ignore)}

    @classmethod
    def from_json(cls, stored: dict[str, Any] | None) -> Self:
        """Return the options a model was trained with."""
        ignore = stored.get("ignore", []) if isinstance(stored, dict) else stored or []
        if not isinstance(ignore, list) or any(type(j) is not int for j in ignore):
            raise ModelFileError(f"features to ignore: expected whole numbers, got {ignore!r:.40}.")
        return cls(tuple(ignore))


def read_hierarchy(path: str) -> Hierarchy:
    """Read a file of paths, one a line."""
    lines = [line for _, line in numbered_lines(path) if line.strip()]
    if not lines:
        raise DataFileError(source_name(path), 0, "expected paths of names, one a line, got none")
    try:
        tree = Hierarchy.from_paths(lines)
    except ValueError as error:
        raise DataFileError(source_name(path), 0, str(error)) from None
    if tree.n_leaves < 2:
        raise DataFileError(source_name(path), 0, "expected two leaves or more to choose between")
    return tree


def read_labelled(
    path: str, reading: TreeReading, tree: Hierarchy | None, *, fit: bool = False
) -> LabelledRows:
    """Read samples that all have a label, a leaf of the tree where one is given."""
    rows = read_svmlight(path, ignore=reading.ignore)
    if not rows.labels:
        raise DataFileError(source_name(path), 0, "expected at least one sample, got none")
    for i, label in enumerate(rows.labels):
        if label is None:
            problem = f"sample {i + 1}: expected a label before the features"
            raise DataFileError(source_name(path), 0, problem)
    if tree is None and fit and len(set(rows.labels)) < 2:
        problem = f"expected two labels or more, got only {rows.labels[0]!r}"
        raise DataFileError(source_name(path), 0, problem)
    if tree is not None:
        try:
            tree.leaf_index(rows.labels)
        except ValueError as error:
            raise DataFileError(source_name(path), 0, str(error)) from None
    return rows


def fitted_columns(X: sp.csr_array, n_features: int) -> tuple[sp.csr_array, int]:
    """Bring new samples to the model's columns; also the number of entries left out."""
    seen = X.indices < n_features
    starts = np.concatenate([[0], np.cumsum(seen)])[X.indptr]
    parts: Any = (X.data[seen], X.indices[seen], starts)
    return sp.csr_array(parts, shape=(X.shape[0], n_features)), int((~seen).sum())
