"""Small random chains and trees on which all solvers can be run to the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.problems import random_chain

from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.path import lambda_max
from proxqn.problem.oracle import Oracle


def small_chain(seed: int, **options: Any) -> ChainOracle:
    rng = np.random.default_rng(seed)
    problem = random_chain(
        seed,
        n_labels=int(rng.integers(2, 12)),
        n_features=int(rng.integers(4, 20)),
        n_sequences=int(rng.integers(20, 60)),
        max_length=int(rng.integers(2, 9)),
        binary=bool(seed % 2),
        density=0.3,
    )
    if seed % 3 == 0:
        problem = problem.with_weights(seed)
    pairs = Pairs.OBSERVED if seed % 5 == 4 else Pairs.ALL
    return problem.oracle(pairs=pairs, **options)


def small_tree(seed: int, **options: Any) -> TreeOracle:
    """Leaves follow a noisy linear rule."""
    rng = np.random.default_rng(seed)
    n_nodes, n_samples = int(rng.integers(5, 20)), int(rng.integers(30, 80))
    n_features = int(rng.integers(4, 12))
    tree = Hierarchy.from_parents([-1, *(int(rng.integers(0, k)) for k in range(1, n_nodes))])
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.5)
    rule = rng.normal(size=(n_features, tree.n_leaves))
    noise = 0.5 * rng.gumbel(size=(n_samples, tree.n_leaves))
    weight = rng.uniform(0.1, 3.0, n_samples) if seed % 3 == 0 else None
    leaves = (X @ rule + noise).argmax(axis=1)
    return TreeOracle(sp.csr_array(X), leaves, tree, sample_weight=weight, **options)


PROBLEMS = {f"chain-{seed}": (small_chain, seed) for seed in range(5)} | {
    f"tree-{seed}": (small_tree, seed) for seed in range(5)
}


def problem(name: str, **options: Any) -> tuple[Oracle, float]:
    """Return the oracle and a λ that leaves a good part of the weights at zero."""
    make, seed = PROBLEMS[name]
    oracle = make(seed, **options)
    return oracle, 0.1 * lambda_max(oracle)
