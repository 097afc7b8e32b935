r"""Wapiti's small regular-expression dialect, translated to Python's.

====  =====================================================================================
``.``  any character
``\d``  digit; ``\a`` letter; ``\w`` letter or digit; ``\l`` lower case; ``\u`` upper case;
        ``\p`` punctuation; ``\s`` space; the upper-case letter is the complement
``\x``  any other character stands for itself, as does every character not listed here
``^``  at the very start: anchors there; ``$`` at the very end: anchors there
``*``  any number of the character before it, **as few as possible**; ``?`` one or none
====  =====================================================================================

So ``[``, ``(``, ``+`` and ``|`` are ordinary characters.  Wapiti looks at bytes; here the
classes know Unicode letters, and ``.`` is a whole character.  With ``ascii_only`` the classes know
ASCII's letters alone, so that text of one character a byte is matched as Wapiti does it.
"""

from __future__ import annotations

import functools
import re
import sys
from itertools import groupby

__all__ = ["compile_wapiti_regex"]


def compile_wapiti_regex(pattern: str, *, ascii_only: bool = False) -> re.Pattern[str]:
    r"""Compile a pattern of a ``%t`` or ``%m`` command.

    Raises
    ------
    ValueError
        Where the pattern is not one; the message says why.

    Examples
    --------
    >>> compile_wapiti_regex(r"^\u\l*$").search("Paris") is not None
    True
    >>> compile_wapiti_regex("^.?.?.?").search("Paris").group()
    'Par'
    """
    body = pattern.removeprefix("^")
    anchored_end = body.endswith("$") and not _is_escaped(body, len(body) - 1)
    body = body[:-1] if anchored_end else body
    parts = [r"\A"] if pattern.startswith("^") else []
    at = 0
    while at < len(body):
        one, at = _one_character(body, at, ascii_only=ascii_only)
        if body[at : at + 1] == "*":
            one, at = one + "*?", at + 1  # Wapiti takes the shortest match
        elif body[at : at + 1] == "?":
            one, at = one + "?", at + 1
        parts.append(one)
    if anchored_end:
        parts.append(r"\Z")
    return re.compile("".join(parts), re.DOTALL | (re.ASCII if ascii_only else re.NOFLAG))


def _is_escaped(text: str, at: int) -> bool:
    backslashes = len(text[:at]) - len(text[:at].rstrip("\\"))
    return backslashes % 2 == 1


def _one_character(body: str, at: int, *, ascii_only: bool) -> tuple[str, int]:
    """Python's form of the single-character matcher at a place, and the place after it."""
    character = body[at]
    if character in "*?":
        msg = f"nothing before {character!r} to repeat; write \\{character} to match it"
        raise ValueError(msg)
    if character == ".":
        return ".", at + 1
    if character != "\\":
        return re.escape(character), at + 1
    if at + 1 == len(body):
        msg = "a lone backslash at the end; write \\\\ to match one"
        raise ValueError(msg)
    return _escaped(body[at + 1], ascii_only=ascii_only), at + 2


def _escaped(letter: str, *, ascii_only: bool) -> str:
    members = {
        "a": r"[^\W\d_]",
        "d": r"\d",
        "s": r"\s",
        "w": r"[^\W_]",
        "p": r"[!-/:-@\[-`{-~]" if ascii_only else r"(?:[^\w\s]|_)",
        "A": r"[\W\d_]",
        "D": r"\D",
        "S": r"\S",
        "W": r"[\W_]",
        "P": r"[^!-/:-@\[-`{-~]" if ascii_only else r"(?:[^\W_]|\s)",
    }
    if letter in "luLU":
        negation = "^" if letter.isupper() else ""
        if ascii_only:
            return f"[{negation}{'a-z' if letter.lower() == 'l' else 'A-Z'}]"
        return f"[{negation}{_cased_ranges(letter.lower())}]"
    return members.get(letter, re.escape(letter))


@functools.cache
def _cased_ranges(which: str) -> str:
    """All lower- ('l') or upper-case ('u') characters as the ranges of a character class."""
    test = str.islower if which == "l" else str.isupper
    cased = [code for code in range(sys.maxunicode + 1) if test(chr(code))]
    runs = (
        [code for _, code in run]
        for _, run in groupby(enumerate(cased), key=lambda pair: pair[1] - pair[0])
    )
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
