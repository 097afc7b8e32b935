"""The double array in which CRF++ looks up names: a trie as two arrays of numbers.

A node with children has a *begin* b > 0, its ``base``; its child by the code c (a byte + 1, or 0
where a name ends) is the unit b + c, whose ``check`` says b. So no two nodes share a begin. The
unit of an end holds -1 - value as its base. Unit 0 is the root; unused units have the check 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from proxqn.problem import Ints

__all__ = ["UNIT", "DamagedArrayError", "build", "entries"]

UNIT: Final = np.dtype([("base", "<i4"), ("check", "<u4")])
_CODES: Final = 257
_MOST_BYTES: Final = 64  # of names, for each byte of the array: far beyond any real one
_LONGEST: Final = 1 << 14  # bytes of a name; CRF++ reads lines of half that
_TRIES: Final = 32  # places looked at before those behind them are given up


class DamagedArrayError(ValueError):
    """Units that are no trie."""


def entries(units: NDArray[np.void]) -> tuple[list[bytes], Ints]:
    """Return all names and their values.

    Examples
    --------
    >>> names, values = entries(build([b"B", b"U0:a", b"U0:b"], np.array([4, 0, 2])))
    >>> dict(zip(names, values.tolist()))
    {b'B': 4, b'U0:a': 0, b'U0:b': 2}
    """
    base, check = units["base"].astype(np.int64), units["check"].astype(np.int64)
    used = np.flatnonzero(check)
    code = used - check[used]
    if len(base) < 2 or check[0] or (code < 0).any() or (code >= _CODES).any():
        raise DamagedArrayError("a unit lies outside the children of its node")
    is_end = code == 0
    if (base[used][is_end] >= 0).any() or (base[used][~is_end] <= 0).any() or base[0] <= 0:
        raise DamagedArrayError("a unit is neither a node nor the end of a name")
    nodes = np.concatenate([[0], used[~is_end]])
    order = np.argsort(base[nodes], kind="stable")
    begins = base[nodes][order]
    if (np.diff(begins) == 0).any():
        raise DamagedArrayError("two nodes share their children")
    at = np.minimum(np.searchsorted(begins, check[used]), len(begins) - 1)
    if (begins[at] != check[used]).any():
        raise DamagedArrayError("a unit belongs to no node")
    parent = np.full(len(base), -1, np.int64)
    parent[used] = nodes[order[at]]
    ends = used[is_end]
    lengths = _lengths(parent, ends, _MOST_BYTES * units.nbytes)
    return _spelt(parent, check, ends, lengths), -1 - base[ends]


def _lengths(parent: Ints, ends: Ints, most: int) -> Ints:
    """Return the bytes of each name; refuse circles, and names longer than a file allows."""
    lengths = np.zeros(len(ends), np.int64)
    climbing, node, total = np.arange(len(ends)), parent[ends], 0
    for _ in range(_LONGEST):
        below_root = node != 0
        climbing, node = climbing[below_root], parent[node[below_root]]
        lengths[climbing] += 1
        total += len(climbing)
        if not len(climbing):
            return lengths
        if total > most:
            break
    raise DamagedArrayError("names without end")


def _spelt(parent: Ints, check: Ints, ends: Ints, lengths: Ints) -> list[bytes]:
    """Spell the names, from their last bytes to their first."""
    stops = np.cumsum(lengths)
    letters = np.empty(int(lengths.sum()), np.uint8)
    node, place = parent[ends], stops - 1
    while len(node):
        below_root = node != 0
        node, place = node[below_root], place[below_root]
        letters[place] = node - check[node] - 1
        node, place = parent[node], place - 1
    raw, starts = letters.tobytes(), stops - lengths
    return [raw[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


class _Trie(NamedTuple):
    """Nodes, the root first, then level by level."""

    parent: Ints
    code: Ints
    value: Ints  # of the ends of names; -1 for others


def build(names: list[bytes], values: Ints) -> NDArray[np.void]:
    """Return the units of distinct names, ascending, and their values of 0 and above."""
    trie = _trie(names, values)
    begin = _begins(trie)
    place = np.zeros(len(trie.parent), np.int64)
    place[1:] = begin[trie.parent[1:]] + trie.code[1:]
    units = np.zeros(int(begin.max()) + _CODES + 1, UNIT)  # a unit wherever a look-up goes
    units["base"][place] = np.where(trie.value >= 0, -1 - trie.value, begin)
    units["check"][place[1:]] = begin[trie.parent[1:]]
    return units


def _trie(names: list[bytes], values: Ints) -> _Trie:
    """Take the names apart, all at once, byte by byte."""
    lengths = np.array([len(name) for name in names], np.int64)
    letters = np.frombuffer(b"".join(names) + b"\0", np.uint8).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    key = np.arange(len(names))  # the names that go on
    node = np.zeros(len(names), np.int64)  # where each of them has come to
    parents, codes, ends = [np.array([-1])], [np.zeros(1, np.int64)], [np.array([-1])]
    n_nodes, depth = 1, 0
    while len(key):
        over = lengths[key] == depth
        code = np.where(over, 0, letters[np.where(over, 0, starts[key] + depth)] + 1)
        first = np.ones(len(key), bool)
        first[1:] = (node[1:] != node[:-1]) | (code[1:] != code[:-1])
        parents.append(node[first])
        codes.append(code[first])
        ends.append(np.where(over, values[key], -1)[first])
        node = n_nodes + np.cumsum(first) - 1
        n_nodes += int(first.sum())
        key, node, depth = key[~over], node[~over], depth + 1
    return _Trie(np.concatenate(parents), np.concatenate(codes), np.concatenate(ends))


def _begins(trie: _Trie) -> Ints:
    """Choose a begin for each node with children, so that no two units fall together."""
    child = np.argsort(trie.parent[1:], kind="stable") + 1
    n_children = np.bincount(trie.parent[1:], minlength=len(trie.parent))
    first = np.cumsum(n_children) - n_children
    begin = np.zeros(len(trie.parent), np.int64)
    code = trie.code[child]
    several = np.flatnonzero(n_children > 1)
    several = several[np.argsort(-n_children[several], kind="stable")]  # small ones fill the holes
    field = _Field()
    for node in several.tolist():
        begin[node] = field.place(code[first[node] : first[node] + n_children[node]].tolist())
    # Nodes with one child, most of them, need no search: by descending code in one run of units
    # their begins rise without a clash.
    single = np.flatnonzero(n_children == 1)
    codes = code[first[single]]
    order = np.argsort(-codes, kind="stable")
    begin[single[order]] = field.end + _CODES + np.arange(len(single)) - codes[order]
    return begin


class _Field:
    """Units, taken and free."""

    def __init__(self) -> None:
        self._taken, self._begun = bytearray(1 << 16), bytearray(1 << 16)
        self._taken[0] = 1
        self._from = 1
        self.end = 1  # behind all that is taken

    def place(self, codes: list[int]) -> int:
        """Take units for the children with these codes, ascending; return their begin."""
        at, tries = max(self._from, codes[0] + 1), 0
        while True:
            if at + 2 * _CODES > len(self._taken):
                self._taken += bytes(len(self._taken))
                self._begun += bytes(len(self._begun))
            at = self._taken.find(0, at)
            begin = at - codes[0]
            if not self._begun[begin] and not any(self._taken[begin + code] for code in codes):
                break
            at, tries = at + 1, tries + 1
            if tries == _TRIES:
                self._from, tries = at, 0
        self._begun[begin] = 1
        for code in codes:
            self._taken[begin + code] = 1
        self.end = max(self.end, begin + codes[-1] + 1)
        return begin
