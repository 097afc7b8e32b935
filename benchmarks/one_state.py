"""One fit by whatever proxqn is on the path, for ``before_after``: figures as a line of JSON.

It speaks only the names that have been public since 0.1.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import proxqn

warnings.simplefilter("ignore")  # old import paths, proofs that do not come


def chain_of(task: dict[str, Any]) -> Any:
    """Return the loss of a chain."""
    from proxqn.oracles.chain import Pairs

    with np.load(task["data"]) as file:
        indices = file["indices"]
        data = file["data"] if "data" in file else np.ones(len(indices), dtype=np.int8)
        X = sp.csr_array((data, indices, file["indptr"]), shape=tuple(file["shape"]))
        pairs = Pairs.OBSERVED if task["observed"] else Pairs.ALL
        return proxqn.ChainOracle(
            X,
            file["y"],
            file["lengths"],
            n_labels=int(file["n_labels"]),
            pairs=pairs,
            n_jobs=task["threads"],
        )


def tree_of(task: dict[str, Any]) -> Any:
    """Return the loss of the newsgroups' tree, posts of length 1, words by log counts."""
    from proxqn.datasets import load_newsgroups_tree
    from proxqn.oracles.tree import TreeOracle

    data = load_newsgroups_tree(task["data"])
    X = sp.csr_array(data.X_train).astype(np.float64)
    X.data = np.log1p(X.data)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-12)) @ X)
    X.sort_indices()
    tree = data.hierarchy
    return TreeOracle(X, tree.leaf_index(list(data.y_train)), tree, n_jobs=task["threads"])


def main() -> None:
    """Solve the task of the command line."""
    task = json.loads(sys.argv[1])
    oracle = tree_of(task) if "tree" in task else chain_of(task)
    proof = {"stop": "gap"} if "stop" in inspect.signature(proxqn.minimize).parameters else {}
    began = time.process_time()
    result = proxqn.minimize(oracle, task["lam"], tol=task["tol"], max_iter=2000, **proof)
    seconds = time.process_time() - began
    calls = result.trace[-1].calls
    weights = result.weights if hasattr(result, "weights") else result.x
    bits = weights.coordinates.tobytes() + weights.values.tobytes()
    found = {
        "cpu": seconds,
        "objective": float(result.fun),
        "passes": calls["forward"] + calls.get("draw", 0),
        "digest": hashlib.sha256(bits).hexdigest(),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
