"""Hierarchy: every way to build one, every way it can be wrong, and the two sums over the tree."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.hierarchy import Hierarchy


@st.composite
def random_trees(draw: st.DrawFn) -> Hierarchy:
    """Trees of up to 30 nodes whose nodes come in shuffled order."""
    n = draw(st.integers(1, 30))
    parents = [-1] + [draw(st.integers(0, k - 1)) for k in range(1, n)]
    shuffled = draw(st.permutations(range(n)))  # node k is put at place shuffled[k]
    placed = [0] * n
    for k, parent in enumerate(parents):
        placed[shuffled[k]] = -1 if parent < 0 else shuffled[parent]
    return Hierarchy.from_parents(placed)


@given(random_trees())
def test_layout_is_depth_first_with_contiguous_leaves(tree: Hierarchy) -> None:
    assert tree.parent[0] == -1
    assert all(tree.parent[k] < k for k in range(len(tree)))
    assert tree.parent.dtype == tree.leaf_start.dtype == tree.leaf_stop.dtype == np.int32
    for node in range(len(tree)):
        covered = [leaf for leaf, k in enumerate(tree.leaf_nodes) if node in on_path(tree, k)]
        assert covered == list(range(tree.leaf_start[node], tree.leaf_stop[node]))
        assert tree.depth[node] == len(tree.ancestors(node))


def on_path(tree: Hierarchy, node: int) -> list[int]:
    return [*tree.ancestors(node).tolist(), int(node)]


@given(random_trees(), st.integers(0, 2**32 - 1))
def test_sums_equal_brute_force_over_paths(tree: Hierarchy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3, len(tree)))
    values = rng.normal(size=(3, tree.n_leaves))
    member = np.zeros((tree.n_leaves, len(tree)))  # member[y, k] = 1 if k lies on the path of y
    for leaf, node in enumerate(tree.leaf_nodes):
        member[leaf, on_path(tree, node)] = 1
    np.testing.assert_allclose(tree.downward(scores), scores @ member.T, atol=1e-13)
    np.testing.assert_allclose(tree.upward(values), values @ member, atol=1e-13)
    np.testing.assert_allclose(tree.downward(scores.T, axis=0), member @ scores.T, atol=1e-13)
    np.testing.assert_allclose(tree.upward(values.T, axis=0), member.T @ values.T, atol=1e-13)


def test_sums_leave_their_input_alone_and_check_its_shape() -> None:
    tree = Hierarchy.from_parents([-1, 0, 0])
    scores = np.ones(3)
    tree.downward(scores)
    assert scores.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="expected 3 entries, one per node"):
        tree.downward(np.ones(2))
    with pytest.raises(ValueError, match="expected 2 entries, one per leaf"):
        tree.upward(np.ones((2, 3)))


def test_all_constructors_agree() -> None:
    nested = Hierarchy.from_nested({"r": {"a": {"a1": None, "a2": {}}, "b": ["b1"]}})
    assert nested.names == ("r", "a", "a1", "a2", "b", "b1")
    edges = [("r", "a"), ("a", "a1"), ("a", "a2"), ("r", "b"), ("b", "b1"), ("r", "a")]
    assert Hierarchy.from_edges(edges) == nested
    assert Hierarchy.from_paths(["r a a1\n", "r a a2\n", "\n", "r b b1\n"]) == nested
    assert Hierarchy.from_parents([-1, 0, 1, 1, 0, 4], nested.names) == nested
    assert Hierarchy.from_paths([["a", "a1"], ["a", "a2"], ["b", "b1"]], root="r") == nested


def test_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("r", "a"), ("r", "b"), ("a", "c")])
    assert Hierarchy.from_networkx(graph).leaf_names == ("c", "b")
    with pytest.raises(ValueError, match="bfs_tree"):
        Hierarchy.from_networkx(graph.to_undirected())
    graph.add_node("alone")
    with pytest.raises(ValueError, match=r"disconnected parts.*'r', 'alone'"):
        Hierarchy.from_networkx(graph)


@pytest.mark.parametrize("as_rows", [list, np.array, pd.DataFrame])
def test_label_matrix_with_missing_trailing_levels(as_rows: type) -> None:
    rows = [["a", "x", "y"], ["a", "z", ""], ["b", "", ""]]
    tree = Hierarchy.from_paths(as_rows(rows))
    assert tree.leaf_names == ("y", "z", "b")
    assert tree.path("y") == ("<root>", "a", "x", "y")
    assert tree.leaf_index_of_paths(as_rows(rows)).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="does not agree"):
        tree.leaf_index_of_paths([["b", "x", "y"]])


def test_missing_levels_of_every_kind() -> None:
    frame = pd.DataFrame({"top": [1, 2, 2], "low": [10.0, float("nan"), float("nan")]})
    assert Hierarchy.from_paths(frame).leaf_names == (10, 2)
    assert Hierarchy.from_paths([["a", pd.NA], ["b", pd.NaT], ["c", None]]).n_leaves == 3
    with pytest.raises(ValueError, match="missing level above a present one"):
        Hierarchy.from_paths([["a", None, "c"]])
    with pytest.raises(ValueError, match="no level that is not missing"):
        Hierarchy.from_paths([["a", "b"], [None, None]])


def test_separator_tells_equal_names_apart() -> None:
    rows = [["car", "other"], ["bike", "other"]]
    with pytest.raises(
        ValueError, match=r"node 'other' has several parents, 'car' and 'bike'.*DAG"
    ):
        Hierarchy.from_paths(rows)
    tree = Hierarchy.from_paths(rows, separator="::")
    assert tree.leaf_names == ("car::other", "bike::other")
    assert tree.leaf_index_of_paths(rows, separator="::").tolist() == [0, 1]


def test_a_single_top_node_is_the_root() -> None:
    assert Hierarchy.from_paths(["r a", "r b"]).names == ("r", "a", "b")
    assert Hierarchy.from_nested({"r": ["a"]}, root="top").names == ("top", "r", "a")


def test_flat() -> None:
    tree = Hierarchy.flat(np.array([3, 1, 3, 2]))
    assert tree.leaf_names == (1, 2, 3)
    assert tree.leaf_index(np.array([3, 1])).tolist() == [2, 0]
    assert Hierarchy.flat(letter for letter in "cab").n_leaves == 3
    with pytest.raises(ValueError, match="at least one label"):
        Hierarchy.flat([])


def test_cycles_are_named() -> None:
    with pytest.raises(ValueError, match="cycle: 'b' -> 'c' -> 'b'"):
        Hierarchy.from_edges([("r", "a"), ("b", "c"), ("c", "b"), ("c", "leaf")])
    with pytest.raises(ValueError, match="cycle: 'a' -> 'a'"):
        Hierarchy.from_edges([("a", "a")])
    with pytest.raises(ValueError, match="cycle"):
        Hierarchy.from_parents([1, 2, 0])
    inside: dict[str, object] = {}
    inside["a"] = inside
    with pytest.raises(ValueError, match="duplicate name 'a'"):
        Hierarchy.from_nested(inside)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Hierarchy.from_edges([("r", "x"), ("q", "x")]), "node 'x' has several parents"),
        (lambda: Hierarchy.from_edges([("r", "x"), ("q", "y")]), "disconnected parts.*2 nodes"),
        (lambda: Hierarchy.from_edges([]), "got none"),
        (lambda: Hierarchy.from_parents([-1, -1]), "disconnected parts"),
        (lambda: Hierarchy.from_parents([-1, 0], ["a", "a"]), "duplicate name 'a'"),
        (lambda: Hierarchy.from_parents([-1, 0], ["a"]), "2 names; got 1"),
        (lambda: Hierarchy.from_parents([-1, 5]), "parent number 5"),
        (lambda: Hierarchy.from_parents([]), "non-empty"),
        (lambda: Hierarchy.from_parents([-1.0, 0.0]), "integer parent numbers"),
        (lambda: Hierarchy.from_paths([]), "at least one path"),
        (lambda: Hierarchy.from_nested({}), "empty"),
        (lambda: Hierarchy.from_nested({"a": ["x"], "b": ["x"]}), "duplicate name 'x'"),
        (lambda: Hierarchy.from_nested({"<root>": ["x"], "b": ["y"]}), "cycle: '<root>'"),
        (lambda: Hierarchy.from_nested({"r": {"a": ["x", "x"]}}), "duplicate name 'x'"),
        (lambda: Hierarchy([-1, 0, 0, 1], "abcd"), "depth-first order"),
    ],
)
def test_what_is_not_a_tree_is_an_error(build: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()  # type: ignore[operator]


def test_nested_leaf_given_bare_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"below 'a' expected .* got 'x'"):
        Hierarchy.from_nested({"a": "x"})


def test_labels_must_be_leaves() -> None:
    tree = Hierarchy.from_paths(["1 2 29", "1 2 33", "7 8"])
    assert tree.leaf_index(np.array(["33", "8"])).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"label '2' is not a leaf.*such as '29'"):
        tree.leaf_index(["29", "2"])
    with pytest.raises(ValueError, match=r"label 29 \(int\) is not in the hierarchy"):
        tree.leaf_index([29])


def test_immutable_and_still_copied_and_pickled() -> None:
    tree = Hierarchy.from_paths(["1 2 29", "1 2 33", "7 8"])
    with pytest.raises(AttributeError, match="immutable"):
        tree.names = ()  # type: ignore[misc]
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert twin == tree
        assert hash(twin) == hash(tree)
        assert not twin.parent.flags.writeable
    assert tree != Hierarchy.flat(["29", "33", "8"])
    assert tree != "a tree"


def test_a_long_chain_needs_no_recursion() -> None:
    tree = Hierarchy.from_paths([[str(k) for k in range(3000)]])
    assert (len(tree), tree.n_leaves, tree.depth.max()) == (3000, 1, 2999)
