"""Arrays that begin on a cache line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def aligned_zeros(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that start on a cache line, so that no vector load crosses two."""
    return _from_line(np.zeros(_with_room(shape, dtype), dtype), shape)


def aligned_empty(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return the same without the zeros, for what is written as a whole."""
    return _from_line(np.empty(_with_room(shape, dtype), dtype), shape)


def _with_room(shape: tuple[int, int], dtype: DTypeLike) -> int:
    return shape[0] * shape[1] + 64 // np.dtype(dtype).itemsize


def _from_line(raw: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    offset = -raw.ctypes.data % 64 // raw.itemsize
    return raw[offset : offset + shape[0] * shape[1]].reshape(shape)
