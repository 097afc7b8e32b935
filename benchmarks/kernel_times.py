"""The kernels' times at a realistic point: near the optimum of a problem, on its working set."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from benchmarks.peers.problem import Problem
from benchmarks.problems import Spec

from proxqn import _kernels
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.chain.scores import chain_kernel
from proxqn.penalties import ElasticNet
from proxqn.problem import Line, Point, SparseVector
from proxqn.solvers.prox_qn import ProxQN

TOL = 1e-4
MAX_ITERATIONS = 120  # on text the gap closes long after the objective has settled
NEAR = 0.98  # coordinates with |g| above this times λ belong to the working set, as in a new epoch
LEAST_LISTED = -2.0  # a transition: below it all pairs with its label count, for rounding
TINY = 1e-9  # a step that exercises everything and moves next to nothing


@dataclass(frozen=True)
class Sizes:
    """What the floors are computed from."""

    n: int  # tokens
    L: int  # labels
    pairs: int  # of labels that a product with the transitions takes
    E: int  # data entries
    A: int  # coordinates of the working set
    E_A: int  # data entries of their features, once a coordinate
    E_features: int  # data entries of their features, once a feature
    columns: int  # their features
    adds: int  # of a product in single precision: eight labels an entry, or all tokens
    real: int  # bytes of a score: 4 in single precision, as while steps are long, or 8
    n_inner: int  # coordinates of the last inner problem
    m: int  # pairs in its memory
    inner_real: int  # bytes of a number in its rows
    passes: float  # over its coordinates


class KernelRecorder:
    """Stands for the kernels and keeps the arguments of the last inner problem."""

    def __init__(self) -> None:
        self.descent: tuple[Any, ...] = ()
        self.memory: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(_kernels, name)

    def coordinate_descent(self, *args: Any) -> float:
        """Keep the arguments (the first four: w, g, rows [A, 2m or more], m; the last: d)."""
        self.descent = args
        return float(_kernels.coordinate_descent(*args))

    def memory_rows(self, *args: Any) -> bool:
        """Keep the arguments (the first: S [m, A])."""
        self.memory = args
        return bool(_kernels.memory_rows(*args))


def least(work: Callable[[], Any], repetitions: int) -> float:
    """Return the least CPU seconds; wall time would count other users of the machine."""
    taken = []
    for _ in range(repetitions):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def measure(
    problem: Problem, spec: Spec, repetitions: int, *, single: bool
) -> tuple[Sizes, dict[str, float]]:
    """Solve to a gap of 1e-4 or for 120 iterations, then time every kernel there."""
    exact = ChainOracle(
        problem.X,
        problem.y,
        problem.lengths,
        n_labels=problem.n_labels,
        pairs=Pairs.OBSERVED if spec.observed_only else Pairs.ALL,
    )
    recorder: Any = KernelRecorder()
    solution = ProxQN(single=single).minimize(
        exact,
        ElasticNet(spec.lam, 0.0),
        SparseVector.empty(),
        tol=TOL,
        max_iter=MAX_ITERATIONS,
        kernels=recorder,
    )
    rounded = exact.rounded() if single else None
    oracle = rounded or exact
    point = oracle.at(solution.weights)
    near = point.sweep(NEAR * spec.lam, solution.weights.coordinates)
    working = near.gradient.coordinates
    products = _Products(problem, oracle, in_floats=rounded is not None)
    sizes = _sizes(products, working, recorder, solution.weights)
    times = _oracle_times(point, working, spec.lam, repetitions)
    times["Viterbi"] = _viterbi(oracle, problem, solution.weights, repetitions)
    inner, passes = _inner(recorder.descent, repetitions)
    times["inner coordinate descent"] = inner
    times["inner problem's matrix"] = least(
        lambda: _kernels.memory_rows(*recorder.memory), repetitions
    )
    return replace(sizes, passes=passes), times


@dataclass(frozen=True)
class _Products:
    """Products with the data, in one of two precisions."""

    problem: Problem
    oracle: ChainOracle
    in_floats: bool

    @property
    def counts(self) -> Any:
        """Entries of each feature."""
        return np.diff(self.oracle.data.start)

    def adds(self, working: Any) -> int:
        """Count by eights of labels: an entry adds all eight, bits add four features of a label.

        In single precision the frequent labels come first.
        """
        L, n_tokens = self.oracle.n_labels, self.oracle.layout.n_tokens
        rank = np.arange(L)
        if self.in_floats:
            occurs = np.bincount(self.problem.y, minlength=L)
            rank[np.argsort(-occurs, kind="stable")] = np.arange(L)
        eights, n_labels = np.unique(
            working // L * L + rank[working % L] // 8, return_counts=True
        )  # fewer than L eights, so the numbers are apart
        return int(np.minimum(8 * self.counts[eights // L], n_labels * n_tokens / 4).sum())


def _sizes(
    products: _Products, working: Any, recorder: KernelRecorder, weights: SparseVector
) -> Sizes:
    problem, oracle, counts = products.problem, products.oracle, products.counts
    L = oracle.n_labels
    columns = working[working < oracle.data.n_columns * L] // L
    rows = recorder.descent[2]
    return Sizes(
        n=problem.X.shape[0],
        L=L,
        pairs=_pairs(oracle.unpack(weights)[1]),
        E=int(problem.X.nnz),
        A=len(working),
        E_A=int(counts[columns].sum()),
        E_features=int(counts[np.unique(columns)].sum()),
        columns=len(np.unique(columns)),
        adds=products.adds(working[: len(columns)]),
        real=4 if products.in_floats else 8,
        n_inner=rows.shape[0],
        m=recorder.descent[3],
        inner_real=rows.itemsize,
        passes=0.0,
    )


def _pairs(transitions: Any) -> int:
    """Count those with a weight, and a sum over all labels, where that is the cheaper product."""
    L = len(transitions)
    listed = np.where((transitions < LEAST_LISTED).any(axis=0), L, (transitions != 0.0).sum(axis=0))
    n = int(listed.sum())
    pays = 8 * n + 10 * L < L * L  # the rule of cpp/chain/sparse_transitions.hpp
    return n + L if pays else L * L


def _oracle_times(point: Point, working: Any, lam: float, repetitions: int) -> dict[str, float]:
    """Time a step from the point and what is asked where it ends, in the order of an iteration.

    So caches are as they would be.
    """
    direction = SparseVector(working, np.full(len(working), TINY))
    found: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = step()
        found[name] = min(found.get(name, np.inf), time.process_time() - began)
        return result

    for _ in range(repetitions):
        line: Line = timed("score update", partial(point.along, direction))
        timed("forward", partial(line.value, 1.0))
        point = timed("backward and marginals", partial(line.accept, 1.0))
        timed("partial gradient", partial(point.gradient, working))
        timed("full sweep", partial(point.sweep, lam))
    return found


def _viterbi(
    oracle: ChainOracle, problem: Problem, weights: SparseVector, repetitions: int
) -> float:
    coef, transitions = oracle.unpack(weights)
    layout = oracle.layout
    scores = np.zeros((oracle.n_labels, layout.stride))
    scores[:, layout.token_slot] = (problem.X.astype(np.float64) @ coef.T).toarray().T
    kernel = chain_kernel(_kernels, layout, scores, labels=None, weights=None)
    path = np.zeros(layout.stride, dtype=np.int32)
    return least(lambda: kernel.viterbi(transitions, path, 1), repetitions)


def _inner(arguments: tuple[Any, ...], repetitions: int) -> tuple[float, float]:
    *inputs, d = arguments
    passes = 0.0

    def descend() -> None:
        nonlocal passes
        passes = _kernels.coordinate_descent(*inputs, np.zeros_like(d))

    return least(descend, repetitions), passes
