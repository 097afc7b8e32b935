"""λs that are given: all of them from one another, and one by one from zero."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.paths.problems import CHANGES, LARGE, SMALLEST, everyday

from proxqn import lambda_max, minimize, minimize_path

HEADER = ["path", "λs", "proved to", "passes", "one by one", "CPU, s", "one by one, s"]
CHANGE_HEADER = ["problem", "cold", "from 2 λ", "from 1.25 λ", "from 0.8 λ", "from 0.5 λ", "worst"]
GRIDS = (("ocr-1", 25, 1e-3), ("ocr-2", 25, 1e-3), ("conll", 20, 1e-2), ("conll", 20, 1e-3))
FACTORS = (2.0, 1.25, 0.8, 0.5)


def grid(name: str, n: int, tol: float) -> list[str]:
    """Return the row of a path: forward passes and processor seconds."""
    oracle = LARGE[name]()
    largest = lambda_max(oracle)
    lams = np.geomspace(largest, SMALLEST if name == "conll" else 0.01 * largest, n)
    options: dict[str, Any] = {"tol": tol, "stop": "gap"}
    began = time.process_time()
    path = minimize_path(oracle, lams, **options)
    middle = time.process_time()
    cold = [minimize(oracle, lam, **options).trace[-1].calls["forward"] for lam in lams]
    ended = time.process_time()
    proved = max(path.gaps / path.objectives)
    times = f"{middle - began:.1f}", f"{ended - middle:.1f}"
    return [name, str(n), f"{proved:.0e}", f"{path.passes:.0f}", f"{sum(cold):.0f}", *times]


def change(name: str) -> list[str]:
    """Return the passes to a λ from zero, and from the solutions at others, up and down."""
    oracle, lam, l2 = everyday(name)
    cold = minimize(oracle, lam, l2=l2).trace[-1].calls["forward"]
    warm = []
    for factor in FACTORS:
        before = minimize(oracle, factor * lam, l2=l2)
        warm.append(minimize(oracle, lam, l2=l2, x0=before).trace[-1].calls["forward"])
    return [name, *(f"{p:.0f}" for p in (cold, *warm)), f"{max(warm) / cold:.2f}"]


def grids(only: str) -> Iterator[list[str]]:
    """Yield the rows of given λs."""
    return (grid(*one) for one in GRIDS if only in one[0])


def changes(only: str) -> Iterator[list[str]]:
    """Yield the rows of changes of λ."""
    return (change(name) for name in CHANGES if only in name)
