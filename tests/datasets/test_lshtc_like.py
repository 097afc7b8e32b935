"""Generated documents: same seed same data, and the statistics of the real files."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from proxqn.datasets.lshtc_like import make_lshtc_like
from proxqn.features.hierarchy import Hierarchy

TREE = Hierarchy.from_parents([-1, 0, 0, 1, 1, 2, 2, 2, 4, 4])


def test_same_seed_same_data() -> None:
    first, second, other = (make_lshtc_like(TREE, 60, 800, random_state=seed) for seed in (1, 1, 2))
    assert (first.X != second.X).nnz == 0
    assert first.y.tolist() == second.y.tolist()
    assert (first.X != other.X).nnz > 0


def test_shapes_and_values() -> None:
    data = make_lshtc_like(TREE, 200, 3000)
    assert data.X.shape == (200, 3000)
    assert data.X.min() >= 0
    assert data.X.max() == 1
    assert np.diff(data.X.indptr).min() >= 1
    assert data.coef[0].nnz == 0
    assert data.coef.nnz <= 9 * 20
    TREE.leaf_index(data.y)


def test_labels_follow_the_ground_truth() -> None:
    strong = make_lshtc_like(TREE, 400, 1000, signal=8.0)
    scores = TREE.downward((strong.X @ strong.coef.T).toarray())
    hit = np.mean(np.argmax(scores, axis=1) == TREE.leaf_index(strong.y))
    assert hit == pytest.approx(strong.bayes_accuracy, abs=0.08)
    assert strong.bayes_accuracy > 0.8
    none = make_lshtc_like(TREE, 400, 1000, signal=0.0)
    assert none.bayes_accuracy == pytest.approx(1 / TREE.n_leaves)


def test_too_small_is_an_error() -> None:
    with pytest.raises(ValueError, match="n_features >= 20"):
        make_lshtc_like(TREE, 10, 5)


def test_paper_size_on_the_real_tree(shared_data: Path) -> None:
    file = shared_data / "lshtc1_dryrun" / "dry-run_lshtc_dataset" / "cat_hier.txt"
    with file.open() as lines:
        tree = Hierarchy.from_paths(lines)
    tracemalloc.start()
    data = make_lshtc_like(tree)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # a dense nodes × features array would be 975 MB
    assert data.X.shape == (4463, 51033)
    assert len(np.unique(data.X.indices)) == 51033  # no empty feature
    lengths = np.diff(data.X.indptr)
    # real files: mean 145; 5 %, 50 %, 95 % quantiles 50, 105, 369
    assert lengths.mean() == pytest.approx(145, rel=0.05)
    assert np.quantile(lengths, [0.05, 0.5, 0.95]) == pytest.approx([50, 105, 369], rel=0.15)
