"""Arrays that begin on a cache line."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def aligned_zeros(shape: tuple[int, int], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return zeros that start on a cache line, so that no vector load crosses two."""
    size, line = shape[0] * shape[1], 64 // np.dtype(dtype).itemsize
    raw = np.zeros(size + line, dtype)
    offset = (-raw.ctypes.data // raw.itemsize) % line
    return raw[offset : offset + size].reshape(shape)
