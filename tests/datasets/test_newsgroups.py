"""The 20 Newsgroups tree: dotted names, labels and counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proxqn.datasets.newsgroups import load_newsgroups_tree


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    file = tmp_path / "tree_bydate.npz"
    split = {"data": [2.0, 1.0], "indices": [1, 0], "indptr": [0, 2, 2], "shape": [2, 2]}
    counts = {f"X_{s}_{part}": np.array(v) for s in ("train", "test") for part, v in split.items()}
    np.savez(
        file,
        parent=np.array([-1, 0, 1, 0, 3, 3], dtype=np.int32),
        node_name=np.array(["<root>", "a", "misc", "b", "misc", "x"]),
        leaf_nodes=np.array([2, 4, 5]),
        feature_name=np.array(["one", "two"]),
        y_train=np.array([2, 5]),
        y_test=np.array([4, 4]),
        **counts,
    )
    return file


def test_dotted_names_tell_equal_parts_apart(small_file: Path) -> None:
    for path in (small_file, small_file.parent, str(small_file)):
        data = load_newsgroups_tree(path)
        assert data.hierarchy.leaf_names == ("a.misc", "b.misc", "b.x")
        assert data.y_train.tolist() == ["a.misc", "b.x"]
        assert data.y_test.tolist() == ["b.misc", "b.misc"]
        assert data.X_train.toarray().tolist() == [[1, 2], [0, 0]]


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="package does not carry it"):
        load_newsgroups_tree(tmp_path / "nothing.npz")
    np.savez(tmp_path / "other.npz", parent=np.array([-1]))
    with pytest.raises(ValueError, match=r"other\.npz lacks the arrays \['node_name'"):
        load_newsgroups_tree(tmp_path / "other.npz")


def test_shared_file(shared_data: Path) -> None:
    data = load_newsgroups_tree(shared_data / "newsgroups")
    assert repr(data.hierarchy).startswith("Hierarchy(39 nodes, 20 leaves, depth ")
    assert data.X_train.shape == (11314, 118553)
    assert data.X_test.shape == (7532, 118553)
    assert len(np.unique(data.hierarchy.leaf_index(data.y_train))) == 20
    assert data.hierarchy.path("comp.os.ms-windows.misc")[1:3] == ("comp", "comp.os")
