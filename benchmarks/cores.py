"""What many cores bring, and which calls do not share in it.

    python -m benchmarks.cores [--threads 1,16] [--problems ocr-100,long,many] [--tol 1e-4]

Every problem is fitted with each number of threads, the best of ``--repeat`` fits counts. Every
call into the compiled module is timed by itself, so that the table says for each kernel its seconds
with each number of threads; what is left of the whole is Python and NumPy. The bits of the weights
are compared.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.problems import SPECS
from benchmarks.tables import markdown

import proxqn
from proxqn import _kernels
from proxqn.losses.chain.oracle import Pairs

PYTHON = "Python and NumPy"
LEAST = 0.01  # of the time with most threads: rows of less are not printed


@dataclass(frozen=True)
class Fit:
    """Seconds of a fit, by kernel, and the bits of its weights."""

    seconds: dict[str, float]
    iterations: int
    digest: str

    @property
    def total(self) -> float:
        """Seconds of all of it."""
        return sum(self.seconds.values())


class Stopwatch:
    """Times every call into the compiled module."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        for name, thing in list(vars(_kernels).items()):
            if isinstance(thing, type):
                for method, call in list(vars(thing).items()):
                    if not method.startswith("_") and callable(call):
                        setattr(thing, method, self._timed(f"{name}.{method}", call))
            elif callable(thing) and not name.startswith("_"):
                setattr(_kernels, name, self._timed(name, thing))

    def _timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **named)
            finally:
                self.seconds[name] += time.perf_counter() - began

        return timed


def fit(watch: Stopwatch, name: str, threads: int, tol: float) -> Fit:
    """Fit a problem, its loss made anew, and return where the time went."""
    spec = SPECS[name]
    problem = spec.load()
    pairs = Pairs.OBSERVED if spec.observed_only else Pairs.ALL
    oracle = proxqn.ChainOracle(
        problem.X,
        problem.y,
        problem.lengths,
        n_labels=problem.n_labels,
        pairs=pairs,
        n_jobs=threads,
    )
    watch.seconds.clear()
    began = time.perf_counter()
    result = proxqn.minimize(oracle, spec.lam, tol=tol)
    total = time.perf_counter() - began
    seconds = dict(watch.seconds)
    seconds[PYTHON] = total - sum(seconds.values())
    bits = result.weights.coordinates.tobytes() + result.weights.values.tobytes()
    return Fit(seconds, result.nit, hashlib.sha256(bits).hexdigest())


def report(name: str, fits: dict[int, Fit]) -> str:
    """Return the table of a problem."""
    few, many = fits[min(fits)], fits[max(fits)]
    head = ["call", *(f"{threads} threads, s" for threads in fits), "ratio"]
    rows = [
        ["all", *(f"{fit.total:.3f}" for fit in fits.values()), f"{few.total / many.total:.1f}"]
    ]
    for call, seconds in sorted(many.seconds.items(), key=lambda item: -item[1]):
        if seconds > LEAST * many.total:
            shown = [f"{fit.seconds[call]:.3f}" for fit in fits.values()]
            rows.append([call, *shown, f"{few.seconds[call] / seconds:.1f}"])
    same = "same bits" if len({fit.digest for fit in fits.values()}) == 1 else "BITS DIFFER"
    return f"{name}: {many.iterations} iterations, {same}\n\n{markdown(head, rows)}\n"


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--problems", default="ocr-100,long,many")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    watch = Stopwatch()
    for name in options.problems.split(","):
        fits = {}
        for threads in map(int, options.threads.split(",")):
            tries = [fit(watch, name, threads, options.tol) for _ in range(options.repeat)]
            fits[threads] = min(tries, key=lambda one: one.total)
        print(report(name, fits), flush=True)


if __name__ == "__main__":
    main()
