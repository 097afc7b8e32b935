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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from proxqn.features.named_entries import NamedEntries

__all__ = ["Item", "entries_of_items", "expand_item"]

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


def entries_of_items(
    sequences: Sequence[Sequence[Item]], *, first_sequence: int = 0
) -> NamedEntries:
    """Features of all tokens of some sequences.

    Parameters
    ----------
    sequences : list of lists of items
    first_sequence : int, default=0
        Number of the first one, for messages.

    Raises
    ------
    ValueError
        For NaN or an infinity; sequence, position and feature are named.
    TypeError
        For a token or value that is none of the forms above.
    """
    table: dict[str, int] = {}
    codes: list[int] = []
    not_one: dict[int, float] = {}  # entry -> value, for the entries whose value is not 1
    row_sizes: list[int] = []
    for s, sequence in enumerate(sequences, first_sequence):
        for t, item in enumerate(sequence):
            before = len(codes)
            try:
                for name, value in expand_item(item):
                    if value != 1.0:
                        if value == 0.0:
                            continue
                        if not math.isfinite(value):
                            msg = f"feature {name!r} is {value}; expected a finite number"
                            raise ValueError(msg)
                        not_one[len(codes)] = value
                    codes.append(table.setdefault(name, len(table)))
            except (TypeError, ValueError) as error:
                msg = f"sequence {s}, position {t}: {error}"
                raise type(error)(msg) from None
            row_sizes.append(len(codes) - before)
    values = None
    if not_one:
        values = np.ones(len(codes))
        values[list(not_one)] = list(not_one.values())
    return NamedEntries(
        list(table), np.array(codes, np.int64), values, np.array(row_sizes, np.int64)
    )
