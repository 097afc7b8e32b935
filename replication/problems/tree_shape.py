"""A tree of the shape of the paper's, for who does not hold the challenge's files."""

from __future__ import annotations

import numpy as np

from proxqn import Hierarchy

# Nodes and leaves at depths 1 to 5 of LSHTC1's cat_hier.txt; with the root 2,388 and 1,139.
NODES = (10, 158, 522, 846, 851)
LEAVES = (0, 0, 42, 246, 851)


def tree_like_the_papers(*, seed: int = 0, share: float = 1.0) -> Hierarchy:
    """Return a random tree with as many nodes and leaves at each depth, or a share of them.

    Every inner node gets a child; the others choose their parents at random.

    Examples
    --------
    >>> tree_like_the_papers()
    Hierarchy(2388 nodes, 1139 leaves, depth 5, root 0)
    """
    rng = np.random.default_rng(seed)
    parents = [-1]
    inner = np.array([0])  # the nodes above that have children
    for n_nodes, n_leaves in zip(NODES, LEAVES, strict=True):
        wanted = max(round(share * n_nodes), len(inner))
        chosen = np.concatenate([inner, rng.choice(inner, wanted - len(inner))])
        nodes = len(parents) + np.arange(wanted)
        parents += rng.permutation(chosen).tolist()
        n_inner = max(wanted - round(share * n_leaves), 1) if n_leaves < n_nodes else 0
        inner = np.sort(rng.choice(nodes, n_inner, replace=False))
    return Hierarchy.from_parents(np.array(parents))
