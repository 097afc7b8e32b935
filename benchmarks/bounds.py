"""Whether ``objective - gap`` is below the optimum, to the last bit: small random problems.

    python -m benchmarks.bounds [--problems 10000] [--seed 0] [--digits 50]

Chains, lattices, label trees and functions, with values from 10⁻³ to 10⁶ in size, ridge terms and
weights of samples. The optimum is bounded from above by the objective at a solution of a tighter
tolerance, summed by enumeration in numbers of 50 digits; a printed bound above that is an error.
Exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import scipy.sparse as sp

from proxqn import ChainOracle, Hierarchy, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.penalties import ElasticNet
from proxqn.problem import Floats, Oracle


@dataclass(frozen=True)
class Problem:
    """A loss, and the scores of all outcomes of each sample: ``features[i][k] · w``."""

    name: str
    oracle: Oracle
    features: list[Floats]  # of each sample [outcomes, coordinates]; the true one first
    weights: Floats
    lam: float
    l2: float


def chain(rng: np.random.Generator, *, edges: bool) -> Problem:
    """Return a chain of two or three labels, with edge features or without."""
    n_labels, d, n = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    lengths = rng.integers(1, 4, n)
    T = int(lengths.sum())
    X, labels = _matrix(rng, T, d), rng.integers(0, n_labels, T)
    weights = rng.uniform(0.2, 3.0, n)
    more: dict[str, Any] = {"n_labels": n_labels, "sample_weight": weights}
    E = np.zeros((T, 0))
    if edges:
        E = _matrix(rng, T, 2)
        oracle: Any = LatticeOracle(sp.csr_array(X), labels, lengths, edges=sp.csr_array(E), **more)
        found_edges = oracle._model.patterns.columns
    else:
        oracle = ChainOracle(sp.csr_array(X), labels, lengths, **more)
        found_edges = np.arange(0)
    columns, rows = oracle.data.columns, []
    n_states, n_pairs = len(columns) * n_labels, n_labels**2
    for first, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
        truth = tuple(labels[first : first + length].tolist())
        others = (y for y in itertools.product(range(n_labels), repeat=int(length)) if y != truth)
        outcomes = []
        for y in [truth, *others]:
            phi = np.zeros((int(length), oracle.n_coordinates))
            for t in range(int(length)):
                phi[t, np.arange(len(columns)) * n_labels + y[t]] += X[first + t, columns]
                if t:
                    pair = y[t - 1] * n_labels + y[t]
                    phi[t, n_states + pair] += 1.0
                    behind = n_states + n_pairs + np.arange(len(found_edges)) * n_pairs + pair
                    phi[t, behind] += E[first + t, found_edges]
            outcomes.append(phi)
        rows.append(np.array(outcomes))
    name = "lattice" if edges else "chain"
    return Problem(name, oracle, rows, weights, *_strengths(rng))


def tree(rng: np.random.Generator) -> Problem:
    """Return a label tree."""
    hierarchy = Hierarchy.from_nested({"a": ["b", "c"], "d": ["e", "f"], "g": []})
    n, d = int(rng.integers(3, 12)), int(rng.integers(1, 5))
    X, leaves = _matrix(rng, n, d), rng.integers(0, hierarchy.n_leaves, n)
    weights = rng.uniform(0.2, 3.0, n)
    oracle = TreeOracle(sp.csr_array(X), leaves, hierarchy, sample_weight=weights)
    columns, n_nodes = oracle.data.columns, len(hierarchy)
    paths = []
    for leaf in hierarchy.leaf_nodes.tolist():
        path, node = [], leaf
        while node > 0:
            path.append(node)
            node = int(hierarchy.parent[node])
        paths.append(path)
    rows = []
    for i in range(n):
        order = [leaves[i], *(k for k in range(len(paths)) if k != leaves[i])]
        phi = np.zeros((len(order), 1, oracle.n_coordinates))
        for k, leaf in enumerate(order):
            for node in paths[leaf]:
                phi[k, 0, np.arange(len(columns)) * n_nodes + node] += X[i, columns]
        rows.append(phi)
    return Problem("tree", oracle, rows, weights, *_strengths(rng))


def function(rng: np.random.Generator) -> Problem:
    """Return logistic regression as a function with a lower bound."""
    n, d = int(rng.integers(3, 20)), int(rng.integers(1, 6))
    X = _matrix(rng, n, d)

    def loss(w: Floats) -> tuple[float, Floats]:
        z = X @ w
        return float(np.logaddexp(0.0, -z).sum()), -X.T @ np.exp(-np.logaddexp(0.0, z))

    rows = [np.array([[x], [0.0 * x]]) for x in X]
    oracle = FunctionOracle(loss, d, lower_bound=0.0)
    return Problem("function", oracle, rows, np.ones(n), *_strengths(rng))


KINDS: list[Callable[[np.random.Generator], Problem]] = [
    lambda rng: chain(rng, edges=False),
    lambda rng: chain(rng, edges=True),
    tree,
    function,
]


def exact_objective(problem: Problem, w: Floats) -> Decimal:
    """Return the objective at w, in numbers of many digits."""
    used = np.flatnonzero(w)
    exact = [Decimal(float(w[j])) for j in used]
    total = Decimal(0)
    for phi, factor in zip(problem.features, problem.weights, strict=True):
        scores = [_score(outcome[:, used], exact) for outcome in phi]
        top = max(scores)
        log_z = top + sum((s - top).exp() for s in scores).ln()
        total += Decimal(float(factor)) * (log_z - scores[0])
    lam, l2 = Decimal(problem.lam), Decimal(problem.l2)
    return total + sum((lam * abs(v) + l2 / 2 * v * v for v in exact), Decimal(0))


def _score(rows: Floats, weights: list[Decimal]) -> Decimal:
    terms = (Decimal(float(x)) * v for row in rows for x, v in zip(row, weights, strict=True) if x)
    return sum(terms, Decimal(0))


def check(problem: Problem, rng: np.random.Generator) -> str | None:
    """Return what is wrong with its bounds; None if nothing is."""
    penalty, tol = ElasticNet(problem.lam, problem.l2), float(10.0 ** rng.uniform(-12, -1))
    stop = "gap" if rng.random() < 0.7 else "estimate"
    n = problem.oracle.n_coordinates
    known: dict[str, Any] = {"penalty": penalty, "x0": np.zeros(n), "max_iter": 200}
    rough = minimize(problem.oracle, **known, tol=tol, stop=stop)
    best = minimize(problem.oracle, **known, tol=1e-14, stop="gap")
    upper = min(exact_objective(problem, r.weights.dense(n)) for r in (rough, best))
    for result in (rough, best):
        if not np.isfinite(result.gap):
            continue
        above = Decimal(result.fun - result.gap) - upper
        if above > 0:
            return f"{problem.name}: bound above the optimum by {above / upper:.1e} of it"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Check problems and print how many were right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--digits", type=int, default=50)
    chosen = parser.parse_args(arguments)
    getcontext().prec = chosen.digits
    wrong = 0
    for seed in range(chosen.seed, chosen.seed + chosen.problems):
        rng = np.random.default_rng(seed)
        said = check(KINDS[seed % len(KINDS)](rng), rng)
        if said is not None:
            wrong += 1
            print(f"seed {seed}: {said}", file=sys.stderr)
    print(f"{chosen.problems} problems, {wrong} bounds above the optimum")
    return int(wrong > 0)


def _matrix(rng: np.random.Generator, n: int, d: int) -> Floats:
    sizes = 10.0 ** rng.uniform(-3, 6, d) if rng.random() < 0.3 else np.ones(d)
    X = rng.normal(size=(n, d)) * sizes
    return np.where(rng.random((n, d)) < 0.8, X, 1.0)


def _strengths(rng: np.random.Generator) -> tuple[float, float]:
    return float(10.0 ** rng.uniform(-2, 1)), float(rng.choice([0.0, 0.0, 0.3]))


if __name__ == "__main__":
    sys.exit(main())
