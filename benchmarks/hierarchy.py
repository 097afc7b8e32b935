"""Hierarchical classification: every figure we claim for it.

    python -m benchmarks.hierarchy [--part paper|lshtc|newsgroups|growth|threads] [--n-jobs N]

Each part runs in a process of its own, so that peak memory is its own, and writes its figures to
``benchmarks/results/hierarchy.json``. CPU seconds stand beside seconds: on a machine shared with
others they are the ones to compare (with one thread). Data are read from PROXQN_DATA, or
``shared/data`` beside the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from benchmarks.hierarchy_growth import growth
from benchmarks.peers.memory import peak_bytes

from proxqn.datasets import load_lshtc, load_newsgroups_tree, make_lshtc_like
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.metrics.hierarchical import hierarchical_f1
from proxqn.minimization import minimize

REPOSITORY = Path(__file__).parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results" / "hierarchy.json"
DATA = Path(os.environ.get("PROXQN_DATA", REPOSITORY.parent / "shared" / "data"))
LSHTC = DATA / "lshtc1_dryrun" / "dry-run_lshtc_dataset"

Table = list[dict[str, Any]]


def paper_tree() -> Hierarchy:
    with (LSHTC / "cat_hier.txt").open(encoding="ascii") as lines:
        return Hierarchy.from_paths(lines)


def paper_size_oracle(n_jobs: int) -> TreeOracle:
    tree = paper_tree()
    data = make_lshtc_like(tree)
    return TreeOracle(sp.csr_array(data.X), tree.leaf_index(data.y), tree, n_jobs=n_jobs)


def paper(n_jobs: int) -> Table:
    """Solve the paper's size (generated documents), λ = 1, to a gap of 1e-4 of the objective."""
    started = time.perf_counter()
    oracle = paper_size_oracle(n_jobs)
    prepared = time.perf_counter() - started
    cpu = time.process_time()
    result = minimize(oracle, 1.0, tol=1e-4, stop="gap")
    cpu = time.process_time() - cpu
    last, objective = result.trace[-1], result.trace.column("objective")
    seconds = result.trace.column("seconds")
    best = result.fun - result.gap  # a lower bound: the true error is smaller still
    row: dict[str, Any] = {
        "d": oracle.n_parameters,
        "samples": oracle.n_samples,
        "message": result.message,
        "objective": result.fun,
        "gap / f": result.gap / result.fun,
        "nonzeros": result.nnz,
        "iterations": result.nit,
        "epochs": last.epoch,
        "forward passes": last.calls["forward"],
        "backward passes": last.calls["backward"],
        "sweeps": last.calls["sweep"],
        "peak memory, MB": peak_bytes() / 1e6,
        "seconds to prepare": prepared,
        "seconds to fit": last.seconds,
        "CPU seconds to fit": cpu,
    }
    for error in (1e-2, 1e-3, 2e-4):
        first = int(np.argmax(objective <= best * (1 + error)))
        row[f"f within {error:g} of the optimum"] = f"it. {first}, {seconds[first]:.1f} s"
    row |= {f"seconds in {name}": spent for name, spent in last.phase_seconds.items()}
    return [{"figure": name, "value": value} for name, value in row.items()]


def lshtc(n_jobs: int) -> Table:
    """LSHTC1 dry-run. Other documents than the paper's: Task 1's train.txt is not to be had."""
    table = []
    for task, train, lams in [("Task1", "validation", (0.5, 1.0, 2.0)), ("Task2", "train", (1.0,))]:
        data = load_lshtc(LSHTC, task, train=train)
        for lam in lams:
            started, cpu = time.perf_counter(), time.process_time()
            model = HierarchicalClassifier(
                data.hierarchy,
                lam=lam,
                fit_intercept=False,
                n_jobs=n_jobs,
                max_iter=1500,
            ).fit(data.X_train, data.y_train)
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            table.append(
                {
                    "task": f"{task} {train} -> test",
                    "samples x features": "{} x {}".format(*data.X_train.shape),
                    "lam": lam,
                    "objective": model.objective_,
                    "gap / f": model.gap_ / model.objective_,
                    "nonzeros": model.coef_.nnz,
                    "accuracy": model.score(data.X_test, data.y_test),
                    "hier. F1": model.hierarchical_score(data.X_test, data.y_test).f1,
                    "iterations": model.n_iter_,
                    "seconds": seconds,
                    "CPU s": cpu,
                }
            )
            show(table[-1:])
    return table


def newsgroups(n_jobs: int) -> Table:
    """20 Newsgroups, sublinear tf-idf. λ of each model chosen on a fifth of the training posts."""
    from benchmarks.peers import text_classifiers as peers
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.model_selection import train_test_split

    data = load_newsgroups_tree(DATA / "newsgroups")
    scale = TfidfTransformer(sublinear_tf=True).fit(data.X_train)
    X, X_test = scale.transform(data.X_train), scale.transform(data.X_test)
    X_fit, X_held, y_fit, y_held = train_test_split(X, data.y_train, test_size=0.2, random_state=0)

    def ours(tree: Hierarchy | None, tol: float) -> peers.Fit:
        return lambda X, y, lam: HierarchicalClassifier(
            tree, lam=lam, tol=tol, n_jobs=n_jobs, max_iter=1000
        ).fit(X, y)

    tree = data.hierarchy
    fits: dict[str, tuple[peers.Fit, peers.Fit]] = {  # for choosing λ, and for the figures
        "proxqn, tree": (ours(tree, 1e-2), ours(tree, 1e-4)),
        "proxqn, flat": (ours(None, 1e-2), ours(None, 1e-4)),
        "scikit-learn, flat (liblinear, OvR)": (peers.flat_liblinear, peers.flat_liblinear),
        "hiclass, per node (liblinear)": (peers.hiclass_per_node(tree),) * 2,
        # the same model as 'proxqn, flat' but for the intercept; its λ is taken from there
        "scikit-learn, flat (saga)": (peers.flat_saga, peers.flat_saga),
    }
    table: Table = []
    for name, (search, final) in fits.items():
        if "saga" in name:
            lam = next(row["lam"] for row in table if row["model"] == "proxqn, flat")
        else:
            lam = max(
                (1.0, 0.5, 0.25, 0.125),
                key=lambda lam: np.mean(search(X_fit, y_fit, lam).predict(X_held) == y_held),
            )
        started, cpu = time.perf_counter(), time.process_time()
        model = final(X, data.y_train, lam)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        predicted = model.predict(X_test)
        table.append(
            {
                "model": name,
                "lam": lam,
                "nonzeros": peers.n_nonzeros(model)
                if not hasattr(model, "coef_") or not sp.issparse(model.coef_)
                else model.coef_.nnz,
                "accuracy": float(np.mean(predicted == data.y_test)),
                "hier. F1": hierarchical_f1(data.y_test.tolist(), predicted.tolist(), tree),
                "gap / f": model.gap_ / model.objective_ if "proxqn" in name else "none",
                "seconds": seconds,
                "CPU s": cpu,
            }
        )
        show(table[-1:])
    return table


def threads(_: int) -> Table:
    """20 iterations at the paper's size with 1, 2 and 3 threads: the same bits."""
    runs = {}
    for n_jobs in (1, 2, 3):
        oracle = paper_size_oracle(n_jobs)
        started = time.perf_counter()
        runs[n_jobs] = (minimize(oracle, 1.0, tol=0.0, max_iter=20), time.perf_counter() - started)
    first = runs[1][0]
    return [
        {
            "n_jobs": n_jobs,
            "objective": float(result.fun).hex(),
            "same bits": bool(
                result.fun == first.fun
                and result.gap == first.gap
                and np.array_equal(result.x.coords[0], first.x.coords[0])
                and np.array_equal(result.x.data.view(np.int64), first.x.data.view(np.int64))
            ),
            "seconds": seconds,
        }
        for n_jobs, (result, seconds) in runs.items()
    ]


PARTS: dict[str, Callable[[int], Table]] = {
    "paper": paper,
    "lshtc": lshtc,
    "newsgroups": newsgroups,
    "growth": lambda n_jobs: growth(paper_tree(), n_jobs),
    "threads": threads,
}


def show(table: Table) -> None:
    def text(value: Any) -> str:
        return f"{value:.6g}" if isinstance(value, float) else f"{value}"

    names = list(table[0])
    cells = [names, *([text(row[name]) for name in names] for row in table)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def keep(part: str, table: Table, n_jobs: int) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[part] = {
        "about": (PARTS[part].__doc__ or growth.__doc__ or "").strip().splitlines()[0],
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "load": os.getloadavg()[0],
        "n_jobs": n_jobs,
        "rows": table,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--n-jobs", type=int, default=1)
    given = parser.parse_args()
    if given.part is None:
        for part in PARTS:
            command = [sys.executable, "-m", "benchmarks.hierarchy", "--part", part]
            subprocess.run([*command, "--n-jobs", str(given.n_jobs)], cwd=REPOSITORY, check=True)
        return
    table = PARTS[given.part](given.n_jobs)
    print(f"\n{given.part}")
    show(table)
    keep(given.part, table, given.n_jobs)


if __name__ == "__main__":
    main()
