"""The problems of ``benchmarks.stopping``: every kind of loss, λ from λ_max/3 to λ_max/3000.

Small enough to be solved to 1e-9. ``LOOKED_AT`` are those that the rules were made on; nobody had
looked at those of ``HELD_OUT`` by then, which have seeds of their own, other shapes and other λs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.ablation.problems import CASES, prepare
from benchmarks.generated import Shape, generate
from benchmarks.peers.problem import Problem
from numpy.typing import NDArray

from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.function import FunctionOracle
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Oracle, SparseVector


@dataclass(frozen=True)
class Case:
    """A loss and its penalty.

    Parameters
    ----------
    lam : float
        λ; or, where ``share`` is given, not used.
    share : float, optional
        λ_max / λ.
    data : callable, optional
        Of a chain: to label it.
    """

    name: str
    oracle: Callable[[Path], Oracle]
    lam: float = 0.0
    l2: float = 0.0
    share: float | None = None
    data: Callable[[Path], Problem] | None = None

    def strength(self, folder: Path) -> float:
        """Return λ."""
        if self.share is None:
            return self.lam
        start = self.oracle(folder).at(SparseVector.empty())
        return start.sweep(np.inf).largest / self.share


def _chain(name: str, shape: Shape, pairs: Pairs, seed: int, **penalty: float) -> Case:
    def data(folder: Path) -> Problem:
        return generate(shape, seed)

    def oracle(folder: Path) -> Oracle:
        p = data(folder)
        return ChainOracle(p.X, p.y, p.lengths, n_labels=p.n_labels, pairs=pairs)

    return Case(name, oracle, data=data, **penalty)


def _known(name: str) -> Case:
    case = CASES[name]

    def oracle(folder: Path) -> Oracle:
        prepare(case.data, folder)
        return case.oracle(folder)

    def data(folder: Path) -> Problem:
        return Problem.load(folder / f"{case.data}.npz")

    return Case(name, oracle, case.lam, case.l2, data=data if case.data else None)


def _lattice(name: str, shape: Shape, n_edges: int, seed: int, **penalty: float) -> Case:
    def oracle(folder: Path) -> Oracle:
        p = generate(shape, seed)
        edges = sp.csr_array(p.X[:, :n_edges]).astype(np.float64)
        size = {"n_labels": p.n_labels, "pairs": Pairs.OBSERVED}
        return LatticeOracle(p.X, p.y, p.lengths, edges=edges, **size)

    return Case(name, oracle, **penalty)


def _tree(name: str, shape: Shape, branches: int, seed: int, **penalty: float) -> Case:
    """Let every token be a sample; labels are leaves, so many below a node; 0 for a flat tree."""

    def oracle(folder: Path) -> Oracle:
        p = generate(shape, seed)
        labels = np.arange(p.n_labels)
        groups = {f"group {g}": {} for g in labels // max(branches, 1)}
        for label in labels.tolist():
            groups[f"group {label // max(branches, 1)}"][label] = None
        tree = Hierarchy.from_nested(groups) if branches else Hierarchy.flat(labels)
        return TreeOracle(sp.csr_array(p.X), tree.leaf_index(p.y.tolist()), tree)

    return Case(name, oracle, **penalty)


def _dense(name: str, n_features: int, n_labels: int, seed: int, **penalty: float) -> Case:
    """Make measurements whose neighbours are alike, and labels that depend on a fifth of them."""

    def oracle(folder: Path) -> Oracle:
        rng = np.random.default_rng(seed)
        lengths = np.full(60, 20)
        X = _alike(rng, int(lengths.sum()), n_features)
        W = rng.normal(size=(n_features, n_labels)) * (rng.random((n_features, 1)) < 0.2)
        y = (X @ W + rng.gumbel(size=(len(X), n_labels))).argmax(axis=1)
        return ChainOracle(X, y, lengths, n_labels=n_labels)

    return Case(name, oracle, **penalty)


def _alike(rng: np.random.Generator, n: int, n_features: int) -> NDArray[np.float64]:
    X = rng.normal(size=(n, n_features))
    for j in range(1, n_features):
        X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    return X


def _logistic(scores: Any, y: Any) -> tuple[float, Any]:
    return float(np.logaddexp(0.0, -y * scores).sum()), -y / (1.0 + np.exp(y * scores))


def _poisson(scores: Any, y: Any) -> tuple[float, Any]:
    count = y > 0
    mean = np.exp(np.minimum(scores, 50.0))
    return float((mean - count * scores).sum()), mean - count


def _squares(scores: Any, y: Any) -> tuple[float, Any]:
    return 0.5 * float(((scores - y) ** 2).sum()), scores - y


def _function(name: str, loss: Any, n: int, n_features: int, seed: int, **penalty: float) -> Case:
    """Make a function of one's own: it offers a value and a gradient."""

    def oracle(folder: Path) -> Oracle:
        rng = np.random.default_rng(seed)
        X = _alike(rng, n, n_features)
        w = rng.normal(size=n_features) * (rng.random(n_features) < 0.2)
        y = np.sign(X @ w / 2.0 + rng.logistic(size=n))

        def fun(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            value, slope = loss(X @ w, y)
            return value, X.T @ slope

        return FunctionOracle(fun, n_features, lower_bound=0.0)

    return Case(name, oracle, **penalty)


_TEXT = Shape(400, 18, 9, n_words=4000, n_noise=3000, noise_per_token=3)
_MANY = Shape(150, 25, 40, n_words=2500, n_noise=1500, noise_per_token=2)
_LONG = Shape(12, 600, 6, n_words=3000, n_noise=4000, noise_per_token=4)
_SHORT = Shape(3000, 3, 5, n_words=2000, n_noise=1000, noise_per_token=2)
_TOPICS = Shape(1500, 1, 24, n_words=3000, n_noise=2000, noise_per_token=20)
_STEPS = Shape(120, 15, 5, n_words=800, n_noise=300, noise_per_token=2)

LOOKED_AT = (
    _chain("text-1", _TEXT, Pairs.OBSERVED, 11, lam=1.0),
    _chain("text-0.2", _TEXT, Pairs.OBSERVED, 12, lam=0.2),
    _chain("text-net", _TEXT, Pairs.OBSERVED, 13, lam=0.1, l2=0.2),
    _chain("many-1", _MANY, Pairs.OBSERVED, 15, lam=1.0),
    _chain("long-2", _LONG, Pairs.ALL, 17, lam=2.0),
    _chain("short-0.5", _SHORT, Pairs.ALL, 18, lam=0.5),
    _known("ocr-quick"),
    _known("conll-quick"),
    _tree("topics/30", _TOPICS, 6, 21, share=30.0),
    _tree("topics/300", _TOPICS, 4, 22, share=300.0),
    _lattice("steps/30", _STEPS, 60, 23, share=30.0),
    _lattice("steps-net/300", _STEPS, 60, 24, share=300.0, l2=0.1),
    _function("logistic/10", _logistic, 1000, 300, 25, share=10.0),
    _function("logistic/1000", _logistic, 1000, 300, 26, share=1000.0),
    _function("squares/100", _squares, 500, 400, 27, share=100.0),
)

_TWO = Shape(300, 20, 2, n_words=3000, n_noise=2000, noise_per_token=4)
_HUNDRED = Shape(60, 20, 110, n_words=1500, n_noise=500, noise_per_token=2)
_NEWS = Shape(250, 30, 7, n_words=5000, n_noise=2500, noise_per_token=3)
_PAGES = Shape(25, 200, 12, n_words=2000, n_noise=3000, noise_per_token=3)
_NOTES = Shape(1200, 4, 4, n_words=1500, n_noise=1500, noise_per_token=3)
_SHELVES = Shape(2000, 1, 30, n_words=2500, n_noise=2500, noise_per_token=15)
_TRACKS = Shape(200, 10, 6, n_words=600, n_noise=500, noise_per_token=3)

HELD_OUT = (
    _chain("two/3", _TWO, Pairs.ALL, 101, share=3.0),
    _chain("two/1000", _TWO, Pairs.OBSERVED, 102, share=1000.0),
    _chain("hundred/30", _HUNDRED, Pairs.OBSERVED, 103, share=30.0),
    _chain("news/100", _NEWS, Pairs.OBSERVED, 104, share=100.0),
    _chain("news/3000", _NEWS, Pairs.OBSERVED, 105, share=3000.0),
    _chain("news-net", _NEWS, Pairs.OBSERVED, 106, lam=0.1, l2=0.1),
    _chain("pages/300", _PAGES, Pairs.OBSERVED, 107, share=300.0),
    _chain("notes-all/300", _NOTES, Pairs.ALL, 108, share=300.0),
    _dense("dense/30", 60, 8, 109, share=30.0),
    _dense("dense-net/1000", 60, 5, 110, share=1000.0, l2=0.05),
    _tree("shelves/10", _SHELVES, 5, 111, share=10.0),
    _tree("shelves/300", _SHELVES, 6, 112, share=300.0),
    _tree("flat/100", _SHELVES, 0, 113, share=100.0),
    _lattice("tracks/10", _TRACKS, 80, 114, share=10.0),
    _lattice("tracks/300", _TRACKS, 40, 115, share=300.0),
    _function("logistic-net/100", _logistic, 800, 500, 116, share=100.0, l2=0.01),
    _function("poisson/30", _poisson, 1000, 200, 117, share=30.0),
    _function("squares/1000", _squares, 600, 300, 118, share=1000.0),
)
ALL = {case.name: case for case in (*LOOKED_AT, *HELD_OUT)}
