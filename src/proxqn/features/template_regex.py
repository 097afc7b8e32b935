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
import math
import re
import sys
from dataclasses import dataclass, field
from itertools import groupby
from typing import final

__all__ = ["WapitiRegex", "compile_wapiti_regex"]


@final
@dataclass(frozen=True, slots=True)
class WapitiRegex:
    """A pattern of a ``%t`` or ``%m`` command.

    Python's ``re`` tries all ways to share a text among ``.*.*.*``, which a pattern made to harm
    turns into hours. So it is asked where there are few ways; elsewhere each pair of a part of the
    pattern and a place in the text is looked at once, to the same result.

    Attributes
    ----------
    text : str
        As written.
    flags : re.RegexFlag
        Of its classes.
    parts : tuple of (str, str)
        A class of characters, as Python writes it, and how often: ``""``, ``"*"`` or ``"?"``.
    at_start, at_end : bool
        Whether it is anchored there.
    """

    text: str
    flags: re.RegexFlag
    parts: tuple[tuple[str, str], ...] = field(repr=False, compare=False)
    at_start: bool = field(repr=False, compare=False)
    at_end: bool = field(repr=False, compare=False)
    _compiled: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _longest: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        often = {"*": "*?"}  # Wapiti takes the shortest match
        body = "".join(characters + often.get(times, times) for characters, times in self.parts)
        start, end = r"\A" * self.at_start, r"\Z" * self.at_end
        longest = self._longest_of_few_ways() if len(body) < _LARGE else -1.0
        compiled = None if longest < 0.0 else re.compile(f"{start}{body}{end}", self.flags)
        object.__setattr__(self, "_compiled", compiled)
        object.__setattr__(self, "_longest", longest)

    def search(self, text: str) -> str | None:
        """Return the first text that matches, None where there is none."""
        if self._compiled is None or len(text) > self._longest:
            return self.search_each_place_once(text)
        found = self._compiled.search(text)
        return None if found is None else found[0]

    def _longest_of_few_ways(self) -> float:
        """Return the size of text on which the pattern can be laid in few ways."""
        times = [often for _, often in self.parts]
        places = times.count("*") + (not self.at_start)  # each is anywhere in the text
        ways = _FEW_WAYS / 2.0 ** min(times.count("?"), 900)
        return ways ** (1.0 / places) - 1.0 if places else math.inf if ways >= 1.0 else -1.0

    def search_each_place_once(self, text: str) -> str | None:
        """Do the same in time proportional to the lengths of pattern and text."""
        n = len(text)
        # ends[p]: where the rest of the pattern ends if it begins at p; -1 where it does not match
        ends = [-1] * n + [n] if self.at_end else list(range(n + 1))
        for characters, often in reversed(self.parts):
            fits = bytearray(n)
            for found in _compiled_class(characters, self.flags).finditer(text):
                fits[found.start()] = True
            behind = [ends[p + 1] if fits[p] else -1 for p in range(n)]
            if often == "":
                ends = [*behind, -1]
            elif often == "?":  # with the character if it can be
                ends[:-1] = [b if b >= 0 else e for b, e in zip(behind, ends, strict=False)]
            else:  # as few as possible
                for p in range(n - 1, -1, -1):
                    if ends[p] < 0 and fits[p]:
                        ends[p] = ends[p + 1]
        for begin, end in enumerate(ends[:1] if self.at_start else ends):
            if end >= 0:
                return text[begin:end]
        return None


_FEW_WAYS = 1e5  # a millisecond or two
_LARGE = 300_000  # characters, of which one class may take 13,000: 50 milliseconds to compile


@functools.lru_cache(1000)
def _compiled_class(characters: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(characters, flags)


def compile_wapiti_regex(pattern: str, *, ascii_only: bool = False) -> WapitiRegex:
    r"""Read a pattern of a ``%t`` or ``%m`` command.

    Raises
    ------
    ValueError
        Where the pattern is not one; the message says why.

    Examples
    --------
    >>> compile_wapiti_regex(r"^\u\l*$").search("Paris")
    'Paris'
    >>> compile_wapiti_regex("^.?.?.?").search("Paris")
    'Par'
    """
    body = pattern.removeprefix("^")
    at_end = body.endswith("$") and not _is_escaped(body, len(body) - 1)
    body = body[:-1] if at_end else body
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(body):
        one, at = _one_character(body, at, ascii_only=ascii_only)
        often = body[at : at + 1] if body[at : at + 1] in ("*", "?") else ""
        parts.append((one, often))
        at += len(often)
    flags = re.DOTALL | (re.ASCII if ascii_only else re.NOFLAG)
    return WapitiRegex(pattern, flags, tuple(parts), pattern.startswith("^"), at_end)


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
