"""Precision, recall and F1 that credit a wrong leaf for the part of its path that is right.

For sample i let α_i be the predicted node with its ancestors and β_i the true one with its
ancestors, the root left out (every pair shares it). With c_i = |α_i ∩ β_i|:

    micro:  hP = Σ c_i / Σ |α_i|,    hR = Σ c_i / Σ |β_i|,    hF = 2 hP hR / (hP + hR)
    macro:  the same per sample, then the mean over samples

(Silla and Freitas, 2011; the definitions and the values of ``hiclass.metrics``.) In a tree c_i is
the depth of the lowest common ancestor. hiclass knows no root: where all its rows begin with one
and the same class, build the tree with ``Hierarchy.from_paths(rows, root=...)`` to count it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from proxqn.features.hierarchy import Hierarchy

Average = Literal["micro", "macro"]


class HierarchicalScores(NamedTuple):
    """Hierarchical precision, recall and F1 of one set of predictions."""

    precision: float
    recall: float
    f1: float


def hierarchical_scores(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    hierarchy: Hierarchy,
    *,
    average: Average = "micro",
) -> HierarchicalScores:
    """Hierarchical precision, recall and F1 at once.

    Parameters
    ----------
    y_true, y_pred : node names, length n_samples
        Leaves as a rule; an inner node stands for a label or a prediction that stops early.
    hierarchy : Hierarchy
        The tree the names belong to.
    average : {"micro", "macro"}
        Sums over all samples before dividing, or the mean of each sample's score.

    Returns
    -------
    HierarchicalScores
        A named tuple. Where nothing is in common the score is 0 (hiclass's default, without its
        warning).

    Examples
    --------
    >>> tree = Hierarchy.from_paths(["animal cat", "animal dog", "plant oak"])
    >>> hierarchical_scores(["cat", "oak"], ["dog", "oak"], tree)
    HierarchicalScores(precision=0.75, recall=0.75, f1=0.75)
    """
    common, n_pred, n_true = _path_overlaps(y_true, y_pred, hierarchy)
    if average == "micro":
        common, n_pred, n_true = (counts.sum(keepdims=True) for counts in (common, n_pred, n_true))
    elif average != "macro":
        raise ValueError(f"expected average='micro' or 'macro', got {average!r}.")
    return HierarchicalScores(
        precision=_mean_ratio(common, n_pred),
        recall=_mean_ratio(common, n_true),
        # 2PR/(P+R) with P = c/|α| and R = c/|β|; this form has no 0/0 where c = 0
        f1=_mean_ratio(2 * common, n_pred + n_true),
    )


def hierarchical_precision(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    hierarchy: Hierarchy,
    *,
    average: Average = "micro",
) -> float:
    """Share of the predicted nodes (leaf and ancestors, no root) that are true; see the module.

    >>> tree = Hierarchy.from_paths(["animal cat", "animal dog", "plant oak"])
    >>> hierarchical_precision(["cat"], ["dog"], tree)
    0.5
    """
    return hierarchical_scores(y_true, y_pred, hierarchy, average=average).precision


def hierarchical_recall(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    hierarchy: Hierarchy,
    *,
    average: Average = "micro",
) -> float:
    """Share of the true nodes (leaf and ancestors, no root) that are predicted; see the module."""
    return hierarchical_scores(y_true, y_pred, hierarchy, average=average).recall


def hierarchical_f1(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    hierarchy: Hierarchy,
    *,
    average: Average = "micro",
) -> float:
    """Harmonic mean of hierarchical precision and recall; see the module."""
    return hierarchical_scores(y_true, y_pred, hierarchy, average=average).f1


def hierarchical_f1_scorer(hierarchy: Hierarchy, *, average: Average = "micro") -> Any:
    """Return a scorer for scikit-learn's searches, whose estimators predict nodes of the tree.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> tree = Hierarchy.from_paths(["animal cat", "animal dog", "plant oak"])
    >>> always_cat = DummyClassifier(strategy="constant", constant="cat")
    >>> X, y = np.zeros((3, 1)), ["cat", "dog", "oak"]
    >>> hierarchical_f1_scorer(tree)(always_cat.fit(X, y), X, y)
    0.5
    """
    from sklearn.metrics import make_scorer

    return make_scorer(hierarchical_f1, hierarchy=hierarchy, average=average)


def _path_overlaps(
    y_true: Iterable[Any], y_pred: Iterable[Any], hierarchy: Hierarchy
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    # Per sample: nodes in common, nodes predicted, nodes true. Cost n_samples × depth.
    true, pred = hierarchy.node_index(y_true), hierarchy.node_index(y_pred)
    if len(true) != len(pred) or len(true) == 0:
        raise ValueError(
            "expected y_true and y_pred of the same length, at least 1; "
            f"got {len(true)} and {len(pred)}."
        )
    depth = hierarchy.depth.astype(np.int64)
    return depth[_meeting(true, pred, hierarchy)], depth[pred], depth[true]


def _meeting(
    a: npt.NDArray[np.int32], b: npt.NDArray[np.int32], hierarchy: Hierarchy
) -> npt.NDArray[np.int32]:
    """Return the lowest node above both of each pair, themselves included."""
    a, b, parent, depth = a.copy(), b.copy(), hierarchy.parent, hierarchy.depth
    apart = np.flatnonzero(a != b)
    while apart.size:  # the deeper goes up, or both
        below = depth[a[apart]] - depth[b[apart]]
        for nodes, rises in ((a, apart[below >= 0]), (b, apart[below <= 0])):
            nodes[rises] = parent[nodes[rises]]
        apart = apart[a[apart] != b[apart]]
    return a


def _mean_ratio(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64]) -> float:
    # whole is 0 only where a label is the root itself: no nodes, no credit
    return float(np.mean(part / np.maximum(whole, 1)))
