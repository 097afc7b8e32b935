"""Tokens as pycrfsuite takes them, spelled out as named attributes with values.

========================================  ===========================================
a token                                   its attributes
========================================  ===========================================
``{"word": "dog", "n": 2.5}``             ``word:dog`` = 1, ``n`` = 2.5
``{"title": True, "digit": False}``       ``title`` = 1, ``digit`` = 0
``{"w": {"x": 1, "y": ["u"]}}``           ``w:x`` = 1, ``w:y:u`` = 1
``["a", "b"]``, or what else is iterable  ``a`` = 1, ``b`` = 1
``"dog"``                                 ``d`` = 1, ``o`` = 1, ``g`` = 1
========================================  ===========================================

Not `proxqn.features.items`, which takes a string as one feature and leaves zeros out: an attribute
whose value is zero was observed with its label all the same, and CRFsuite gives the pair a weight.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from operator import index
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn import _kernels
from proxqn.features.name_index import plain_texts
from proxqn.features.vocabulary import Vocabulary

__all__ = ["AttributeTable", "attributes_of", "spell"]


def attributes_of(sequence: Iterable[Any]) -> Iterator[tuple[list[str], list[float]]]:
    """Yield names and values of the attributes of each token.

    Examples
    --------
    >>> list(attributes_of([{"w": "dog", "shape": {"title": False, "end": ["g", "og"]}}, "ab"]))
    [(['w:dog', 'shape:title', 'shape:end:g', 'shape:end:og'], [1.0, False, 1.0, 1.0]), \
(['a', 'b'], [1.0, 1.0])]
    """
    for token in sequence:
        names: list[str] = []
        values: list[float] = []
        spell(token, "", names, values)
        yield names, values


def spell(token: Any, prefix: str, names: list[str], values: list[float]) -> None:
    """Add the attributes of a token, or of what a dict holds for a name, to both lists."""
    if not isinstance(token, dict):
        keys = [key if type(key) is str else _text(key) for key in _ordered(token)]
        names += [prefix + key for key in keys] if prefix else keys
        values += [1.0] * len(keys)
        return
    for key, value in token.items():
        name = prefix + (key if type(key) is str else _text(key))
        kind = type(value)
        if kind is str:
            names.append(f"{name}:{value}")
            values.append(1.0)
        elif kind is bool or kind is float:
            names.append(name)
            values.append(value)
        elif isinstance(value, dict | list | set):
            spell(value, name + ":", names, values)
        elif isinstance(value, str | bytes):
            names.append(f"{name}:{_text(value)}")
            values.append(1.0)
        else:
            names.append(name)
            values.append(_number(value, name))


def _ordered(token: Any) -> Iterable[Any]:
    """Return a set sorted, so that attributes are numbered alike in every run."""
    if isinstance(token, bytes | bytearray) or not isinstance(token, Iterable):
        raise TypeError(
            f"expected a token as a dict, or as a list of strings, got a {type(token).__name__}"
        )
    return sorted(token) if isinstance(token, set | frozenset) else token


def _text(name: Any) -> str:
    if isinstance(name, str):
        return str(name)
    if isinstance(name, bytes):
        return name.decode()
    raise TypeError(f"expected an attribute's name as a string, got a {type(name).__name__}")


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"attribute {name!r}: expected a string, a number, a bool, or a dict, list or set of "
            f"them, got a {type(value).__name__}"
        ) from None


@final
class AttributeTable:
    """Sequences with their labels, attributes and labels numbered as they first occur.

    What is appended is taken down at once: it may be changed or thrown away afterwards. The usual
    forms of tokens are read by ``cpp/names/python_tokens.hpp``, others by :func:`spell`.

    Examples
    --------
    >>> table = AttributeTable()
    >>> table.append([{"w": "a", "n": 2, "z": 0}, {"w": "b"}], ["X", "Y"])
    >>> table.attributes.names(), table.labels, table.lengths
    (['w:a', 'n', 'z', 'w:b'], ['X', 'Y'], array([2], dtype=int32))
    >>> table.rows().data.tolist(), table.rows().indices.tolist()
    ([1.0, 2.0, 0.0, 1.0], [0, 1, 2, 3])
    """

    def __init__(self) -> None:
        self._names = _kernels.GrowingNames()
        self._rows = _kernels.TokenRows(self._names, keep_zeros=True)
        self._n_rows = 0  # of all tokens, those of refused sequences too
        self._parts: list[sp.csr_array] = []
        self._label_numbers: dict[str, int] = {}
        self._token_labels = array("i")
        self._first_rows, self._lengths = array("q"), array("i")
        self._groups, self._weights = array("i"), array("d")

    def __len__(self) -> int:
        return len(self._lengths)

    def append(
        self, xseq: Iterable[Any], yseq: Iterable[Any], group: int = 0, weight: float = 1.0
    ) -> None:
        """Add a sequence; nothing is added where something is wrong with it."""
        tokens, labels = list(xseq), [_label(label) for label in yseq]
        if len(tokens) != len(labels):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(tokens)}, |y| = {len(labels)}"
            )
        group, first = index(group), self._n_rows
        self._read(tokens)
        numbers = self._label_numbers
        self._token_labels.extend([numbers.setdefault(label, len(numbers)) for label in labels])
        self._first_rows.append(first)
        self._lengths.append(len(labels))
        self._groups.append(group)
        self._weights.append(weight)

    def _read(self, tokens: list[Any]) -> None:
        if str in map(type, tokens):  # the kernel would take it as one name
            tokens = [list(token) if type(token) is str else token for token in tokens]
        n_read = self._rows.read(tokens, 0)
        while n_read < len(tokens):
            self._n_rows += n_read
            names, values = _spelled(tokens[n_read])
            if not self._rows.add(names, values):
                self._rows.add(plain_texts(names), values)
            tokens = tokens[n_read + 1 :]
            self._n_rows += 1
            n_read = self._rows.read(tokens, 0)
        self._n_rows += n_read

    @property
    def attributes(self) -> Vocabulary:
        """The names of attributes, by number."""
        return Vocabulary(*self._names.arrays())

    @property
    def labels(self) -> list[str]:
        """The labels, by number."""
        return list(self._label_numbers)

    @property
    def token_labels(self) -> NDArray[np.int32]:
        """The label of each token."""
        return np.array(self._token_labels, dtype=np.int32)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """How many tokens each sequence has."""
        return np.array(self._lengths, dtype=np.int32)

    @property
    def groups(self) -> NDArray[np.int32]:
        """The group of each sequence."""
        return np.array(self._groups, dtype=np.int32)

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many times each sequence counts."""
        return np.array(self._weights, dtype=np.float64)

    def rows(self) -> sp.csr_array:
        """Return the attributes of all tokens; those of value zero are stored too."""
        columns, values, start, _ = self._rows.arrays()
        if len(start) > 1:
            data = np.ones(len(columns)) if values is None else values
            self._parts.append(_matrix(data, columns, start))
        n_attributes = len(self._names.arrays()[2])
        for part in self._parts:
            part.resize((part.shape[0], n_attributes))  # type: ignore[arg-type]
        if len(self._parts) != 1:
            empty = sp.csr_array((0, n_attributes))
            self._parts = [sp.csr_array(sp.vstack([empty, *self._parts], format="csr"))]
        everything = self._parts[0]
        lengths, first = self.lengths.astype(np.int64), np.array(self._first_rows, dtype=np.int64)
        if lengths.sum() == everything.shape[0]:
            return everything
        before = np.cumsum(lengths) - lengths
        return everything[np.repeat(first - before, lengths) + np.arange(int(lengths.sum()))]


def _matrix(
    data: NDArray[np.float64], columns: NDArray[np.int32], start: NDArray[Any]
) -> sp.csr_array:
    width = int(columns.max(initial=-1)) + 1
    if start[-1] < 2**31:
        start = start.astype(np.int32)
    matrix = sp.csr_array((data, columns, start), shape=(len(start) - 1, width))
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def _spelled(token: Any) -> tuple[list[str], NDArray[np.float64]]:
    names: list[str] = []
    values: list[float] = []
    spell(token, "", names, values)
    found = np.array(values, dtype=np.float64)
    if not np.isfinite(found).all():
        i = int(np.argmin(np.isfinite(found)))
        raise ValueError(f"attribute {names[i]!r} is {found[i]}; expected a finite number")
    return names, found


def _label(label: Any) -> str:
    if isinstance(label, str | bytes):
        return _text(label)
    raise TypeError(f"expected a label as a string, got a {type(label).__name__}")
