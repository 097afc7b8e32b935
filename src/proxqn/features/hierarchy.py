r"""A label tree whose leaves are the classes.

The tree model scores a leaf y by the nodes on its path, P(y|x) ∝ exp(Σ_{k ∈ Path(y)} w_kᵀ x), so
fitting it needs two sums over the tree: node scores summed *down* to the leaves, and leaf
probabilities summed *up* to the nodes. `Hierarchy` numbers the nodes depth first (root 0, every
parent before its children), which makes the leaves below any node a contiguous range

        0 root                 leaves of node 1 : [0, 2)
       / \                     leaves of node 4 : [2, 3)
      1   4
     / \   \
    2   3   5        leaf_nodes = [2, 3, 5]

and both sums linear passes over contiguous memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

from proxqn.features.hierarchy_sources import (
    IMPLIED_ROOT,
    Name,
    edges_of_nested,
    edges_of_paths,
    parents_of_edges,
    read_paths,
)
from proxqn.features.tree_order import check_axis, check_names, derive_layout, order_depth_first

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]


@final
class Hierarchy:
    """An immutable label tree in depth-first order; build it with one of the `from_` methods.

    Attributes
    ----------
    parent : int32 array, shape (n_nodes,)
        Parent of each node; ``parent[k] < k`` and ``parent[0] == -1``.
    depth : int32 array, shape (n_nodes,)
        Edges between the root and the node.
    leaf_nodes : int32 array, shape (n_leaves,)
        Node number of each leaf, ascending.
    leaf_start, leaf_stop : int32 array, shape (n_nodes,)
        Node k covers the leaves ``leaf_start[k] <= leaf < leaf_stop[k]``.
    names : tuple, length n_nodes
        The user's name of each node: any hashable values, all different.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"animal": {"cat": None, "dog": None}, "plant": ["oak"]})
    >>> tree
    Hierarchy(6 nodes, 3 leaves, depth 2, root '<root>')
    >>> tree.leaf_names
    ('cat', 'dog', 'oak')
    >>> tree.leaf_index(["oak", "cat"])
    array([2, 0], dtype=int32)
    """

    parent: IntArray
    depth: IntArray
    leaf_nodes: IntArray
    leaf_start: IntArray
    leaf_stop: IntArray
    names: tuple[Name, ...]
    _by_depth: IntArray  # nodes sorted by depth, depth first within a level
    _depth_offsets: npt.NDArray[np.int64]  # where each level after the root's begins
    _node_of: dict[Name, int]

    def __init__(self, parent: npt.ArrayLike, names: Sequence[Name]) -> None:
        given = np.asarray(parent).tolist()
        check_names(names, len(given))
        if order_depth_first(given, names) != list(range(len(given))):
            raise ValueError(
                "expected nodes in depth-first order; use Hierarchy.from_parents, which sorts them."
            )
        derived = derive_layout(np.asarray(given, dtype=np.int32))
        derived["names"] = tuple(names)
        derived["_node_of"] = {name: node for node, name in enumerate(names)}
        for attribute, value in derived.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, attribute, value)

    # ---- constructors ----

    @classmethod
    def from_parents(cls, parents: npt.ArrayLike, names: Sequence[Name] | None = None) -> Hierarchy:
        """Tree from the parent number of each node, -1 at the root, in any order.

        Without names a node is called by its position in `parents`.

        >>> Hierarchy.from_parents([2, 2, -1, 0]).names
        (2, 0, 3, 1)
        """
        given = np.asarray(parents)
        if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
            raise ValueError(
                "expected a one-dimensional, non-empty array of integer parent numbers; "
                f"got shape {given.shape} of {given.dtype}."
            )
        labels = range(given.size) if names is None else names
        check_names(labels, given.size)
        return cls._sorted(given.tolist(), labels)

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[Any, Any]]) -> Hierarchy:
        """Tree from (parent name, child name) pairs; repeated pairs count once.

        >>> Hierarchy.from_edges([("food", "fruit"), ("fruit", "fig"), ("food", "bread")]).names
        ('food', 'fruit', 'fig', 'bread')
        """
        parents, names = parents_of_edges(edges)
        if not names:
            raise ValueError("expected (parent, child) edges, got none.")
        return cls._sorted(parents, names)

    @classmethod
    def from_paths(
        cls, paths: Iterable[Any], *, root: Name | None = None, separator: str | None = None
    ) -> Hierarchy:
        """Tree from paths, each from a top node down to a leaf (or to any node).

        Parameters
        ----------
        paths : lines or rows
            Lines of a file such as LSHTC's ``cat_hier.txt`` (an open file will do; a string is
            split on white space), or rows of levels: lists, an array, a DataFrame. Trailing levels
            may be missing (None, '', NaN).
        root : name, optional
            Put a root of this name above the top nodes. By default one called ``'<root>'`` is added
            only if there are several top nodes.
        separator : str, optional
            Name each node by its whole path joined with this string, for data that use one name
            ('other') in several places.

        Examples
        --------
        >>> Hierarchy.from_paths(["1 2 29", "1 2 33", "7 8"])
        Hierarchy(7 nodes, 3 leaves, depth 3, root '<root>')
        >>> rows = [["car", "other"], ["bike", "other"], ["walk", None]]
        >>> Hierarchy.from_paths(rows, separator="/").leaf_names
        ('car/other', 'bike/other', 'walk')
        """
        edges, top = edges_of_paths(read_paths(paths, separator), root)
        return cls._sorted(*parents_of_edges(edges, [top]))

    @classmethod
    def from_nested(cls, tree: Mapping[Any, Any], *, root: Name | None = None) -> Hierarchy:
        """Tree from nested dicts; a leaf's value is None or empty, and lists of leaves are allowed.

        >>> Hierarchy.from_nested({"all": {"a": ["a1", "a2"], "b": {}}}).names
        ('all', 'a', 'a1', 'a2', 'b')
        """
        edges, top = edges_of_nested(tree, root)
        return cls._sorted(*parents_of_edges(edges, [top]))

    @classmethod
    def from_networkx(cls, graph: Any) -> Hierarchy:
        """Tree from a ``networkx.DiGraph`` whose edges point from parent to child."""
        # No import of networkx: whoever holds such a graph has it.
        if not graph.is_directed():
            raise ValueError(
                "expected a directed graph with edges from parent to child, got an undirected one; "
                "networkx.bfs_tree(graph, root) directs it."
            )
        return cls._sorted(*parents_of_edges(graph.edges, graph.nodes))

    @classmethod
    def flat(cls, labels: Iterable[Any]) -> Hierarchy:
        """Root with one leaf per distinct label, sorted: the tree model is then multinomial.

        >>> Hierarchy.flat(["b", "a", "b"]).leaf_names
        ('a', 'b')
        """
        given = labels if isinstance(labels, np.ndarray) else np.array(list(labels))
        distinct = np.unique(given).tolist()
        if not distinct:
            raise ValueError("expected at least one label, got none.")
        return cls([-1] + [0] * len(distinct), [IMPLIED_ROOT, *distinct])

    @classmethod
    def _sorted(cls, parents: Sequence[int], names: Sequence[Name]) -> Hierarchy:
        order = order_depth_first(parents, names)
        position = np.empty(len(order), dtype=np.int32)
        position[order] = np.arange(len(order))
        upper = np.asarray(parents)[order]
        return cls(np.where(upper < 0, -1, position[upper]), [names[node] for node in order])

    # ---- sums over the tree ----

    def downward(self, node_scores: npt.ArrayLike, *, axis: int = -1) -> FloatArray:
        """Sum of node scores on the path of each leaf; `axis` runs over nodes, then over leaves.

        One addition per node and sample, level by level. With ``axis=0`` every addition is over a
        contiguous row of samples; prefer that layout for large batches.

        >>> Hierarchy.from_parents([-1, 0, 1, 1, 0]).downward([1.0, 10.0, 2.0, 3.0, 4.0])
        array([13., 14.,  5.])
        """
        scores = check_axis(node_scores, axis, len(self), "node")
        total = np.array(np.moveaxis(scores, axis, 0))  # (n_nodes, ...), a copy
        for level in self._levels()[1:]:
            total[level] += total[self.parent[level]]
        return np.moveaxis(total[self.leaf_nodes], 0, axis)

    def upward(self, leaf_values: npt.ArrayLike, *, axis: int = -1) -> FloatArray:
        """Sum of leaf values below each node; `axis` runs over leaves, then over nodes.

        The transpose of `downward`, at the same cost: depth first, the children of one node are
        neighbours within their level, so a level is one segmented sum.

        >>> Hierarchy.from_parents([-1, 0, 1, 1, 0]).upward([0.5, 0.2, 0.3])
        array([1. , 0.7, 0.5, 0.2, 0.3])
        """
        values = np.moveaxis(check_axis(leaf_values, axis, self.n_leaves, "leaf"), axis, 0)
        total = np.zeros((len(self), *values.shape[1:]))  # (n_nodes, ...)
        total[self.leaf_nodes] = values
        for level in reversed(self._levels()[1:]):
            parents, first_child = np.unique(self.parent[level], return_index=True)
            total[parents] = np.add.reduceat(total[level], first_child, axis=0)
        return np.moveaxis(total, 0, axis)

    def _levels(self) -> list[IntArray]:
        return np.split(self._by_depth, self._depth_offsets)

    # ---- names and paths ----

    @property
    def n_leaves(self) -> int:
        """Number of leaves, that is of classes."""
        return len(self.leaf_nodes)

    @property
    def leaf_names(self) -> tuple[Name, ...]:
        """Names of the leaves in leaf order."""
        return tuple(self.names[node] for node in self.leaf_nodes.tolist())

    def node_index(self, labels: Iterable[Any]) -> IntArray:
        """Node number of each name.

        >>> Hierarchy.flat(["a", "b"]).node_index(["b", "<root>"])
        array([2, 0], dtype=int32)
        """
        names = labels if isinstance(labels, list | tuple) else np.asarray(labels).tolist()
        try:
            return np.array([self._node_of[name] for name in names], dtype=np.int32)
        except KeyError as error:
            known = ", ".join(map(repr, self.leaf_names[:3]))
            raise ValueError(
                f"label {error.args[0]!r} ({type(error.args[0]).__name__}) is not in the "
                f"hierarchy, whose leaves are {known}, ... Add it to the hierarchy, or compare "
                "the types: 29 and '29' are different names."
            ) from None

    def leaf_index(self, labels: Iterable[Any]) -> IntArray:
        """Leaf number of each label; a label that is unknown or an inner node is an error."""
        nodes = self.node_index(labels)
        leaves = self.leaf_start[nodes]
        inner = np.flatnonzero(self.leaf_nodes[leaves] != nodes)
        if inner.size:
            node = int(nodes[inner[0]])
            child = self.names[node + 1]  # depth first, the first child comes next
            raise ValueError(
                f"label {self.names[node]!r} is not a leaf: it is an inner node with children such "
                f"as {child!r}. Labels must be leaves; for samples that stop at an inner node add "
                "a leaf of their own below it (say 'other') and label them with that."
            )
        return leaves

    def leaf_index_of_paths(
        self, paths: Iterable[Any], *, separator: str | None = None
    ) -> IntArray:
        """Leaf number of each path, given as to `from_paths`; the whole path must agree.

        >>> tree = Hierarchy.from_paths([["a", "x"], ["b", None]])
        >>> tree.leaf_index_of_paths([["b", ""], ["a", "x"]])
        array([1, 0], dtype=int32)
        """
        rows = read_paths(paths, separator)
        leaves = self.leaf_index([row[-1] for row in rows])
        for row in dict.fromkeys(rows):
            if self.path(row[-1])[-len(row) :] != row:
                raise ValueError(
                    f"path {row!r} does not agree with the hierarchy, where {row[-1]!r} lies at "
                    f"{self.path(row[-1])!r}. Correct the path or the hierarchy."
                )
        return leaves

    def path(self, name: Name) -> tuple[Name, ...]:
        """Names from the root down to the node called `name`, both included.

        >>> Hierarchy.from_paths(["1 2 29", "7 8"]).path("29")
        ('<root>', '1', '2', '29')
        """
        node = int(self.node_index([name])[0])
        return tuple(self.names[k] for k in [*self.ancestors(node)[::-1].tolist(), node])

    def ancestors(self, node: int) -> IntArray:
        """Numbers of the nodes above node number `node`, from its parent up to the root."""
        above = []
        while (node := int(self.parent[node])) >= 0:
            above.append(node)
        return np.array(above, dtype=np.int32)

    def node_paths(self) -> IntArray:
        """Node numbers from the root to each node, shape (n_nodes, max depth + 1), padded with -1.

        >>> Hierarchy.from_parents([-1, 0, 1]).node_paths().tolist()
        [[0, -1, -1], [0, 1, -1], [0, 1, 2]]
        """
        levels = self._levels()
        paths = np.full((len(self), len(levels)), -1, dtype=np.int32)
        for d, level in enumerate(levels):
            if d:
                paths[level] = paths[self.parent[level]]
            paths[level, d] = level
        return paths

    # ---- Python's own protocols ----

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return (
            f"Hierarchy({len(self)} nodes, {self.n_leaves} leaves, depth {int(self.depth.max())}, "
            f"root {self.names[0]!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash((self.names, self.parent.tobytes()))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"Hierarchy is immutable; cannot set {attribute!r}. Build a new one.")

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[IntArray, tuple[Name, ...]]]:
        # Rebuilding keeps the arrays read-only after unpickling and copying.
        return Hierarchy, (self.parent, self.names)
