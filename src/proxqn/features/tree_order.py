"""Checks that parent numbers form a tree, puts its nodes depth first and derives the layout."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_SHOWN = 20  # nodes of a cycle, in a message


def check_names(names: Sequence[Hashable], n_nodes: int) -> None:
    """Raise unless there is one name per node and no name occurs twice."""
    if len(names) != n_nodes:
        raise ValueError(f"expected one name per node, {n_nodes} names; got {len(names)}.")
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"duplicate name {name!r}: node names must be unique, since labels are looked up "
                "by name. Rename one of the nodes, for example to its whole path."
            )
        seen.add(name)


def order_depth_first(parents: Sequence[int], names: Sequence[Hashable]) -> list[int]:
    """Node numbers in depth-first order, children as given; raises unless it is a tree."""
    n_nodes = len(parents)
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    roots = []
    for node, parent in enumerate(parents):
        if parent == -1:
            roots.append(node)
        elif 0 <= parent < n_nodes:
            children[parent].append(node)
        else:
            raise ValueError(
                f"node {names[node]!r} has parent number {parent}; expected -1 for the root or a "
                f"number from 0 to {n_nodes - 1}."
            )
    if len(roots) > 1:
        shown = ", ".join(repr(names[r]) for r in roots[:5]) + (", ..." if len(roots) > 5 else "")
        raise ValueError(
            f"disconnected parts: expected one root, got {len(roots)} nodes without a parent "
            f"({shown}). Put one root above them."
        )
    order: list[int] = []
    stack = roots
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    if len(order) < n_nodes:
        found = _find_cycle(parents, set(order))
        cycle = " -> ".join(repr(names[node]) for node in found[:_SHOWN])
        cycle += " -> …" if len(found) > _SHOWN else ""
        raise ValueError(
            f"cycle: {cycle} (each the parent of the next). Expected a tree; remove one of "
            "these edges."
        )
    return order


def _find_cycle(parents: Sequence[int], reached: set[int]) -> list[int]:
    # A node not reached from the root hangs below a cycle: climb until a node comes back.
    node = next(k for k in range(len(parents)) if k not in reached)
    climbed: dict[int, None] = {}  # in this order
    while node not in climbed:
        climbed[node] = None
        node = parents[node]
    cycle = list(climbed)
    cycle = cycle[cycle.index(node) :]
    return [node, *reversed(cycle)]


def derive_layout(parent: npt.NDArray[np.int32]) -> dict[str, Any]:
    """Depths, leaf ranges and levels of a tree in depth-first order: all of it once, O(n_nodes)."""
    n_nodes = len(parent)
    parents = parent.tolist()
    depth = [0] * n_nodes
    subtree_size = [1] * n_nodes
    for node in range(1, n_nodes):
        depth[node] = depth[parents[node]] + 1
    for node in range(n_nodes - 1, 0, -1):
        subtree_size[parents[node]] += subtree_size[node]
    is_leaf = np.asarray(subtree_size) == 1
    # leaves_before[k] = leaves among nodes 0..k-1; the subtree of k is [k, k + subtree_size[k])
    leaves_before = np.concatenate([[0], np.cumsum(is_leaf)]).astype(np.int32)
    depths = np.asarray(depth, dtype=np.int32)
    return {
        "parent": parent,
        "depth": depths,
        "leaf_nodes": np.flatnonzero(is_leaf).astype(np.int32),
        "leaf_start": leaves_before[:-1].copy(),
        "leaf_stop": leaves_before[np.arange(n_nodes) + subtree_size],
        "_by_depth": np.argsort(depths, kind="stable").astype(np.int32),
        "_depth_offsets": np.cumsum(np.bincount(depths))[:-1],
    }


def check_axis(
    given: npt.ArrayLike, axis: int, expected: int, what: str
) -> npt.NDArray[np.float64]:
    """`given` as float64, after checking that it has one entry per node or leaf on `axis`."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 0 or array.shape[axis] != expected:
        raise ValueError(
            f"expected {expected} entries, one per {what}, along axis {axis}; "
            f"got an array of shape {array.shape}."
        )
    return array
