"""How a step of the tree oracle grows with samples, leaves and nonzero weights."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn.datasets import make_lshtc_like
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import SparseVector

SAMPLES, FEATURES, NONZEROS = 4463, 51033, 5000  # the paper's problem; one of them varies


def growth(tree: Hierarchy, n_jobs: int) -> list[dict[str, Any]]:
    """Milliseconds of one iteration's oracle calls as one size doubles; others as in the paper."""
    trees = [_copies(tree, n) for n in (1, 2, 4)]
    return [
        *(
            _measure("samples", n, tree, n, NONZEROS, n_jobs)
            for n in (SAMPLES // 2, SAMPLES, 2 * SAMPLES, 4 * SAMPLES)
        ),
        *(_measure("leaves", t.n_leaves, t, SAMPLES, NONZEROS, n_jobs) for t in trees),
        *(
            _measure("nonzeros", n, tree, SAMPLES, n, n_jobs)
            for n in (1250, 2500, 5000, 10000, 20000)
        ),
    ]


def _copies(tree: Hierarchy, n: int) -> Hierarchy:
    """Return n copies of the tree below one root."""
    parents = [-1]
    for _ in range(n):
        offset = len(parents) - 1  # node 1 of this copy becomes number offset + 1
        parents += [int(p) + offset if p > 0 else 0 for p in tree.parent[1:]]
    return Hierarchy.from_parents(parents, [f"{k}" for k in range(len(parents))])


def _measure(
    what: str, size: int, tree: Hierarchy, n_samples: int, nonzeros: int, n_jobs: int
) -> dict[str, Any]:
    data = make_lshtc_like(tree, n_samples, FEATURES)
    oracle = TreeOracle(sp.csr_array(data.X), tree.leaf_index(data.y), tree, n_jobs=n_jobs)
    w = _plausible_weights(oracle, nonzeros)
    calls: dict[str, list[float]] = {}

    def timed(name: str, call: Any) -> Any:
        started = time.perf_counter()
        found = call()
        calls.setdefault(name, []).append(1e3 * (time.perf_counter() - started))
        return found

    for _ in range(7):
        start = oracle.at(SparseVector.empty())
        line = timed("move", lambda: start.along(w))  # noqa: B023 - called at once
        timed("forward", lambda: line.value(1.0))  # noqa: B023
        point = timed("backward", lambda: line.accept(1.0))  # noqa: B023
        timed("gradient", lambda: point.gradient(w.coordinates))  # noqa: B023
    for _ in range(3):
        timed("sweep", lambda: point.sweep(1.0))
    best = {name: min(times) for name, times in calls.items()}
    sweep = best.pop("sweep")
    row = {"varied": what, "size": size, "entries": oracle.data.n_entries}
    return row | best | {"iteration": sum(best.values()), "sweep": sweep}


def _plausible_weights(oracle: TreeOracle, nonzeros: int) -> SparseVector:
    """Draw weights as a fit has them: features by how often they occur, nodes at random."""
    rng = np.random.default_rng(0)
    frequency = np.diff(oracle.data.start).astype(float)
    columns = rng.choice(len(frequency), nonzeros, p=frequency / frequency.sum())
    nodes = rng.integers(1, len(oracle.hierarchy), nonzeros)
    coordinates = np.unique(columns * len(oracle.hierarchy) + nodes)
    return SparseVector(coordinates, rng.normal(size=len(coordinates)))
