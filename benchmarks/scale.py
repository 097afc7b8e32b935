"""Features of any scale: the same optimum, and how many passes it takes.

    python -m benchmarks.scale [--problems N] [--seed S]

Twelve problems (chains, lattices, trees, functions), each with its first column

- multiplied with 10⁻⁸, 10⁻⁴, 10⁴, 10⁸, or replaced by years or by timestamps. The reference is the
  problem scaled by hand, whose λ for that column is scaled along: its optimum by SciPy's L-BFGS-B
  or by ProxQN to a gap of 1e-9, whichever is lower, and the passes of ProxQN on it;
- with one value of ±10³, 10⁶, 10⁹ or 10¹². Scaled to its largest value such a column would be
  hardly there for all other rows. The optimum is the lowest of ProxQN's without rescaling and
  L-BFGS-B's from where the run ended; the passes are those without the outlier.

All runs stop where the estimated error is 1e-7 of the objective. Exit code 1 unless every objective
is within 1e-6 of its reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.independent import Numbers, as_function
from benchmarks.tables import markdown

from benchmarks import independent
from proxqn import ChainOracle, Hierarchy, ProxQN, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import Floats, Oracle

SAME, TOL = 1e-6, 1e-7
POWERS, OUTLIERS = (-8, -4, 4, 8), (1e3, 1e6, 1e9, 1e12)


@dataclass(frozen=True)
class Problem:
    """A loss of a matrix, and how many coordinates its columns and what follows have."""

    name: str
    X: Floats
    oracle: Callable[[Floats], Oracle]
    width: int
    behind: int = 0
    lam: float = 1.0
    l2: float = 0.0

    def numbers(self, sizes: Floats) -> Numbers:
        """Return the penalty of the problem whose columns have been divided."""
        c = np.append(np.repeat(sizes, self.width), np.ones(self.behind))
        return Numbers.of(len(c), self.lam / c, self.l2 / c / c)


def chain(name: str, seed: int, *, sparse: bool = False, l2: float = 0.0) -> Problem:
    """Return a chain of four labels."""
    X, labels, lengths = _sequences(seed, sparse=sparse)

    def oracle(X: Floats) -> Oracle:
        return ChainOracle(sp.csr_array(X), labels, lengths, n_labels=4)

    return Problem(name, X, oracle, 4, 16, l2=l2)


def lattice(name: str, seed: int, *, of_edges: bool) -> Problem:
    """Return a chain with edge features; the columns in question are the tokens' or the edges'."""
    X, labels, lengths = _sequences(seed, sparse=False)
    other = np.random.default_rng(seed + 1).normal(size=(len(X), 3))

    def oracle(columns: Floats) -> Oracle:
        tokens, edges = (other, columns) if of_edges else (columns, other)
        return LatticeOracle(
            sp.csr_array(tokens), labels, lengths, n_labels=4, edges=sp.csr_array(edges)
        )

    if of_edges:  # their coordinates come last
        return Problem(name, X[:, :4], _Turned(oracle), 16, 12 + 16, lam=2.0)
    return Problem(name, X, oracle, 4, 16 + 48, lam=2.0)


@dataclass(frozen=True)
class _Turned:
    """Marks a problem whose columns' coordinates come behind the others."""

    oracle: Callable[[Floats], Oracle]

    def __call__(self, X: Floats) -> Oracle:
        return self.oracle(X)


def tree(name: str, seed: int, nested: Any, *, sparse: bool = False) -> Problem:
    """Return a label tree."""
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy.from_nested(nested)
    X = _matrix(rng, 300, 10, sparse=sparse)
    n = hierarchy.n_leaves
    leaves = (X @ rng.normal(size=(10, n)) + rng.gumbel(size=(300, n))).argmax(axis=1)
    return Problem(
        name, X, lambda X: TreeOracle(sp.csr_array(X), leaves, hierarchy), len(hierarchy)
    )


def function(name: str, seed: int, of_margin: Callable[[Floats, Floats], Any]) -> Problem:
    """Return the sum of a function of ``Xw`` and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 10))
    y = np.sign(X @ rng.normal(size=10) + rng.normal(size=200))

    def oracle(X: Floats) -> Oracle:
        def fun(w: Floats) -> tuple[float, Floats]:
            value, slope = of_margin(X @ w, y)
            return float(value.sum()), X.T @ slope

        return FunctionOracle(fun, X.shape[1], lower_bound=0.0)

    return Problem(name, X, oracle, 1)


def logistic(z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return values and slopes."""
    return np.logaddexp(0.0, -y * z), -y * np.exp(-np.logaddexp(0.0, y * z))


def squares(z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return values and slopes."""
    return 0.5 * (z - y) ** 2, z - y


def huber(z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return values and slopes of √(1 + r²) - 1."""
    root = np.hypot(1.0, z - y)
    return root - 1.0, (z - y) / root


def problems(seed: int) -> Iterator[Problem]:
    """Yield the twelve."""
    yield chain("chain", seed)
    yield chain("chain, sparse", seed, sparse=True)
    yield chain("chain, ridge", seed + 1, l2=0.1)
    yield chain("chain, another", seed + 2)
    yield lattice("lattice, tokens", seed, of_edges=False)
    yield lattice("lattice, edges", seed, of_edges=True)
    yield tree("multinomial", seed, {"a": [], "b": [], "c": []})
    yield tree("tree", seed, {"a": ["b", "c"], "d": ["e", "f"], "g": []})
    yield tree("tree, sparse", seed, {"a": ["b", "c"], "d": ["e", "f"]}, sparse=True)
    yield function("logistic", seed, logistic)
    yield function("least squares", seed, squares)
    yield function("Huber-like", seed, huber)


def variants(X: Floats) -> Iterator[tuple[str, Floats, float]]:
    """Yield names, matrices and the size of the first column, 0 for that of an outlier."""

    def first(column: Floats) -> Floats:
        return np.column_stack([column, X[:, 1:]])

    for power in POWERS:
        yield f"× 1e{power}", first(10.0**power * X[:, 0]), 10.0**power
    yield "years", first(2010.0 + np.rint(5.0 * X[:, 0])), 2010.0
    yield "timestamps", first(1.7e9 + np.rint(1e7 * X[:, 0])), 1.7e9
    for size in OUTLIERS:
        for sign in (1.0, -1.0):
            other = X.copy()
            other[7, 0] = sign * size
            yield f"value {sign * size:.0e}", other, 0.0


@dataclass(frozen=True)
class Outcome:
    """How a run compares."""

    error: float  # of the objective, relative to the reference
    passes: float
    against: float
    status: str


def compare(problem: Problem, X: Floats, size: float, *, most: int = 3000) -> Outcome:
    """Run it, and what it is compared with; ``most`` iterations of what is to be exact."""
    oracle = problem.oracle(X)
    ones = np.ones(X.shape[1])
    ours = minimize(oracle, x0=_start(oracle), **_penalty(problem, ones), tol=TOL)
    if size:
        sizes = ones.copy()
        sizes[0] = 2.0 ** np.rint(np.log2(size))
        scaled, penalty = problem.oracle(X / sizes), _penalty(problem, sizes)
        by_hand = minimize(scaled, x0=_start(scaled), **penalty, tol=TOL, solver=PLAIN)
        numbers = _numbers(problem, sizes)
        best = minimize(
            scaled, x0=_start(scaled), **penalty, tol=1e-9, stop="gap", max_iter=most, solver=PLAIN
        ).fun
        best = min(best, by_hand.fun, independent.optimum(as_function(scaled), numbers))
        against = by_hand.nfev
    else:
        without = X.copy()
        without[7, 0] = problem.X[7, 0]
        usual = problem.oracle(without)
        against = minimize(usual, x0=_start(usual), **_penalty(problem, ones), tol=TOL).nfev
        best = minimize(
            oracle, x0=_start(oracle), **_penalty(problem, ones), tol=1e-9, max_iter=most,
            solver=PLAIN,
        ).fun  # fmt: skip
        best = min(best, _polished(oracle, _numbers(problem, ones), ours))
    return Outcome(ours.fun / best - 1.0, ours.nfev, against, ours.status.name)


PLAIN = ProxQN(rescale=False)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--seed", type=int, default=100)
    chosen = parser.parse_args(arguments)
    found: dict[str, list[Outcome]] = {}
    for _, problem in zip(range(chosen.problems), problems(chosen.seed), strict=False):
        for name, X, size in variants(problem.X):
            outcome = compare(problem, X, size)
            found.setdefault(name, []).append(outcome)
            if outcome.error > SAME:
                print(f"{problem.name}, {name}: {outcome}", file=sys.stderr)
    print(_table(found))
    return int(any(outcome.error > SAME for row in found.values() for outcome in row))


def _table(found: dict[str, list[Outcome]]) -> str:
    header = [
        "first column",
        "worst error",
        "passes: median ratio",
        "worst",
        "above 2",
        "unconverged",
    ]
    rows = []
    for name, outcomes in found.items():
        ratios = [o.passes / o.against for o in outcomes]
        ended = sum(o.status not in {"ESTIMATE", "GAP"} for o in outcomes)
        rows.append([
            name, f"{max(o.error for o in outcomes):.1e}", f"{np.median(ratios):.2f}",
            f"{max(ratios):.2f}", f"{sum(r > 2 for r in ratios)} of {len(ratios)}", str(ended),
        ])  # fmt: skip
    return markdown(header, rows)


def _numbers(problem: Problem, sizes: Floats) -> Numbers:
    numbers = problem.numbers(sizes)
    if not isinstance(problem.oracle, _Turned):
        return numbers
    return Numbers(*(np.roll(x, problem.behind) for x in vars(numbers).values()))


def _penalty(problem: Problem, sizes: Floats) -> dict[str, Any]:
    return {"penalty": _numbers(problem, sizes).penalty}


def _start(oracle: Oracle) -> Floats:
    return np.zeros(oracle.n_coordinates)


def _polished(oracle: Oracle, numbers: Numbers, ours: Any) -> float:
    """Return where L-BFGS-B gets to from the end of a run."""
    start = ours.weights.dense(len(numbers.lam))
    return independent.optimum(as_function(oracle), numbers, start)


def _sequences(seed: int, *, sparse: bool) -> tuple[Floats, Any, Any]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 9, 80)
    X = _matrix(rng, int(lengths.sum()), 10, sparse=sparse)
    labels = (X @ rng.normal(size=(10, 4)) + rng.gumbel(size=(len(X), 4))).argmax(axis=1)
    return X, labels, lengths


def _matrix(rng: np.random.Generator, n: int, d: int, *, sparse: bool) -> Floats:
    X = rng.normal(size=(n, d))
    if sparse:
        X[:, 1:] = rng.random((n, d - 1)) < 0.2
    return X


if __name__ == "__main__":
    sys.exit(main())
