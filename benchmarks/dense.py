"""Dense real features, as of embeddings: kernels beside BLAS, a fit, and its memory.

    python -m benchmarks.dense [--sequences 2000] [--features 500] [--labels 100] [--lam 60]
                               [--n-jobs 1] [--sparse] [--kernels]

The problem has the shape of python-crfsuite's issue 40: sequences of 30 tokens, X normal float32,
labels drawn from a chain with one weight in twenty. ``--sparse`` fits the same data as a CSR
matrix; ``--kernels`` times products instead of fitting. Times are of the processor, so that what
else runs on the machine counts little; with more than one thread they are wall clock.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from proxqn import _kernels, minimize
from proxqn.losses.chain.oracle import ChainOracle
from proxqn.problem import Line
from proxqn.problem.sparse import SparseVector

LENGTH = 30
SHARE = 0.05  # of the pairs that have a weight
ERRORS = 1e-2, 1e-3, 1e-4
Problem = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]


def problem(n_sequences: int, n_features: int, n_labels: int, seed: int = 0) -> Problem:
    """Return features, labels and lengths; a hundred sequences at a time, to save memory."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_sequences * LENGTH, n_features), dtype=np.float32)
    has_weight = rng.random((n_features, n_labels)) < SHARE
    truth = (has_weight * rng.normal(0, 0.6, (n_features, n_labels))).astype(np.float32)
    transitions = rng.normal(0, 0.5, (n_labels, n_labels))
    labels, step = [], 100 * LENGTH
    with threadpool_limits(1):  # its threads only wait for each other on so little
        for first in range(0, len(X), step):
            scores = (X[first : first + step] @ truth).astype(float)
            labels.append(draw(scores.reshape(-1, LENGTH, n_labels), transitions, rng))
    return X, np.concatenate(labels), np.full(n_sequences, LENGTH)


def draw(
    scores: NDArray[np.float64], transitions: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw labels of the chains with these scores [n, t, L]: backward sums, then forward draws."""
    after, factors = np.zeros_like(scores), np.exp(transitions.T)
    for t in range(scores.shape[1] - 1, 0, -1):
        onward = scores[:, t] + after[:, t]
        top = onward.max(axis=1, keepdims=True)
        after[:, t - 1] = top + np.log(np.exp(onward - top) @ factors)
    labels = np.zeros(scores.shape[:2], dtype=np.int64)
    for t in range(scores.shape[1]):
        given = scores[:, t] + after[:, t] + (transitions[labels[:, t - 1]] if t else 0.0)
        labels[:, t] = (given + rng.gumbel(size=given.shape)).argmax(axis=1)
    return labels.ravel()


def best(run: Callable[[], object], clock: Callable[[], float], times: int = 5) -> float:
    """Return the least milliseconds of a few runs."""
    found = []
    for _ in range(times):
        begin = clock()
        run()
        found.append(clock() - begin)
    return 1e3 * min(found)


def time_kernels(data: Problem, n_labels: int, n_jobs: int, clock: Callable[[], float]) -> None:
    """Print products in single precision and what BLAS takes for all pairs, then the passes."""
    X, labels, lengths = data
    n_features = X.shape[1]
    oracle = ChainOracle(X, labels, lengths, n_labels=n_labels, n_jobs=n_jobs)
    single = oracle.rounded()
    stride = oracle.layout.stride
    dense = oracle.data.dense
    assert dense is not None
    kernel = _kernels.DenseFeatures(dense.values, dense.slot_row)
    rng = np.random.default_rng(0)
    rank = np.arange(n_labels, dtype=np.int32)
    rows = rng.normal(size=(-(-n_labels // 8), stride * 8)).astype(np.float32)
    with threadpool_limits(1):
        R = rng.normal(size=(len(X), n_labels)).astype(np.float32)
        W = rng.normal(size=(n_features, n_labels)).astype(np.float32)
        print(f"BLAS, one thread   Xᵀ R {best(lambda: X.T @ R, clock):7.1f} ms", end="   ")
        print(f"X W {best(lambda: X @ W, clock):7.1f} ms   read X {best(X.sum, clock):.1f} ms")
    for share in (0.01, SHARE, 0.2, 1.0):
        at = np.flatnonzero(rng.random(n_features * n_labels) < share)
        w, g = rng.normal(size=len(at)), np.empty(len(at))

        def scores(at: NDArray[np.int64] = at, w: NDArray[np.float64] = w) -> None:
            kernel.add_scores_single(at, w, rank, rows, n_jobs)

        def gradient(at: NDArray[np.int64] = at, g: NDArray[np.float64] = g) -> None:
            kernel.gradient_single(at, rank, rows, g, n_jobs)

        print(
            f"{100 * share:4.0f} % of the pairs   scores {best(scores, clock):7.1f} ms", end="   "
        )
        print(f"gradient {best(gradient, clock):7.1f} ms")
    none = np.empty(0, dtype=np.int64)

    def sweep() -> None:
        kernel.sweep_single(rank, rows, 1e9, None, None, none, n_jobs)

    print(f"sweep {best(sweep, clock):7.1f} ms")
    if single is None:
        return
    time_inference(single, rng, clock)


def time_inference(
    single: ChainOracle, rng: np.random.Generator, clock: Callable[[], float]
) -> None:
    """Print forward and backward passes with all transitions; scores come from few features."""
    n_states, n = single.data.n_columns * single.n_labels, single.n_coordinates
    w = SparseVector(np.arange(n_states, n), 0.5 * rng.normal(size=n - n_states))
    alpha = 1.0

    def forward() -> Line:
        nonlocal alpha
        alpha *= 0.9  # another step: the last one is known
        line = single.at(SparseVector.empty()).along(w)
        line.value(alpha)
        return line

    start = best(lambda: single.at(SparseVector.empty()), clock)
    up = best(forward, clock)
    both = best(lambda: forward().accept(alpha), clock)
    print(f"forward {up - start:7.1f} ms   backward {both - up:7.1f} ms, in single precision")


def fit(data: Problem, args: argparse.Namespace, clock: Callable[[], float]) -> None:
    """Print how long a fit takes to be near its end, and the most memory that it takes."""
    X, labels, lengths = data
    options = {"n_labels": args.labels, "n_jobs": args.n_jobs}
    n_bytes = X.nbytes
    before = _peak()
    begin = clock()
    oracle = ChainOracle(sp.csr_array(X) if args.sparse else X, labels, lengths, **options)
    rows: list[tuple[float, float]] = []
    found = minimize(
        oracle,
        args.lam,
        tol=1e-5,
        callback=lambda row: rows.append((clock() - begin, row.objective)) and None,
    )
    weights = SparseVector(found.x.coords[0].astype(np.int64), found.x.data)
    share = np.count_nonzero(weights.coordinates < args.labels * args.features)
    print(f"{share / args.labels / args.features:.1%} of the pairs have a weight; {found.message}")
    for error in ERRORS:
        near = next((t for t, f in rows if f <= found.fun * (1 + error)), float("nan"))
        print(f"within {error:g} of the last objective, {found.fun:.4f}: {near:.1f} s")
    print(f"at the end, {len(rows)} iterations: {rows[-1][0]:.1f} s")
    print(f"X has {n_bytes / 2**20:.0f} MB; most memory {_peak() / 2**20:.0f} MB, ", end="")
    print(f"{_peak() / n_bytes:.2f} times X; before the fit {before / n_bytes:.2f}")


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, value in (("sequences", 2000), ("features", 500), ("labels", 100), ("n-jobs", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lam", type=float, default=60.0)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    args = parser.parse_args()
    data = problem(args.sequences, args.features, args.labels)
    clock = time.process_time if args.n_jobs == 1 else time.perf_counter
    if args.kernels:
        time_kernels(data, args.labels, args.n_jobs, clock)
    else:
        fit(data, args, clock)


if __name__ == "__main__":
    main()
