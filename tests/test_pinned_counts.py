"""Passes of small deterministic problems: they may fall, and not rise.

A change that makes the method need more inference shows here before any benchmark is run. Where a
count falls for good, write the new one. The counts are forward and backward passes and sweeps, to a
gap of 1e-6 (1e-3 for the rivals), proved but where it says estimated.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.drawing import DrawingLogistic
from tests.points import Logistic
from tests.problems import random_chain
from tests.rival_problems import small_tree
from tests.strangers import Rounding, Sampled

from proxqn import ProxQN, lambda_max, minimize

LOSSES = {
    "function": lambda: Logistic(3, n=300, d=60).oracle(),
    "draws": lambda: DrawingLogistic(Logistic(3, n=300, d=60)),
    "sample": lambda: Sampled(Logistic(0, n=12_000, d=12)),
    "single": lambda: Rounding(Logistic(3, n=300, d=60)),
    "tree": lambda: small_tree(1),
    "chain": lambda: random_chain(1, n_labels=6, n_features=40, n_sequences=300).oracle(),
    "large chain": lambda: random_chain(
        6, n_labels=5, n_features=300, n_sequences=3000, density=0.02
    ).oracle(),
}

PINNED = {  # forward, backward, sweeps
    "function, default": (25.0, 23.0, 8.0),
    "function, paper": (48.0, 25.0, 6.0),
    "function, boxed": (13.0, 12.0, 5.0),
    "function, a lam each": (18.0, 15.0, 6.0),
    "function, ridges": (22.0, 20.0, 6.0),
    "function, prox-gd": (331.0, 287.0, 287.0),
    "function, owl-qn": (19.0, 18.0, 18.0),
    "draws, default": (18.0, 16.0, 8.0),
    "draws, paper": (48.0, 25.0, 6.0),
    "sample, default": (11.58, 11.54, 7.34),
    "sample, paper": (83.0, 44.0, 8.0),
    "single, default": (26.0, 24.0, 8.0),
    "single, paper": (48.0, 25.0, 6.0),
    "tree, default": (42.0, 40.0, 10.0),
    "tree, paper": (77.0, 64.0, 7.0),
    "tree, boxed": (16.0, 15.0, 7.0),
    "tree, a lam each": (112.0, 80.0, 10.0),
    "tree, ridges": (66.0, 62.0, 10.0),
    "tree, prox-gd": (184.0, 160.0, 160.0),
    "tree, owl-qn": (42.0, 38.0, 38.0),
    "chain, default": (29.0, 24.0, 9.0),
    "chain, paper": (153.0, 119.0, 10.0),
    "chain, boxed": (14.0, 13.0, 7.0),
    "chain, a lam each": (62.0, 43.0, 9.0),
    "chain, ridges": (38.0, 34.0, 9.0),
    "chain, prox-gd": (404.0, 351.0, 351.0),
    "chain, owl-qn": (83.0, 77.0, 77.0),
    "large chain, default": (27.85, 27.7, 9.3),
    "large chain, paper": (158.0, 127.0, 11.0),
    "function, estimated": (19.0, 17.0, 6.0),
    "draws, estimated": (13.0, 11.0, 5.0),
    "sample, estimated": (5.58, 5.54, 3.34),
    "single, estimated": (20.0, 18.0, 7.0),
    "tree, estimated": (30.0, 29.0, 7.0),
    "chain, estimated": (23.0, 18.0, 5.0),
    "large chain, estimated": (17.85, 17.7, 5.3),
}


def passes(name: str) -> tuple[float, ...]:
    loss, how = name.split(", ")
    oracle = LOSSES[loss]()
    lam, n = 0.05 * lambda_max(oracle), oracle.n_coordinates
    options = {
        "default": {},
        "paper": {"solver": ProxQN.paper()},
        "boxed": {"bounds": (0.0, 0.3)},
        "a lam each": {"lam": lam * np.linspace(0.5, 2.0, n)},
        "ridges": {"l2": np.where(np.arange(n) % 2 == 0, 0.3, 0.0)},
        "prox-gd": {"solver": "prox-gd", "tol": 1e-3},
        "owl-qn": {"solver": "owl-qn", "tol": 1e-3},
        "estimated": {"stop": "estimate"},
    }[how]
    general = {"lam": lam, "tol": 1e-6, "max_iter": 5000, "stop": "gap"}
    result = minimize(oracle, **(general | options))
    assert result.success
    calls = result.trace[-1].calls
    return tuple(round(calls[name], 2) for name in ("forward", "backward", "sweep"))


@pytest.mark.parametrize("name", PINNED)
def test_no_more_passes_than_before(name):
    assert np.all(np.array(passes(name)) <= PINNED[name])
