"""The pieces models are made of, as arrays and JSON and back; what comes back is checked.

A checksum tells damage, not malice: a file may have been made to mislead. So every number that
will index memory is checked here, and what does not fit is a :class:`ModelFileError`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.container import Arrays, ModelFileError

_SCALARS = (str, bool, int, float)


def pack_matrix(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """Return the nonzero entries of a matrix, dense or sparse, row by row.

    Examples
    --------
    >>> {k: v.tolist() for k, v in pack_matrix("w", np.array([[0.0, 2.0], [0.0, 0.0]])).items()}
    {'w.starts': [0, 1, 1], 'w.columns': [1], 'w.values': [2.0]}
    """
    rows = sp.csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return {
        f"{name}.starts": rows.indptr.astype(np.int64),
        f"{name}.columns": rows.indices.astype(smallest_type(rows.shape[1])),
        f"{name}.values": rows.data,
    }


def unpack_matrix(name: str, arrays: Arrays, shape: tuple[int, int]) -> sp.csr_array:
    """Return the matrix of this shape; refuse entries outside it and values that are no numbers."""
    starts, columns, values = (take(arrays, f"{name}.{part}") for part in _PARTS)
    if (
        starts.dtype.kind not in "iu"
        or columns.dtype.kind not in "iu"
        or values.dtype != np.float64
    ):
        raise ModelFileError(f"{name}: the arrays have types that no model has.")
    n_entries = len(values)
    good = (
        len(starts) == shape[0] + 1
        and len(columns) == n_entries
        and starts[0] == 0
        and starts[-1] == n_entries
        and bool((starts[1:] >= starts[:-1]).all())
    )
    if not good or not np.isfinite(values).all():
        raise ModelFileError(f"{name}: expected finite entries of {shape[0]} rows.")
    if n_entries and not (columns.max() < shape[1] and columns.min() >= 0):
        raise ModelFileError(f"{name}: a column lies outside 0 to {shape[1] - 1}.")
    kind = np.int32 if max(n_entries, shape[1]) < 2**31 else np.int64
    parts: Any = (values.copy(), columns.astype(kind), starts.astype(kind))  # writable again
    matrix = sp.csr_array(parts, shape=shape)
    if not matrix.has_canonical_format:
        raise ModelFileError(f"{name}: expected ascending columns in each row.")
    return matrix


_PARTS = ("starts", "columns", "values")


def pack_names(name: str, vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    """Return a vocabulary's names as one block of bytes, their sizes, and their counts."""
    blob, offsets, counts = vocabulary.to_arrays()
    sizes = np.diff(offsets)
    return {
        f"{name}.text": blob,
        f"{name}.sizes": sizes.astype(smallest_type(int(sizes.max(initial=0)) + 1)),
        f"{name}.counts": counts.astype(smallest_type(int(counts.max(initial=0)) + 1)),
    }


def unpack_names(name: str, arrays: Arrays) -> Vocabulary:
    """Return the vocabulary; its own checks refuse what is not UTF-8 text."""
    text, sizes, counts = (take(arrays, f"{name}.{part}") for part in ("text", "sizes", "counts"))
    if text.dtype != np.uint8 or sizes.dtype.kind != "u" or counts.dtype.kind != "u":
        raise ModelFileError(f"{name}: the arrays have types that no vocabulary has.")
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    try:
        return Vocabulary(text, offsets, counts.astype(np.int64))
    except ValueError as error:
        raise ModelFileError(f"{name}: {error}.") from None


def pack_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON, with their NumPy type."""
    values = labels.tolist()
    if labels.dtype.kind not in "UiufbO" or not all(isinstance(v, _SCALARS) for v in values):
        raise TypeError(
            f"labels of type {labels.dtype} cannot be stored; expected text or numbers. Convert "
            "them before fitting."
        )
    return {"type": labels.dtype.str, "values": values}


def unpack_labels(packed: Any) -> NDArray[Any]:
    """Return the labels with the type they had."""
    try:
        kind, values = np.dtype(packed["type"]), list(packed["values"])
        if kind.kind not in "UiufbO":
            raise TypeError
        labels = np.empty(len(values), dtype=kind)
        labels[:] = values
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelFileError("the labels are not a list of texts or numbers.") from None
    if not all(isinstance(v, _SCALARS) for v in values) or len(set(values)) != len(values):
        raise ModelFileError("the labels are not distinct texts or numbers.")
    return labels


def pack_number(value: Any) -> float | int | None:
    """Return a number for JSON, which has no infinities: None for those."""
    number = value.item() if isinstance(value, np.generic) else value
    return number if math.isfinite(number) else None


def unpack_number(value: Any) -> float:
    """Return the number; infinity for None, as in an unknown gap."""
    return math.inf if value is None else float(value)


def take(arrays: Arrays, name: str) -> NDArray[Any]:
    """Return a one-dimensional array of the file."""
    if name not in arrays or arrays[name].ndim != 1:
        raise ModelFileError(f"the array {name!r} is missing from the file.")
    return arrays[name]


def smallest_type(limit: int) -> Any:
    """Return the smallest unsigned type that holds numbers below ``limit``."""
    return np.min_scalar_type(max(limit - 1, 0))
