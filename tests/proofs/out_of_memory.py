"""Memory and threads that are not there: refused one by one, wherever fits and predictions ask.

``make out-of-memory``. Whatever is refused, there is a MemoryError or the same bits as ever, the
estimator is as it was, and nothing leaks. A library (``scarce.cpp``) stands before malloc, operator
new and pthread_create, and counts what the kernels ask for; with ``--anyone BYTES`` what everybody
asks for, NumPy, SciPy and Python too, from that size on.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).with_name("scarce.cpp")
LEAK, NOISE = (
    16.0,
    20_000.0,
)  # bytes: of a refusal, and of what Python's own tables grow by at times

# How NumPy and Python end where they forget to say that there is no memory.
NUMPYS = "without setting an exception", "without exception set"
WELL = {"same", "MemoryError", "SystemError of NumPy"}


def words(seed: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return sentences of named features, and labels that follow them."""
    rng = np.random.default_rng(seed)
    X = [
        [[f"w{k}", f"s{k % 3}"] for k in rng.integers(12, size=rng.integers(1, 7))]
        for _ in range(25)
    ]
    return X, [[f"L{int(token[0][1:]) % 3}" for token in sentence] for sentence in X]


@dataclass(frozen=True)
class Scenario:
    """What is done again and again: with what was made before, if that is not refused anything."""

    prepare: Callable[[], Any]
    run: Callable[[Any], Any]


def _chain(**options: Any) -> Any:
    from proxqn import ChainCRF

    return ChainCRF(**({"lam": 0.5, "n_jobs": 2} | options))


def _fitted(**options: Any) -> Any:
    return _chain(**options).fit(*words(0))


def _fit(model: Any) -> Any:
    model.fit(*words(0))
    return model.coef_.toarray(), model.objective_


def _tree() -> Any:
    from proxqn import HierarchicalClassifier

    return HierarchicalClassifier(lam=0.05, n_jobs=2)


def _fit_tree(model: Any) -> Any:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    y = [f"{int(a > 0)}/{int(b > 0)}" for a, b in X[:, :2]]
    model.fit(X, y)
    return model.objective_


def _fit_edges(model: Any) -> Any:
    X, y = words(0)
    edges = np.random.default_rng(2).integers(2, size=(sum(map(len, X)), 3))
    model.fit(X, y, edges=edges)
    return model.objective_


SCENARIOS = {
    "fit": Scenario(_chain, _fit),
    "fit observed": Scenario(lambda: _chain(pairs="observed"), _fit),
    "fit edges": Scenario(_chain, _fit_edges),
    "fit tree": Scenario(_tree, _fit_tree),
    "fit again": Scenario(_fitted, lambda model: _fit(model.set_params(lam=0.3))),
    "predict": Scenario(_fitted, lambda model: model.predict(words(2)[0])),
    "marginals": Scenario(_fitted, lambda model: model.predict_marginals(words(2)[0])),
}


def digest(answer: Any) -> str:
    return hashlib.sha256(pickle.dumps(answer)).hexdigest()


def state(model: Any) -> str:
    """Return the estimator's attributes as one word: a refused fit may not change them."""
    found = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return " ".join(sorted(found)) + f" {id(found.get('coef_'))}"


class Scarce:
    """The preloaded library."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self.begin, self.end = library.scarce_begin, library.scarce_end
        self.begin.argtypes = [ctypes.c_long, ctypes.c_long]
        self.end.restype = ctypes.c_long
        self.threads = library.scarce_threads
        self.threads_asked = library.scarce_threads_asked
        self.in_use = library.scarce_in_use
        self.in_use.restype = ctypes.c_size_t
        library.scarce_anyone.argtypes = [ctypes.c_size_t]
        self.watch, self.anyone = library.scarce_watch, library.scarce_anyone


class Trial:
    """A scenario in this process."""

    def __init__(self, name: str, anyone: int) -> None:
        self.scenario, self.scarce, self.anyone = SCENARIOS[name], Scarce(), anyone > 0
        for _ in range(2):  # whatever is imported or kept at first use comes before the count
            answer = self.scenario.run(self.scenario.prepare())
        self.expected = digest(answer)
        if anyone:
            self.scarce.anyone(anyone)
        else:
            assert self.scarce.watch(b"_kernels"), "the kernels are not loaded"

    def once(self, first: int, last: int) -> tuple[str, int]:
        """Run it with allocations refused: how it ended, and how many were asked for."""
        model = self.scenario.prepare()
        before = state(model)
        self.scarce.begin(first, last)
        try:
            answer = self.scenario.run(model)
            asked = self.scarce.end()
            ended = "same" if digest(answer) == self.expected else "OTHER BITS"
        except MemoryError:
            asked = self.scarce.end()
            ended = "MemoryError" if state(model) == before else "MemoryError, HALF WRITTEN"
        except Exception as error:
            asked = self.scarce.end()
            ended = f"{type(error).__name__}: {error}"
            if self.anyone and any(words in ended for words in NUMPYS):
                ended = "SystemError of NumPy"
        return ended, asked


def refuse_all(name: str, anyone: int, every: int, part: int, parts: int, lasting: bool) -> None:
    """Refuse each allocation in turn, twice; tell how that ended, and what it leaked."""
    trial = Trial(name, anyone)
    _, total = trial.once(0, 0)
    mine = range(1 + part * every, total + 1, every * parts)
    ends: dict[str, int] = {}
    for again in range(2):
        gc.collect()
        before = trial.scarce.in_use()
        for n in mine:
            print(f"at {n}", file=sys.stderr, flush=True)
            ended, _ = trial.once(n, total * 10 if lasting else n)
            if again:
                ends[ended] = ends.get(ended, 0) + 1
                if ended not in WELL:
                    print(f"{name}: {ended} with allocation {n} refused", flush=True)
    gc.collect()
    leaked = trial.scarce.in_use() - before
    after, _ = trial.once(0, 0)
    if after != "same":
        print(f"{name}: {after} after all refusals", flush=True)
        ends[after] = 1
    if not anyone and leaked > NOISE + LEAK * len(mine):
        ends[f"LEAK of {leaked / len(mine):.0f} bytes each"] = 1
    counts = ", ".join(f"{count} {ended}" for ended, count in sorted(ends.items()))
    print(f"{name}: {len(mine)} of {total} refused: {counts}; {leaked} bytes more in use")
    if not ends.keys() <= WELL:
        sys.exit(1)


def refuse_threads() -> None:
    """Refuse the second thread, then all: the same bits, slower."""
    scarce = Scarce()
    alone = digest(_fit(_chain(n_jobs=1)))
    for n_jobs, first in ((4, 2), (4, 1)):  # helpers stay, so the larger number comes first
        child = os.fork()  # where there are none yet
        if child == 0:
            scarce.threads(first)
            many = digest(_many(n_jobs))
            asked = scarce.threads_asked()
            os._exit(0 if many == digest(_many(1)) and asked >= first else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert digest(_fit(_chain(n_jobs=4))) == alone
    print("threads: the same bits with the second and with every thread refused")


def _many(n_jobs: int) -> Any:
    """Fit what is large enough for threads, twice at a time."""
    from tests.problems import random_chain

    from proxqn import minimize

    problem = random_chain(0, n_labels=5, n_features=60, n_sequences=1500, max_length=12)

    def fit(_: int) -> bytes:
        result = minimize(problem.oracle(n_jobs=n_jobs), 30.0, max_iter=10)
        return bytes(result.x.data)

    return fit(0), fit(1)


def preloaded(folder: str) -> dict[str, str]:
    """Compile the library and return an environment that has it."""
    library = Path(folder) / "scarce.so"
    compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-fPIC", "-shared"]
    subprocess.run([*compiler, str(SOURCE), "-o", str(library), "-ldl"], check=True)
    quiet = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return os.environ | quiet | {"LD_PRELOAD": str(library), "PYTHONHASHSEED": "0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=[*SCENARIOS, "threads"])
    parser.add_argument("--every", type=int, default=1, help="refuse each of so many alone")
    parser.add_argument("--anyone", type=int, default=0, metavar="BYTES", help="whoever asks")
    parser.add_argument("--lasting", action="store_true", help="refuse all that follow, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        name = options.scenarios[0]
        if name == "threads":
            refuse_threads()
        else:
            jobs, lasting = options.jobs, options.lasting
            refuse_all(name, options.anyone, options.every, options.part, jobs, lasting)
        return
    jobs = options.jobs
    common = ["--jobs", str(jobs), "--every", str(options.every), "--anyone", str(options.anyone)]
    common += ["--lasting"] * options.lasting
    parts = [
        (name, k) for name in options.scenarios for k in range(1 if name == "threads" else jobs)
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        environment = preloaded(folder)

        def run(part: tuple[str, int]) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "tests.proofs.out_of_memory", part[0], *common]
            command += ["--part", str(part[1])]
            return subprocess.run(command, env=environment, capture_output=True, text=True)

        failed = False
        for part, done in zip(parts, pool.map(run, parts), strict=True):
            print(done.stdout, end="", flush=True)
            if done.returncode:
                failed = True
                print(f"{part[0]}: ended with {done.returncode}\n{done.stderr[-600:]}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
