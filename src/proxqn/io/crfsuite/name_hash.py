"""Bob Jenkins's hash of 2006 (``lookup3``, in the public domain), of many names at once.

CRFsuite finds names by it. Twelve bytes are taken in at a time, as three numbers of 32 bits, the
last of them filled up with zeros.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_SEED: Final = 0xDEADBEEF
_BLOCK: Final = 12

Words = NDArray[np.uint32]


def hash_names(
    data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Words:
    """Return the hash of each stretch ``data[start:start + size]``, of one byte at least.

    Examples
    --------
    >>> text = np.frombuffer(b"Four score and seven years ago", np.uint8)
    >>> hex(hash_names(text, np.array([0]), np.array([30]))[0])
    '0x17770551'
    """
    state = np.repeat((_SEED + sizes).astype(np.uint32)[None, :], 3, axis=0)
    rows, place = np.arange(len(starts)), np.arange(_BLOCK)
    for done in range(0, int(sizes.max(initial=0)), _BLOCK):
        left = sizes[rows] - done
        at = np.minimum(starts[rows, None] + done + place, len(data) - 1)
        block = np.where(place < left[:, None], data[at], np.uint8(0))
        state[:, rows] += np.ascontiguousarray(block).view("<u4").T
        ends = left <= _BLOCK
        state[2, rows[ends]] = _final(*state[:, rows[ends]])
        rows = rows[~ends]
        state[:, rows] = _mixed(*state[:, rows])
    hashes: Words = state[2]
    return hashes


def _turned(word: Words, by: int) -> Words:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


def _mixed(*words: Words) -> tuple[Words, Words, Words]:
    a, b, c = words
    for first, second, third in ((4, 6, 8), (16, 19, 4)):
        a = (a - c) ^ _turned(c, first)
        c = c + b
        b = (b - a) ^ _turned(a, second)
        a = a + c
        c = (c - b) ^ _turned(b, third)
        b = b + a
    return a, b, c


def _final(*words: Words) -> Words:
    a, b, c = words
    for first, second, third in ((14, 11, 25), (16, 4, 14)):
        c = (c ^ b) - _turned(b, first)
        a = (a ^ c) - _turned(c, second)
        b = (b ^ a) - _turned(a, third)
    return (c ^ b) - _turned(b, 24)
