"""Bytes of any kind as text, without loss: for programs that know bytes and no characters.

What is UTF-8 becomes the text it is. Every other byte becomes a character of its own at the end of
a private-use area, U+10FF80 for 0x80 up to U+10FFFF for 0xFF, which is UTF-8 again, as names of
features must be. Texts that hold such a character are taken apart into bytes themselves, so that no
two byte strings have one text.
"""

from __future__ import annotations

import re

__all__ = ["bytes_of", "text_of"]

_FIRST = 0x10FF00  # + the byte
_ESCAPES = re.compile(f"[{chr(_FIRST + 0x80)}-{chr(_FIRST + 0xFF)}]")
_SURROGATES = re.compile("[\udc80-\udcff]")  # as Python's error handler has them
_LEADS = b"\xf4\x8f\xbe", b"\xf4\x8f\xbf"  # how the escapes' own UTF-8 begins


def text_of(raw: bytes) -> str:
    r"""Return bytes as text.

    Examples
    --------
    >>> text_of("né".encode()), ascii(text_of("né".encode()[:2])), ascii(text_of(b"\xa4"))
    ('né', "'n\\U0010ffc3'", "'\\U0010ffa4'")
    """
    if raw.isascii():
        return raw.decode("ascii")
    if any(lead in raw for lead in _LEADS):
        return "".join(chr(_FIRST + byte) if byte >= 0x80 else chr(byte) for byte in raw)
    text = raw.decode(errors="surrogateescape")
    return _SURROGATES.sub(lambda found: chr(_FIRST + ord(found[0]) - 0xDC00), text)


def bytes_of(text: str) -> bytes:
    r"""Return the bytes that a text stands for.

    Examples
    --------
    >>> samples = b"a", b"\xc3\xa9", b"\xc3", b"\xf4\x8f\xbf\xbf", b"\xc3\xa9\xf4\x8f\xbf\xbf"
    >>> all(bytes_of(text_of(raw)) == raw for raw in samples)
    True
    """
    if text.isascii():
        return text.encode("ascii")
    escaped = _ESCAPES.sub(lambda found: chr(0xDC00 + ord(found[0]) - _FIRST), text)
    return escaped.encode(errors="surrogateescape")
