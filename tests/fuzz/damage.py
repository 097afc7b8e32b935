"""Damage to bytes, of the kinds that break readers."""

from __future__ import annotations

import struct
from random import Random

WORDS = (0, 1, 2, 3, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)


def mutant(data: bytes, rng: Random) -> bytes:
    """Return a copy with one to four changes."""
    copy = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        rng.choice(CHANGES)(copy, rng)
    return bytes(copy)


def _flip_bit(copy: bytearray, rng: Random) -> None:
    if copy:
        copy[rng.randrange(len(copy))] ^= 1 << rng.randrange(8)


def _set_byte(copy: bytearray, rng: Random) -> None:
    if copy:
        copy[rng.randrange(len(copy))] = rng.randrange(256)


def _set_word(copy: bytearray, rng: Random) -> None:
    """Replace a number, mostly one of the first: those are sizes, counts and offsets."""
    if len(copy) >= 4:
        last = min(len(copy), rng.choice([48, len(copy)])) - 4
        at = rng.randrange(last + 1) // 4 * 4
        near = struct.unpack_from("<I", copy, at)[0] + rng.randrange(-9, 10)
        words = (*WORDS, len(copy), near, rng.randrange(2**32))
        struct.pack_into("<I", copy, at, rng.choice(words) % 2**32)


def _cut(copy: bytearray, rng: Random) -> None:
    del copy[rng.randrange(len(copy) + 1) :]


def _grow(copy: bytearray, rng: Random) -> None:
    copy += rng.randbytes(rng.randrange(1, 40))


def _move(copy: bytearray, rng: Random) -> None:
    """Copy a stretch to another place."""
    size = rng.randrange(1, 41)
    if len(copy) > size:
        a, b = rng.randrange(len(copy) - size), rng.randrange(len(copy) - size)
        copy[b : b + size] = copy[a : a + size]


def _remove(copy: bytearray, rng: Random) -> None:
    at = rng.randrange(len(copy) + 1)
    del copy[at : at + rng.randrange(1, 41)]


CHANGES = (_flip_bit, _flip_bit, _set_byte, _set_word, _set_word, _cut, _grow, _move, _remove)
