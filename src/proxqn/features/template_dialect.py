"""What templates look like to different programs: the same lines, read in two ways.

========================  ==================================  =================================
                          ``CRFPP`` (the default)             ``WAPITI``
========================  ==================================  =================================
beyond the ends           ``_B-1``, ``_B-2``, … ``_B+1``, …   ``_x-1`` … ``_x-4``, ``_x-#``, …
``%t``, ``%m``, ``%X``    characters, Unicode's classes       bytes, ASCII's classes
comments                  lines that begin with ``#``         all from a ``#`` on
first letter              as written                          made small
========================  ==================================  =================================

Of a character beyond ASCII, ``WAPITI``'s ``%m`` may cut off some bytes, as the program does; such a
piece is text nevertheless, see `byte_text`.
"""

from __future__ import annotations

import re
from enum import Enum

from proxqn.features.byte_text import bytes_of, text_of
from proxqn.features.template_regex import WapitiRegex, compile_wapiti_regex

__all__ = ["Dialect"]

_FARTHEST = 4  # Wapiti counts so far
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class Dialect(Enum):
    """Whose templates they are."""

    CRFPP = "crfpp"
    WAPITI = "wapiti"

    def marker(self, position: int, length: int) -> str:
        """Stand-in for a token before the first or after the last.

        Examples
        --------
        >>> Dialect.CRFPP.marker(-1, 3), Dialect.CRFPP.marker(4, 3)
        ('_B-1', '_B+2')
        >>> Dialect.WAPITI.marker(-5, 3), Dialect.WAPITI.marker(4, 3)
        ('_x-#', '_x+2')
        """
        sign, distance = ("-", -position) if position < 0 else ("+", position - length + 1)
        if self is Dialect.CRFPP:
            return f"_B{sign}{distance}"
        return f"_x{sign}{distance if distance <= _FARTHEST else '#'}"

    def line(self, written: str) -> str:
        """Line of a template file without comments; empty where nothing is left."""
        if self is Dialect.CRFPP:
            stripped = written.strip()
            return "" if stripped.startswith("#") else stripped
        stripped = written.partition("#")[0].strip()
        return stripped[:1].lower() + stripped[1:]

    def regex(self, pattern: str) -> WapitiRegex:
        """Regular expression of a command; a bytewise one is for text of one character a byte."""
        if self is Dialect.CRFPP:
            return compile_wapiti_regex(pattern)
        return compile_wapiti_regex(_as_latin(pattern), ascii_only=True)

    def search(self, pattern: WapitiRegex | re.Pattern[str], text: str) -> str | None:
        """Text that a pattern matches; one of Python's own is in a pickle of version 0.1."""
        found = pattern.search(text if self is Dialect.CRFPP else _as_latin(text))
        if isinstance(found, re.Match):
            found = found[0]
        if found is None or self is Dialect.CRFPP:
            return found
        return text_of(found.encode("latin-1"))

    def lower(self, text: str) -> str:
        """Text in lower case."""
        return text.lower() if self is Dialect.CRFPP else text.translate(_LOWER)


def _as_latin(text: str) -> str:
    return text if text.isascii() else bytes_of(text).decode("latin-1")
