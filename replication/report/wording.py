"""Numbers and lists as a reader expects them in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def listed(items: Sequence[str]) -> str:
    """Join items as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else "".join(items)


def seconds_text(seconds: float) -> str:
    """Write a time with three digits.

    >>> seconds_text(0.01234), seconds_text(2.678), seconds_text(123.4)
    ('0.0123 s', '2.68 s', '123 s')
    """
    return f"{number(seconds)} s"


def number(value: float) -> str:
    """Write a number with three digits and no exponent.

    >>> number(1234.5), number(93.52), number(0.5)
    ('1,234', '93.5', '0.5')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if abs(value) >= 1 else f"{value:.3g}"


def times_text(ratio: float) -> str:
    """Write a ratio.

    >>> times_text(3.71), times_text(123.4)
    ('3.7 times', '123 times')
    """
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.031), percent(0.1), percent(0.0004)
    ('3 %', '10 %', '0.04 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{100 * share:.2g} %"


def level_text(level: float) -> str:
    """Write a power of ten.

    >>> level_text(1e-3), level_text(0.1)
    ('10⁻³', '10⁻¹')
    """
    return "10" + f"{round(math.log10(level))}".translate(_RAISED)


def small(value: float) -> str:
    """Write a relative error with two digits.

    >>> small(0.00032), small(0.0), small(0.14)
    ('3.2·10⁻⁴', '0', '0.14')
    """
    if value == 0 or abs(value) >= 0.01:
        return f"{value:.2g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}"


def span(levels: Sequence[float], all_levels: Sequence[float]) -> str:
    """Name levels, those in a row by their ends.

    >>> span([0.1, 0.01, 0.001], [0.1, 0.01, 0.001, 0.0001])
    'every level from 10⁻¹ to 10⁻³'
    >>> span([0.1, 0.001], [0.1, 0.01, 0.001, 0.0001])
    '10⁻¹ and 10⁻³'
    """
    first = list(all_levels).index(levels[0])
    if len(levels) > 2 and list(levels) == list(all_levels[first : first + len(levels)]):
        return f"every level from {level_text(levels[0])} to {level_text(levels[-1])}"
    return listed([level_text(level) for level in levels])


def count(value: float) -> str:
    """Write passes: whole ones, or to a tenth.

    >>> count(5.5), count(18.0), count(1234.25)
    ('5.5', '18', '1,234')
    """
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.1f}"


def lowered(text: str) -> str:
    """Write the first letter small, unless the word is an abbreviation.

    >>> lowered("Generated documents"), lowered("LSHTC1 Task1")
    ('generated documents', 'LSHTC1 Task1')
    """
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def memory(size: int | None) -> str:
    """Write a size in memory.

    >>> memory(359_000_000), memory(2_100_000_000), memory(None)
    ('359 MB', '2.1 GB', '')
    """
    if size is None:
        return ""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
