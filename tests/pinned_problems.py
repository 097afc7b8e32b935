"""Problems whose optimum and cost are written down in ``pinned.json``, and how they are solved.

``python -m tests.pinned_problems`` shows what differs from the file; with ``--write`` it renews it.
Do so where a count falls for good, or rises for a reason that the commit tells; an optimum does not
change.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.drawing import DrawingLogistic
from tests.lattice_problems import random_lattice
from tests.points import Logistic
from tests.problems import random_chain
from tests.rival_problems import small_tree
from tests.strangers import Rounding, Sampled

from proxqn import ProxQN, lambda_max, minimize
from proxqn.datasets import load_ocr
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem.oracle import Oracle

FILE = Path(__file__).with_name("pinned.json")
PROVED = 1e-6  # of the objective: what the counts are for
CLOSE, DIGITS = 1e-10, 10  # so closely an optimum is found
ROUGH = 1e-3  # of the rivals


def letters(n: int, **options: Any) -> ChainOracle:
    """The OCR data that come with the package: pixels of so many words."""
    data = load_ocr(degree=1)
    lengths = data.lengths_train[:n]
    rows = int(lengths.sum())
    labels = np.searchsorted(data.target_names, data.y_train[:rows])
    return ChainOracle(data.X_train[:rows], labels, lengths, n_labels=26, **options)


def words(seed: int, n_words: int, n_labels: int, **options: Any) -> ChainOracle:
    """Words by Zipf's law, each with those beside it: many columns, most of them rare."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 20, size=150)
    n = int(lengths.sum())
    word = np.minimum(rng.zipf(1.4, size=n) - 1, n_words - 1)
    labels = np.where(rng.random(n) < 0.7, word % n_labels, rng.integers(n_labels, size=n))
    around = np.column_stack([word, np.roll(word, 1) + n_words, np.roll(word, -1) + 2 * n_words])
    start = np.arange(0, around.size + 1, 3)
    X = sp.csr_array((np.ones(around.size), around.ravel(), start), shape=(n, 3 * n_words))
    return ChainOracle(X, labels, lengths, n_labels=n_labels, **options)


def embeddings(seed: int) -> ChainOracle:
    """A number in every column of every token."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 24))
    labels = (X[:, :6] + rng.gumbel(size=(900, 6))).argmax(axis=1)
    return ChainOracle(X, labels, np.full(90, 10), n_labels=6)


def taxonomy(seed: int, depth: int) -> TreeOracle:
    """A whole binary tree, and documents whose words tell the way."""
    rng = np.random.default_rng(seed)
    parents = [-1, *((k - 1) // 2 for k in range(1, 2 ** (depth + 1) - 1))]
    tree = Hierarchy.from_parents(parents)
    X = sp.random_array((250, 120), density=0.1, rng=rng, format="csr")
    rule = 3.0 * rng.normal(size=(120, tree.n_leaves)) * (rng.random((120, tree.n_leaves)) < 0.2)
    leaves = (X @ rule + rng.gumbel(size=(250, tree.n_leaves))).argmax(axis=1)
    return TreeOracle(X, leaves, tree)


LOSSES: dict[str, Callable[[], Oracle]] = {
    "function": lambda: Logistic(3, n=300, d=60).oracle(),
    "wide function": lambda: Logistic(5, n=80, d=200).oracle(),
    "draws": lambda: DrawingLogistic(Logistic(3, n=300, d=60)),
    "sample": lambda: Sampled(Logistic(0, n=12_000, d=12)),
    "single": lambda: Rounding(Logistic(3, n=300, d=60)),
    "tree": lambda: small_tree(1),
    "weighted tree": lambda: small_tree(3),
    "taxonomy": lambda: taxonomy(0, depth=4),
    "chain": lambda: random_chain(1, n_labels=6, n_features=40, n_sequences=300).oracle(),
    "weighted chain": lambda: (
        random_chain(2, n_labels=4, n_features=30, n_sequences=200).with_weights().oracle()
    ),
    "real chain": lambda: random_chain(
        3, n_labels=5, n_features=30, n_sequences=200, binary=False
    ).oracle(),
    "long chain": lambda: random_chain(
        4, n_labels=3, n_features=20, lengths=[400, 1, 250]
    ).oracle(),
    "large chain": lambda: random_chain(
        6, n_labels=5, n_features=300, n_sequences=3000, density=0.02
    ).oracle(),
    "words": lambda: words(0, 300, 8),
    "observed words": lambda: words(1, 300, 8, pairs=Pairs.OBSERVED),
    "many labels": lambda: words(2, 120, 30, pairs=Pairs.OBSERVED),
    "embeddings": lambda: embeddings(0),
    "letters": lambda: letters(150),
    "observed letters": lambda: letters(150, pairs=Pairs.OBSERVED),
    "lattice": lambda: random_lattice(5, n_labels=4, n_features=25, n_sequences=120).oracle(),
    "observed lattice": lambda: random_lattice(
        6, n_labels=4, n_features=25, n_sequences=120
    ).oracle(pairs=Pairs.OBSERVED),
}

SHARE = 0.05  # of the λ at which all weights are zero


def penalty(name: str, oracle: Oracle) -> dict[str, Any]:
    """Return what makes the penalty in a call of ``minimize``."""
    lam, n = SHARE * lambda_max(oracle), oracle.n_coordinates
    return {
        "lam": {"lam": lam},
        "small lam": {"lam": 0.1 * lam},
        "boxed": {"lam": lam, "bounds": (0.0, 0.3)},
        "a lam each": {"lam": lam * np.linspace(0.5, 2.0, n)},
        "ridge": {"lam": lam, "l2": 0.3},
        "ridges": {"lam": lam, "l2": np.where(np.arange(n) % 2 == 0, 0.3, 0.0)},
    }[name]


ALL = ("lam", "boxed", "a lam each", "ridges")
PROBLEMS: dict[str, tuple[str, ...]] = {  # penalties of each loss
    "function": (*ALL, "small lam", "ridge"),
    "wide function": ("lam", "ridge"),
    "draws": ("lam",),
    "sample": ("lam",),
    "single": ("lam",),
    "tree": (*ALL, "small lam"),
    "weighted tree": ("lam",),
    "taxonomy": ("lam", "ridge"),
    "chain": (*ALL, "small lam", "ridge"),
    "weighted chain": ("lam", "ridge"),
    "real chain": ("lam",),
    "long chain": ("lam",),
    "large chain": ("lam",),
    "words": ("lam", "small lam", "ridge"),
    "observed words": ("lam", "small lam", "boxed"),
    "many labels": ("lam",),
    "embeddings": ("lam", "ridge"),
    "letters": ("lam",),
    "observed letters": ("lam", "ridge"),
    "lattice": ALL,
    "observed lattice": ("lam",),
}
WAYS: dict[str, tuple[str, ...]] = {  # other ways to the same optimum than the default
    "function": ("paper", "estimate", "prox-gd", "owl-qn"),
    "draws": ("paper", "estimate"),
    "sample": ("paper", "estimate"),
    "single": ("paper", "estimate"),
    "tree": ("paper", "estimate", "prox-gd", "owl-qn"),
    "chain": ("paper", "estimate", "prox-gd", "owl-qn"),
    "large chain": ("paper", "estimate"),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {"solver": ProxQN.paper(), "tol": PROVED},
    "estimate": {"stop": "estimate", "tol": PROVED},
    "prox-gd": {"solver": "prox-gd", "tol": ROUGH},
    "owl-qn": {"solver": "owl-qn", "tol": ROUGH},
}
OPTIMA = [f"{loss}, {name}" for loss, names in PROBLEMS.items() for name in names]
DETOURS = [f"{loss}, lam, {way}" for loss, ways in WAYS.items() for way in ways]


@dataclass(frozen=True)
class Found:
    """What a problem's solution is, and what it took: passes and sweeps."""

    objective: str
    nonzeros: int
    forward: float
    backward: float
    sweeps: float

    @property
    def counts(self) -> tuple[float, float, float]:
        return self.forward, self.backward, self.sweeps


@cache
def solve(name: str) -> Found:
    """Solve a problem: to the last digit, and count what its proof takes; or in another way."""
    loss, penalty_name, *way = name.split(", ")
    oracle = LOSSES[loss]()
    options = {"tol": CLOSE, "stop": "gap", "max_iter": 5000} | penalty(penalty_name, oracle)
    result = minimize(oracle, **(options | (OPTIONS[way[0]] if way else {})))
    rows = iter(result.trace)
    row = next((r for r in rows if r.gap <= PROVED * abs(r.objective)), None)
    if way:
        assert result.success, result.message
        row = result.trace[-1]
    assert row is not None, result.message
    calls = row.calls
    counts = (round(calls[kind], 2) for kind in ("forward", "backward", "sweep"))
    return Found(f"{result.fun:#.{DIGITS}g}", result.nnz, *counts)


def pinned() -> dict[str, Found]:
    """Return what the file says."""
    return {name: Found(**row) for name, row in json.loads(FILE.read_text()).items()}


def write(found: dict[str, Found]) -> None:
    """Renew the file, a line a problem."""
    rows = [f"  {json.dumps(name)}: {json.dumps(asdict(row))}" for name, row in found.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    before = pinned() if FILE.exists() else {}
    found = {}
    for name in OPTIMA + DETOURS:
        found[name] = solve(name)
        if found[name] != before.get(name):
            print(f"{name}: {found[name]}, pinned {before.get(name)}", flush=True)
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
