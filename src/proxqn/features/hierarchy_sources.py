"""What users hold (paths, nested dicts, edges) turned into one form: parent numbers and names.

`Hierarchy` is the type; this file does the reading behind its constructors. Every reader ends in
`parents_of_edges` and `tree_order.order_depth_first`, so a cycle or a second parent is reported in
the same words whatever the tree was built from.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Name: TypeAlias = Hashable
Edge: TypeAlias = tuple[Name, Name]

# No label is likely to be called so; a clash is an error, not a silent merge.
IMPLIED_ROOT = "<root>"


def is_missing(level: object) -> bool:
    """Whether a level of a label row is empty: None, '', or a value unequal to itself (NaN, NaT).

    >>> [is_missing(level) for level in (None, "", float("nan"), 0, "a")]
    [True, True, True, False, False]
    """
    # NaN and NaT differ from themselves; pandas.NA has no truth value when compared.
    try:
        return level is None or bool(level == "") or bool(level != level)
    except TypeError:
        return True


def read_paths(paths: Iterable[Any], separator: str | None) -> list[tuple[Name, ...]]:
    """Paths as tuples of node names, top first, missing trailing levels cut off.

    A string is one line of a path file and is split on white space; anything else is a sequence of
    levels. With a separator every name is spelled with all names above it.
    """
    # A DataFrame iterates over its columns; as an array it iterates over its rows.
    rows = paths if isinstance(paths, list | tuple | Iterator) else np.asarray(paths, dtype=object)
    result = []
    for number, row in enumerate(rows):
        levels = _present_levels(row, number)
        if levels:
            result.append(levels if separator is None else _qualified(levels, separator))
    return result


def _present_levels(row: Any, number: int) -> tuple[Name, ...]:
    if isinstance(row, str):
        return tuple(row.split())  # a blank line of a file is no path
    levels = row.tolist() if isinstance(row, np.ndarray) else list(row)
    while levels and is_missing(levels[-1]):
        levels.pop()
    if not levels:
        raise ValueError(
            f"path {number} has no level that is not missing: {row!r}. "
            "Give each path at least its top node, or drop the row."
        )
    if any(is_missing(level) for level in levels):
        raise ValueError(
            f"path {number} has a missing level above a present one: {row!r}. "
            "Only trailing levels may be missing; fill the gap or shift the levels up."
        )
    return tuple(levels)


def _qualified(levels: Sequence[Name], separator: str) -> tuple[Name, ...]:
    return tuple(separator.join(map(str, levels[: i + 1])) for i in range(len(levels)))


def edges_of_paths(paths: Sequence[Sequence[Name]], root: Name | None) -> tuple[list[Edge], Name]:
    """Edges of all paths, and the root: added if asked for or if there are several top nodes."""
    if not paths:
        raise ValueError("expected at least one path, got none; give one path per leaf.")
    edges = [(path[i], path[i + 1]) for path in paths for i in range(len(path) - 1)]
    tops = list(dict.fromkeys(path[0] for path in paths))
    return _under_one_root(edges, tops, root)


def edges_of_nested(tree: Mapping[Any, Any], root: Name | None) -> tuple[list[Edge], Name]:
    """Edges and root of nested mappings whose ends are None, empty, or lists of leaf names."""
    if not tree:
        raise ValueError("expected a nested dict with at least one node, got an empty one.")
    edges: list[Edge] = []
    seen: set[Name] = set()
    stack: list[tuple[Name | None, Any]] = [(None, tree)]
    while stack:
        above, below = stack.pop()
        for name in _child_names(above, below):
            if name in seen:  # also ends the walk on a dict that holds itself
                raise ValueError(
                    f"duplicate name {name!r}: it occurs twice in the nested dict, the second "
                    f"time below {above!r}. Node names must be unique; rename one of them."
                )
            seen.add(name)
            if above is not None:
                edges.append((above, name))
            if isinstance(below, Mapping):
                stack.append((name, below[name]))
    return _under_one_root(edges, list(tree), root)


def _child_names(above: Name | None, below: Any) -> list[Name]:
    if below is None:
        return []
    if isinstance(below, Mapping | list | tuple):
        return list(below)
    raise TypeError(
        f"below {above!r} expected a dict, a list of leaf names, or None for a leaf; "
        f"got {below!r}. Wrap a single leaf as [{below!r}]."
    )


def _under_one_root(
    edges: list[Edge], tops: list[Name], root: Name | None
) -> tuple[list[Edge], Name]:
    if root is None and len(tops) == 1:
        return edges, tops[0]
    top = IMPLIED_ROOT if root is None else root
    return [(top, child) for child in tops] + edges, top


def parents_of_edges(
    edges: Iterable[tuple[Any, Any]], first: Iterable[Name] = ()
) -> tuple[list[int], list[Name]]:
    """Parent numbers (-1 above a root) and names, in order of first appearance.

    The names in `first` are numbered before those of the edges.
    """
    number: dict[Name, int] = {}
    parents: list[int] = []

    def numbered(name: Name) -> int:
        if name not in number:
            number[name] = len(parents)
            parents.append(-1)
        return number[name]

    for name in first:
        numbered(name)
    for upper, lower in edges:
        parent, child = numbered(upper), numbered(lower)
        if parents[child] not in (-1, parent):
            names = list(number)
            raise ValueError(
                f"node {lower!r} has several parents, {names[parents[child]]!r} and {upper!r}: "
                "expected a tree, got a DAG. Keep one parent, or give the copies different names "
                "(from_paths(..., separator='/') spells each node with its whole path)."
            )
        parents[child] = parent
    return parents, list(number)
