"""The pieces models are made of, as arrays and JSON and back; what comes back is checked.

A checksum tells damage, not malice: a file may have been made to mislead. So every number that
will index memory or be obeyed is checked here, before anything of its size is made, and what does
not fit is a :class:`ModelFileError`. What could not be read again is not written.
"""

from __future__ import annotations

import math
import re
import sys
from itertools import pairwise
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.vocabulary import Vocabulary
from proxqn.io.container import Arrays, ModelFileError

LARGEST: Final = 1e100
"""Weights are no larger in size: sums of their products with features are then finite."""
MOST: Final = 1 << 48
"""Columns, iterations, parameters: numbers of things are no larger."""

_SCALARS = (str, bool, int, float)
_LABEL_TYPE = re.compile(r"[<|>]?(?:U\d{1,9}|[ui][1248]|f[248]|b1|O)")


def pack_matrix(name: str, matrix: Any, *, full: bool = False) -> dict[str, NDArray[Any]]:
    """Return the nonzero entries of a matrix, dense or sparse, row by row; ``full`` with the zeros.

    Examples
    --------
    >>> {k: v.tolist() for k, v in pack_matrix("w", np.array([[0.0, 2.0], [0.0, 0.0]])).items()}
    {'w.starts': [0, 1, 1], 'w.columns': [1], 'w.values': [2.0]}
    """
    rows = _with_zeros(matrix) if full else sp.csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    if not full:
        rows.eliminate_zeros()
    if not are_weights(rows.data):
        raise ValueError(
            f"{name} has a weight that is not finite, or beyond {LARGEST:g}; such a model cannot "
            "be stored. Scale the features and train again."
        )
    return {
        f"{name}.starts": rows.indptr.astype(np.int64),
        f"{name}.columns": rows.indices.astype(smallest_type(rows.shape[1])),
        f"{name}.values": rows.data,
    }


def _with_zeros(matrix: Any) -> sp.csr_array:
    height, width = matrix.shape
    parts: Any = (
        np.asarray(matrix, np.float64).ravel(),
        np.tile(np.arange(width), height),
        np.arange(height + 1) * width,
    )
    return sp.csr_array(parts, shape=matrix.shape)


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
    if not good or not are_weights(values):
        raise ModelFileError(f"{name}: expected finite entries of {shape[0]} rows.")
    if n_entries and not (columns.max() < shape[1] and columns.min() >= 0):
        raise ModelFileError(f"{name}: a column lies outside 0 to {shape[1] - 1}.")
    kind = np.int32 if max(n_entries, shape[1]) < 2**31 else np.int64
    parts: Any = (values.copy(), columns.astype(kind), starts.astype(kind))  # writable again
    matrix = sp.csr_array(parts, shape=shape)
    if not matrix.has_canonical_format:
        raise ModelFileError(f"{name}: expected ascending columns in each row.")
    matrix.eliminate_zeros()
    return matrix


_PARTS = ("starts", "columns", "values")


def are_weights(values: NDArray[Any]) -> bool:
    """Whether all are finite and of a size that weights have."""
    return not len(values) or bool(values.min() >= -LARGEST and values.max() <= LARGEST)


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
    if len(counts) != len(sizes):
        raise ModelFileError(f"{name}: expected as many counts as sizes.")
    # Added up as floats as well: whole numbers made to mislead come round to where they began.
    if sizes.sum(dtype=np.float64) != len(text) or counts.max(initial=0) > MOST:
        raise ModelFileError(f"{name}: expected sizes that sum to {len(text)}, that of the text.")
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    try:
        vocabulary = Vocabulary(text, offsets, counts.astype(np.int64))
        _ = vocabulary.index  # refuses a name given twice
    except ValueError as error:
        raise ModelFileError(f"{name}: {error}.") from None
    return vocabulary


def pack_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON, with their NumPy type."""
    values = labels.tolist()
    if labels.dtype.kind not in "UiufbO" or not all(isinstance(v, _SCALARS) for v in values):
        raise TypeError(
            f"labels of type {labels.dtype} cannot be stored; expected text or numbers. Convert "
            "them before fitting."
        )
    return {"type": labels.dtype.str, "values": values}


def unpack_labels(packed: Any, limit: int) -> NDArray[Any]:
    """Return the labels with their type: distinct, in order, and in at most ``limit`` bytes."""
    try:
        text, values = packed["type"], packed["values"]
        if not isinstance(values, list) or not _LABEL_TYPE.fullmatch(text):
            raise TypeError
        kind = np.dtype(text)
        if fits := kind.itemsize * len(values) <= limit:
            labels = np.empty(len(values), dtype=kind)
            labels[:] = values
            kept = labels.tolist() == values and all(isinstance(v, _SCALARS) for v in values)
            in_order = bool(values) and _are_in_order(values)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelFileError("the labels are not a list of texts or numbers.") from None
    if not fits:
        raise ModelFileError(f"labels of type {text}: no file of this size needs so much memory.")
    if not (kept and in_order):
        raise ModelFileError("the labels are not distinct texts or numbers in ascending order.")
    return labels


def _are_in_order(values: list[Any]) -> bool:
    try:
        return all(a < b for a, b in pairwise(values))
    except TypeError:  # text beside numbers, as leaves of a tree may be, has no order
        return len(set(values)) == len(values)


def pack_number(value: Any) -> float | int | None:
    """Return a number for JSON, which has no infinities: None for those."""
    number = value.item() if isinstance(value, np.generic) else value
    return number if math.isfinite(number) else None


def unpack_number(name: str, value: Any, *, unknown: float = math.inf) -> float:
    """Return a finite number, and ``unknown`` for None, as in an unknown gap."""
    if value is None:
        return unknown
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise ModelFileError(f"{name}: expected a finite number, got {value!r:.40}.")
    return float(value)


def unpack_count(name: str, value: Any) -> int:
    """Return a whole number of things, 0 or above; JSON has others, and ``True``."""
    if type(value) is not int or not 0 <= value <= MOST:
        raise ModelFileError(f"{name}: expected a whole number, 0 or above, got {value!r:.40}.")
    return value


def take(arrays: Arrays, name: str) -> NDArray[Any]:
    """Return a one-dimensional array of the file."""
    if name not in arrays or arrays[name].ndim != 1:
        raise ModelFileError(f"the array {name!r} is missing from the file.")
    return arrays[name]


def smallest_type(limit: int) -> Any:
    """Return the smallest unsigned type that holds numbers below ``limit``."""
    return np.min_scalar_type(max(limit - 1, 0))
