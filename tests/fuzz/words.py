"""Changes to text, word by word: what a grammar is made of is what breaks its readers."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from random import Random

from tests.fuzz.damage import mutant

_WORDS = re.compile(rb'([^\t\n :,/\\"\[\]{}%()]+)')
_LARGEST = 200_000  # bytes of a mutant
COMMON = (
    b"", b"\0", b"a\0", b"\xff\xfe", b"\xef\xbb\xbf", "\u2028".encode(), "\x85".encode(), b"\x1c",
    "\u00a0".encode(), "e\u0301".encode(), b"\xed\xa0\x80", b"\r", b"\n", b"\n\n", b"\t", b"\t\t",
    b" ", b":", b"\\", b"\\\\", b"#", b"/", b",", b'"', b"0", b"-0", b"-1", b"1", b"2147483646",
    b"2147483647", b"4294967296", b"9223372036854775808", b"1e308", b"1e-320", b"1e999",
    b"-1e999", b"nan", b"inf", b"-Infinity", b"0x1p3", b"1_000", "\u0663".encode(), b"9" * 5000,
    b"a" * 70_000, b"x\t" * 3000, b"x " * 3000, b"x\n" * 3000,
)  # fmt: skip


def word_changer(*own: bytes) -> Callable[[bytes, Random], bytes]:
    """Return what makes mutants of text; ``own`` are the words of its grammar."""
    words = COMMON + own * (1 + len(COMMON) // max(1, len(own)))  # as often as the others

    def change(data: bytes, rng: Random) -> bytes:
        if rng.random() < 0.1:
            return mutant(data, rng)
        parts = _WORDS.split(data)
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            _change_words(parts, words, rng)
        text = b"".join(parts)[:_LARGEST]
        if rng.random() < 0.03:
            text = text.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b" \n")))
        if rng.random() < 0.05:
            packed = gzip.compress(text, 1, mtime=0)
            return packed if rng.random() < 0.3 else mutant(packed, rng)
        return text

    return change


def _change_words(parts: list[bytes], words: tuple[bytes, ...], rng: Random) -> None:
    at = rng.randrange(len(parts))
    change = rng.randrange(7)
    if change <= 1:
        parts[at] = rng.choice(words)
    elif change == 2:
        parts[at] += rng.choice(words)
    elif change == 3:
        parts[at] = rng.choice(parts)
    elif change == 4:
        stop = at + rng.choice((1, 2, 10))
        del parts[at:stop]
        parts += [b""] * (not parts)
    elif change == 5:
        stop = at + rng.choice((1, 2, 10))
        parts[at:at] = parts[at:stop]
    else:
        stop = at + rng.choice((2, 8))
        parts[at:at] = [b"".join(parts[at:stop])] * rng.choice((2, 50))
