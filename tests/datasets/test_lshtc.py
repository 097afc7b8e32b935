"""The LSHTC layout: parser, compaction, svm-scale's arithmetic, and the real dry-run files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn.datasets.lshtc import feature_range, load_lshtc, read_documents, scale_features


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small archive in LSHTC's layout, one folder below tmp_path."""
    base = tmp_path / "archive"
    task = base / "Task1_Train:A_Test:B"
    task.mkdir(parents=True)
    (base / "Task2_Train:C_Test:B").mkdir()
    (base / "cat_hier.txt").write_text("1 2 29\n1 2 33\n7 8\n")
    (task / "train.txt").write_text("29 0:5 900:1 30:4\n33 0:6 30:2 900:3\n8 0:9 12:1 900:2 \n\n")
    (task / "test.txt").write_text("8 0:7 30:8 77:1\n29 0:8 77:2 78:1 900:2 900:1\n")
    return tmp_path


def test_compacts_and_scales_on_the_training_split(folder: Path) -> None:
    data = load_lshtc(folder)
    assert data.feature_names.tolist() == ["12", "30", "900"]
    assert data.y_train.tolist() == ["29", "33", "8"]
    assert data.y_test.tolist() == ["8", "29"]
    assert data.document_ids_train.tolist() == [5, 6, 9]
    assert data.X_train.toarray().tolist() == [[0, 1, 0], [0, 0.5, 1], [1, 0, 0.5]]
    # 900 is in every training document: min 1, max 3, so its absence is (0 - 1) / 2
    assert data.X_test.toarray().tolist() == [[0, 2, -0.5], [0, 0, 1]]
    assert (data.n_unseen_features, data.n_unseen_entries) == (2, 3)
    assert data.X_train.dtype == np.float64
    assert sp.issparse(data.X_test)
    assert data.X_test.format == "csr"
    assert data.hierarchy.n_leaves == 3
    assert "3 training and 2 test documents" in data.DESCR


def test_unscaled_counts(folder: Path) -> None:
    data = load_lshtc(folder / "archive", "Task1_Train:A_Test:B", scale=False)
    assert data.X_train.toarray().tolist() == [[0, 4, 1], [0, 2, 3], [1, 0, 2]]


@pytest.mark.parametrize("seed", range(5))
def test_scaling_equals_the_dense_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    train = rng.integers(-1, 4, size=(6, 8)) * (rng.random((6, 8)) < 0.7)
    train[:, 0], train[:, 1] = 3, rng.integers(1, 5, size=6)  # a constant, and one in every row
    test = rng.integers(0, 6, size=(4, 8)).astype(float)
    low, high = feature_range(sp.csr_matrix(train, dtype=float))
    assert low.tolist() == train.min(axis=0).tolist()
    assert high.tolist() == train.max(axis=0).tolist()
    width = np.where(high > low, high - low, np.inf)  # svm-scale leaves constant features out
    scaled = scale_features(sp.csr_matrix(test), low, high)
    np.testing.assert_allclose(scaled.toarray(), (test - low) / width, atol=1e-15)


def test_errors_say_what_is_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no validation\.txt .* are: test, train"):
        load_lshtc(folder, train="validation")
    with pytest.raises(ValueError, match=r"'Task', .*fits 2.*Task1_Train:A_Test:B, Task2"):
        load_lshtc(folder, "Task")
    with pytest.raises(FileNotFoundError, match=r"expected cat_hier\.txt"):
        load_lshtc(folder / "archive" / "Task2_Train:C_Test:B")
    train = folder / "archive" / "Task1_Train:A_Test:B" / "train.txt"
    train.write_text("29 0:5 900:1\n2 0:6 30:2\n")
    with pytest.raises(ValueError, match="label '2' is not a leaf"):
        load_lshtc(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("33 0:6 30", r"document 2: .* got '30'"),
        ("33 0:6 30:x", r"document 2: .* got '30:x'"),
        ("33 0:6 a:1", r"document 2: .* got 'a:1'"),
        ("33,29 0:6 3:1", r"document 2: several labels \(33,29\)"),
        ("0:6 3:1", r"document 2: .* got '0:6 \(as label\)'"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "train.txt"
    file.write_text(f"29 0:5 900:1\n{line}\n8 0:9 12:1\n")
    with pytest.raises(ValueError, match=message):
        read_documents(file)


def test_dry_run_task_1(shared_data: Path) -> None:
    data = load_lshtc(shared_data / "lshtc1_dryrun", "Task1", train="validation")
    tree = "Hierarchy(2388 nodes, 1139 leaves, depth 5, root '<root>')"
    assert repr(data.hierarchy) == tree
    assert data.hierarchy.path("29") == ("<root>", "1", "2", "3", "20", "29")
    assert data.X_train.shape == (1860, 22296)
    assert data.X_test.shape == (1858, 22296)
    assert data.X_train.nnz == 273_624
    assert data.X_train.shape[1] + data.n_unseen_features == 29_726
    assert len(np.unique(data.hierarchy.leaf_index(data.y_train))) == 1139
    assert len(np.unique(data.hierarchy.leaf_index(data.y_test))) == 1139
    np.testing.assert_array_equal(data.X_train.max(axis=0).toarray(), 1)


def test_dry_run_task_2(shared_data: Path) -> None:
    data = load_lshtc(shared_data / "lshtc1_dryrun", "Task2")
    assert data.X_train.shape == (4463, 10794)
    with pytest.raises(FileNotFoundError, match="lack Task 1"):
        load_lshtc(shared_data / "lshtc1_dryrun", "Task1")
