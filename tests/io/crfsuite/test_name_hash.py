"""The hash by which CRFsuite finds names: one written for one name, step by step, beside it."""

import numpy as np
import pytest

from proxqn.io.crfsuite.name_hash import hash_names

MASK = 0xFFFFFFFF


def one_by_one(key: bytes) -> int:
    """Return lookup3's ``hashlittle(key, 0)`` in whole numbers."""
    turn = lambda x, k: (x << k | x >> (32 - k)) & MASK  # noqa: E731
    a = b = c = (0xDEADBEEF + len(key)) & MASK
    while len(key) > 12:
        x, y, z = (int.from_bytes(key[i : i + 4], "little") for i in (0, 4, 8))
        a, b, c, key = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK, key[12:]
        for k1, k2, k3 in ((4, 6, 8), (16, 19, 4)):
            a = (a - c & MASK) ^ turn(c, k1)
            c = c + b & MASK
            b = (b - a & MASK) ^ turn(a, k2)
            a = a + c & MASK
            c = (c - b & MASK) ^ turn(b, k3)
            b = b + a & MASK
    x, y, z = (int.from_bytes(key[i : i + 4], "little") for i in (0, 4, 8))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    for k1, k2, k3 in ((14, 11, 25), (16, 4, 14)):
        c = (c ^ b) - turn(b, k1) & MASK
        a = (a ^ c) - turn(c, k2) & MASK
        b = (b ^ a) - turn(a, k3) & MASK
    return (c ^ b) - turn(b, 24) & MASK


def test_the_published_value():
    assert one_by_one(b"Four score and seven years ago") == 0x17770551


@pytest.mark.parametrize("n_names", [0, 1, 200])
def test_many_names_at_once_are_hashed_like_one(n_names):
    rng = np.random.default_rng(n_names)
    sizes = rng.integers(1, 60, n_names)
    data = rng.integers(0, 256, int(sizes.sum()) + 3).astype(np.uint8)
    starts = np.cumsum(sizes) - sizes
    expected = [one_by_one(data[a : a + n].tobytes()) for a, n in zip(starts, sizes, strict=True)]
    assert hash_names(data, starts, sizes).tolist() == expected
