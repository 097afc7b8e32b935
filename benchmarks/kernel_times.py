"""The kernels' times at a realistic point: near the optimum of a problem, on its working set."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from benchmarks.peers.problem import Problem
from benchmarks.problems import Spec

from proxqn import _kernels
from proxqn.losses.chain.kernel import chain_kernel
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.chain.scores import SingleScores
from proxqn.penalties import ElasticNet
from proxqn.problem import SparseVector
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
    oracle = ChainOracle(
        problem.X,
        problem.y,
        problem.lengths,
        n_labels=problem.n_labels,
        pairs=Pairs.OBSERVED if spec.observed_only else Pairs.ALL,
    )
    recorder: Any = KernelRecorder()
    solution = ProxQN(single=single).minimize(
        oracle,
        ElasticNet(spec.lam, 0.0),
        SparseVector.empty(),
        tol=TOL,
        max_iter=MAX_ITERATIONS,
        kernels=recorder,
    )
    oracle.set_single(single)
    working = _working_set(oracle, solution.weights, spec.lam)
    sizes = _sizes(problem, oracle, working, recorder, solution.weights)
    times = _oracle_times(oracle, working, spec.lam, repetitions)
    times["Viterbi"] = _viterbi(oracle, problem, solution.weights, repetitions)
    inner, passes = _inner(recorder.descent, repetitions)
    times["inner coordinate descent"] = inner
    times["inner problem's matrix"] = least(
        lambda: _kernels.memory_rows(*recorder.memory), repetitions
    )
    return replace(sizes, passes=passes), times


def _working_set(oracle: ChainOracle, weights: SparseVector, lam: float) -> Any:
    """Return the nonzero coordinates and those near the threshold; the oracle is left there."""
    oracle.reset()
    oracle.move(weights)
    oracle.value_at(1.0)
    oracle.accept(1.0)
    near = oracle.sweep(NEAR * lam).gradient.coordinates
    return np.union1d(near, weights.nonzero().coordinates).astype(np.int64)


def _sizes(
    problem: Problem,
    oracle: ChainOracle,
    working: Any,
    recorder: KernelRecorder,
    weights: SparseVector,
) -> Sizes:
    counts = np.diff(oracle.data.start)
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
        adds=_adds(oracle, working[: len(columns)], counts),
        real=4 if oracle.single else 8,
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
    return n + L if 8 * n + 10 * L < L * L else L * L  # the rule of cpp/listed_product.hpp


def _adds(oracle: ChainOracle, working: Any, counts: Any) -> int:
    """Count by eights of labels: an entry adds all eight, bits add four features of a label."""
    L = oracle.n_labels
    scores = oracle._scores
    rank = scores._rank if isinstance(scores, SingleScores) else np.arange(L)
    eights, n_labels = np.unique(
        working // L * L + rank[working % L] // 8, return_counts=True
    )  # fewer than L eights, so the numbers are apart
    return int(np.minimum(8 * counts[eights // L], n_labels * oracle.layout.n_tokens / 4).sum())


def _oracle_times(
    oracle: ChainOracle, working: Any, lam: float, repetitions: int
) -> dict[str, float]:
    direction = SparseVector(working, np.full(len(working), TINY))
    steps: dict[str, Callable[[], Any]] = {
        "score update": lambda: oracle.move(direction),
        "forward": lambda: oracle.value_at(1.0),
        "backward and marginals": lambda: oracle.accept(1.0),
        "partial gradient": lambda: oracle.gradient(working),
        "full sweep": lambda: oracle.sweep(lam),
    }
    found = dict.fromkeys(steps, np.inf)
    for _ in range(repetitions):  # in the order of an iteration: caches are as they would be
        for name, step in steps.items():
            found[name] = min(found[name], least(step, 1))
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
