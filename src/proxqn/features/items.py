"""Tokens described by dictionaries, lists or single strings, expanded as python-crfsuite does.

==================================  ==========================================
a token                             its features
==================================  ==========================================
``{"word": "dog", "n": 2.5}``       ``word:dog`` = 1, ``n`` = 2.5
``{"title": True, "digit": False}`` ``title`` = 1 (zeros are left out)
``{"w": {"x": 1, "y": ["u"]}}``     ``w:x`` = 1, ``w:y:u`` = 1
``["a", "b"]``                      ``a`` = 1, ``b`` = 1
``"dog"``                           ``dog`` = 1
==================================  ==========================================

A name that occurs twice in a token counts twice, as in CRFsuite's own sums.  Two things differ
on purpose: a token that is a plain string is one feature (python-crfsuite takes its letters), and
sets are read in sorted order, so that the columns do not depend on the hash seed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.name_index import plain_texts
from proxqn.features.named_entries import FoundEntries

__all__ = ["Item", "expand_item", "rows_of_items"]

# NumPy's numbers, which are read as quickly as Python's: all that `float` takes without a word.
_NUMBERS = tuple({np.dtype(code).type for code in "?bhilqBHILQefdg"})

Item = Mapping[Any, Any] | Iterable[Any] | str
"""One token: see the table above."""


def expand_item(item: object) -> Iterator[tuple[str, float]]:
    """Give the features of one token and their values, zeros included.

    Examples
    --------
    >>> dict(expand_item({"word": "dog", "shape": {"title": False, "suffix": ["g", "og"]}}))
    {'word:dog': 1.0, 'shape:title': 0.0, 'shape:suffix:g': 1.0, 'shape:suffix:og': 1.0}
    """
    if isinstance(item, Mapping):
        for key, value in item.items():
            name = _text(key)
            if isinstance(value, str | bytes):
                yield f"{name}:{_text(value)}", 1.0
            elif isinstance(value, Mapping | list | set | frozenset):
                for inner, number in expand_item(value):
                    yield f"{name}:{inner}", number
            else:
                yield name, _number(value, name)
    elif isinstance(item, str | bytes):
        yield _text(item), 1.0
    elif isinstance(item, Iterable):
        for name in sorted(item) if isinstance(item, set | frozenset) else item:
            yield _text(name), 1.0
    else:
        msg = f"expected a token as a dict, a list of strings or a string, got {_shown(item)}"
        raise TypeError(msg)


def _text(name: object) -> str:
    if isinstance(name, str):
        return name
    if isinstance(name, bytes):
        return name.decode()
    msg = f"expected a feature name to be a string, got {_shown(name)}"
    raise TypeError(msg)


def _number(value: object, name: str) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        msg = (
            f"feature {name!r}: expected a string, a bool, a number, or a dict, list or set of "
            f"them, got {_shown(value)}"
        )
        raise TypeError(msg) from None


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def rows_of_items(
    names: _kernels.NameColumns, sequences: Sequence[Sequence[Item]], *, first_sequence: int = 0
) -> FoundEntries:
    """Read the features of all tokens of some sequences into rows of columns.

    The usual forms are read by ``cpp/names/python_tokens.hpp``: tokens as plain dicts, lists,
    tuples and strings, values as strings, numbers, and dicts and lists of them. A token with
    anything else is spelt out by `expand_item`, which says what all of them mean, or what is wrong.

    Parameters
    ----------
    names : _kernels.Names or _kernels.GrowingNames
        Known names, or those of a vocabulary that takes up new ones.
    sequences : list of lists of items
    first_sequence : int, default=0
        Number of the first one, for messages.

    Raises
    ------
    ValueError
        For NaN or an infinity; sequence, position and feature are named.
    TypeError
        For a token or value that is none of the forms above.

    Examples
    --------
    >>> names = _kernels.GrowingNames()
    >>> found = rows_of_items(names, [[{"word": "dog", "len": 3}, ["len"]], ["word:dog"]])
    >>> found.columns.tolist(), found.values.tolist(), found.start.tolist()
    ([0, 1, 1, 0], [1.0, 3.0, 1.0, 1.0], [0, 2, 3, 4])
    """
    tokens = list(chain.from_iterable(sequences))
    rows = _kernels.TokenRows(names, numbers=_NUMBERS)
    n_read = rows.read(tokens, 0)
    while n_read < len(tokens):
        try:
            spelt, values = _nonzero_entries(tokens[n_read])
        except (TypeError, ValueError) as error:
            msg = f"{_place(sequences, n_read, first_sequence)}: {error}"
            raise type(error)(msg) from None
        if not rows.add(spelt, values):
            rows.add(plain_texts(spelt), values)
        n_read = rows.read(tokens, n_read + 1)
    return FoundEntries(*rows.arrays())


def _nonzero_entries(item: object) -> tuple[list[str], NDArray[np.float64]]:
    names, values = [], []
    for name, value in expand_item(item):
        if not math.isfinite(value):
            msg = f"feature {name!r} is {value}; expected a finite number"
            raise ValueError(msg)
        if value != 0.0:
            names.append(name)
            values.append(value)
    return names, np.array(values, np.float64)


def _place(sequences: Sequence[Sequence[Item]], token: int, first_sequence: int) -> str:
    """Say where a token stands."""
    ends = list(accumulate(map(len, sequences)))
    s = bisect_right(ends, token)
    return f"sequence {first_sequence + s}, position {token - (ends[s - 1] if s else 0)}"
