"""ICD-10-CM: the tree cut at categories, a split that leaks nothing, and the missing package."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.utils import Bunch

from proxqn.datasets.icd10 import load_icd10cm


@pytest.fixture(scope="module")
def data() -> Bunch:
    pytest.importorskip("simple_icd_10_cm")
    return load_icd10cm()


def test_tree_is_cut_at_three_characters(data: Bunch) -> None:
    tree = data.hierarchy
    assert tree.depth.max() == 3
    assert tree.n_leaves > 1900  # 1,918 in the version of April 2026
    assert all(len(name) == 3 for name in tree.leaf_names)
    assert tree.path("A00") == ("<root>", "chapter 1", "A00-A09", "A00")
    assert tree.path("C50")[2] == "C50-C50"  # a block of one category keeps a name of its own
    assert data.node_descriptions["A00"] == "Cholera"
    assert set(data.node_descriptions) == set(tree.names[1:])


def test_every_leaf_is_trained_and_no_text_is_in_both_splits(data: Bunch) -> None:
    trained = data.hierarchy.leaf_index(data.y_train)
    assert len(np.unique(trained)) == data.hierarchy.n_leaves
    data.hierarchy.leaf_index(data.y_test)
    assert not set(data.text_train) & set(data.text_test)
    share = len(data.text_test) / (len(data.text_train) + len(data.text_test))
    assert share == pytest.approx(0.2, abs=0.02)
    assert len(data.text_train) == len(data.y_train)
    assert "Classical cholera" in data.text_train + data.text_test
    assert not any(", initial encounter" in text for text in data.text_train)


def test_options(data: Bunch) -> None:
    fewer = load_icd10cm(inclusion_terms=False, test_share=0.0)
    assert fewer.text_test == []
    assert "Classical cholera" not in fewer.text_train
    again = load_icd10cm()
    assert again.text_test == data.text_test
    with pytest.raises(ValueError, match="0 <= test_share < 1"):
        load_icd10cm(test_share=1.0)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simple_icd_10_cm", None)
    with pytest.raises(ImportError, match=r"pip install proxqn\[icd\]"):
        load_icd10cm()
