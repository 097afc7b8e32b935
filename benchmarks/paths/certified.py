"""Certified paths: how few λs prove all, and whether the proofs hold at λs nobody solved."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.paths.problems import LARGE, SMALLEST

from proxqn import Path, lambda_max, minimize, minimize_path
from proxqn.penalties import ElasticNet

HEADER = ["path", "eps", "λs", "passes", "CPU, s", "proved within", "random λs", "above the bound",
          "independent fits", "largest true gap", "true ÷ proved, at most"]  # fmt: skip
CASES = (("ocr-1", 1e-2), ("ocr-2", 1e-2), ("conll", 1e-2))
RANDOM, FITS = 1000, 30


def certified(name: str, eps: float) -> list[str]:
    """Return the row of a path."""
    oracle = LARGE[name]()
    least = SMALLEST if name == "conll" else 0.01 * lambda_max(oracle)
    began = time.process_time()
    path = minimize_path(oracle, eps=eps, lam_min=least)
    seconds = time.process_time() - began
    row = [name, f"{eps:g}", str(len(path)), f"{path.passes:.0f}", f"{seconds:.1f}",
           f"{100 * path.eps:.2f} %"]  # fmt: skip
    return row + checked(oracle, path)


def checked(oracle: Any, path: Path) -> list[str]:
    """Hold the mixtures to their objectives' bounds, and some to fits of their own.

    A mixture's own objective must be at most what the path says (``fun``), at every random λ; and
    its distance to an independent fit's bound at most the gap that is proved.
    """
    rng = np.random.default_rng(0)
    lams = np.exp(rng.uniform(*np.log(path.lams_[[-1, 0]]), RANDOM))
    above, largest, ratio = 0, 0.0, 0.0
    for k, lam in enumerate(lams):
        found = path.at(lam)
        value = oracle.at(found.weights).value + ElasticNet(lam).value(found.weights)
        above += value > found.fun * (1.0 + 1e-12)
        if k < FITS:
            fit = minimize(oracle, lam, tol=1e-5, x0=found.weights)
            true = max(value - fit.fun, 0.0)  # at least so much, and nearly all
            above += true > found.gap
            largest, ratio = max(largest, true / value), max(ratio, true / found.gap)
    return [str(RANDOM), str(above), str(FITS), f"{100 * largest:.2f} %", f"{ratio:.2f}"]


def paths(only: str) -> Iterator[list[str]]:
    """Yield the rows."""
    return (certified(*case) for case in CASES if only in case[0])
