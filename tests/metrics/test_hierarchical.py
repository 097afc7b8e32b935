"""Hierarchical scores: equal to hiclass's, and right where it can be counted by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

from proxqn import HierarchicalClassifier
from proxqn.features.hierarchy import Hierarchy
from proxqn.metrics import (
    hierarchical_f1,
    hierarchical_f1_scorer,
    hierarchical_precision,
    hierarchical_recall,
    hierarchical_scores,
)

TREE = Hierarchy.from_paths(["animal cat", "animal dog tall", "animal dog small", "plant"])


@st.composite
def labelled_trees(draw: st.DrawFn) -> tuple[Hierarchy, list[str], list[str]]:
    """A random tree and two lists of its leaves, names as strings for hiclass."""
    n = draw(st.integers(2, 25))
    parents = [-1] + [draw(st.integers(0, k - 1)) for k in range(1, n)]
    tree = Hierarchy.from_parents(parents, [f"n{k}" for k in range(n)])
    leaves = st.lists(st.sampled_from(tree.leaf_names), min_size=6, max_size=6)
    return tree, draw(leaves), draw(leaves)


def level_matrix(tree: Hierarchy, names: list[str]) -> np.ndarray:
    """Rows of levels without the root, '' where a path is shorter: hiclass's own form."""
    rows = [list(tree.path(name))[1:] for name in names]
    width = int(tree.depth.max())
    return np.array([row + [""] * (width - len(row)) for row in rows], dtype=str)


@pytest.mark.parametrize("average", ["micro", "macro"])
@given(data=labelled_trees())
@settings(deadline=None, max_examples=40)  # the first example pays for hiclass's import
def test_equal_to_hiclass(average: str, data: tuple[Hierarchy, list[str], list[str]]) -> None:
    theirs = pytest.importorskip("hiclass.metrics")
    tree, y_true, y_pred = data
    true, pred = level_matrix(tree, y_true), level_matrix(tree, y_pred)
    ours = hierarchical_scores(y_true, y_pred, tree, average=average)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hiclass warns where nothing is in common
        expected = [
            theirs.precision(true, pred, average),
            theirs.recall(true, pred, average),
            theirs.f1(true, pred, average),
        ]
    np.testing.assert_allclose(ours, expected, rtol=1e-14)


def test_counted_by_hand() -> None:
    y_true, y_pred = ["cat", "tall", "plant"], ["tall", "tall", "cat"]
    # in common 1 + 3 + 0; predicted 3 + 3 + 2; true 2 + 3 + 1
    assert hierarchical_precision(y_true, y_pred, TREE) == 4 / 8
    assert hierarchical_recall(y_true, y_pred, TREE) == 4 / 6
    assert hierarchical_f1(y_true, y_pred, TREE) == pytest.approx(8 / 14)
    macro = hierarchical_scores(y_true, y_pred, TREE, average="macro")
    assert macro == pytest.approx(((1 / 3 + 1) / 3, (1 / 2 + 1) / 3, (2 / 5 + 1) / 3))


def test_flat_tree_gives_accuracy() -> None:
    tree = Hierarchy.flat([1, 2, 3])
    assert hierarchical_scores(np.array([1, 2, 3, 3]), [1, 2, 3, 1], tree) == (0.75, 0.75, 0.75)


def test_inner_nodes_stop_early() -> None:
    assert hierarchical_scores(["tall"], ["dog"], TREE) == pytest.approx((1, 2 / 3, 4 / 5))
    assert hierarchical_scores(["tall"], ["<root>"], TREE) == (0, 0, 0)


def test_errors() -> None:
    with pytest.raises(ValueError, match="same length"):
        hierarchical_scores(["cat"], ["cat", "cat"], TREE)
    with pytest.raises(ValueError, match="average='micro' or 'macro', got 'weighted'"):
        hierarchical_scores(["cat"], ["cat"], TREE, average="weighted")
    with pytest.raises(ValueError, match="'mouse'"):
        hierarchical_scores(["mouse"], ["cat"], TREE)


def test_the_scorer_works_in_a_search():
    tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "plant": ["oak", "fig"]})
    X, y = np.tile(np.eye(4), (6, 1)), np.tile(["cat", "dog", "oak", "fig"], 6)
    search = GridSearchCV(
        HierarchicalClassifier(tree), {"lam": [0.1, 100.0]}, cv=3,
        scoring=hierarchical_f1_scorer(tree), error_score="raise",
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"lam": 0.1}
    assert search.best_score_ == 1.0
    worst = hierarchical_f1(y, search.estimator.set_params(lam=100.0).fit(X, y).predict(X), tree)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(worst)
