"""Stochastic steps on the tree model (``cpp/stochastic/tree_saga.hpp``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxqn import _kernels
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.stepping.blocks import SampleBlocks
from proxqn.losses.stepping.reach import Reach
from proxqn.losses.stepping.saga import SagaSteps
from proxqn.losses.tree.data import TreeData
from proxqn.problem.penalty import Penalty
from proxqn.problem.stepwise import StochasticOffer

_ENTRY_COST = 1.0  # multiply-adds a weight, in time: a sample's rows hold all nodes side by side


def offer(data: TreeData, penalty: Penalty, n_jobs: int) -> StochasticOffer | None:
    """Return what steps from zero would cost; None where they would take too much memory."""
    size, n = len(data.hierarchy), len(data)
    reach = Reach.of(data.by_feature, data.weights, penalty, size=size, n_own=0)
    return reach.offer(
        n,
        4.0 * size * n,
        lambda: saga_steps(data, penalty, reach, n_jobs),
        entry_cost=_ENTRY_COST,
    )


def saga_steps(data: TreeData, penalty: Penalty, reach: Reach, n_jobs: int) -> SagaSteps:
    """Return steps on the weights within reach."""
    n, tree = len(data), data.hierarchy
    every, ends = np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int64)
    blocks = SampleBlocks(data.by_feature, every, ends, data.weights, reach.kept)

    def kernel(blocks: Any, memory: Any) -> Any:
        return _kernels.TreeSaga(blocks, memory, tree.parent, tree.leaf_nodes, data.leaves)

    kappa = max(_nodes_apart(tree), 1.0)
    return SagaSteps(reach, blocks, None, penalty, kernel, kappa=kappa, n_jobs=n_jobs)


def _nodes_apart(tree: Hierarchy) -> float:
    """Return how many nodes the path of a leaf has alone, beside that of another, in the mean.

    Leaves between which a sample is undecided differ by as many scores on either side.
    """
    share = (tree.leaf_stop - tree.leaf_start) / tree.n_leaves
    return float((share * (1.0 - share)).sum()) / max(1.0 - 1.0 / tree.n_leaves, 0.5)
