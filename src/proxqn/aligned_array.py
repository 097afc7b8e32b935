"""Arrays that begin on a cache line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def aligned_zeros(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that start on a cache line, so that no vector load crosses two."""
    return _from_line(np.zeros, shape, dtype)


def aligned_empty(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return the same without the zeros, for what is written as a whole."""
    return _from_line(np.empty, shape, dtype)


def _from_line(make: Any, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
    size = shape[0] * shape[1]
    raw = make(size + 64 // np.dtype(dtype).itemsize, dtype)
    offset = -raw.ctypes.data % 64 // raw.itemsize
    found: NDArray[Any] = raw[offset : offset + size].reshape(shape)
    return found
