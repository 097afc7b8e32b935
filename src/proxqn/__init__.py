"""Sparse models whose loss is expensive: λ‖w‖₁ + ℓ(w) by proximal quasi-Newton, with a certificate.

Public names are loaded on first use, so that ``import proxqn`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proxqn import datasets
    from proxqn.data.hierarchy import Hierarchy
    from proxqn.estimators.chain_crf import ChainCRF
    from proxqn.estimators.constraints import Constraints
    from proxqn.estimators.hierarchical import HierarchicalClassifier
    from proxqn.minimization import lambda_max, minimize
    from proxqn.oracles.chain import ChainOracle
    from proxqn.persistence.model_file import load, save
    from proxqn.solvers.prox_qn import ProxQN

_HOMES = {
    "ChainCRF": "proxqn.estimators.chain_crf",
    "ChainOracle": "proxqn.oracles.chain",
    "Constraints": "proxqn.estimators.constraints",
    "HierarchicalClassifier": "proxqn.estimators.hierarchical",
    "Hierarchy": "proxqn.data.hierarchy",
    "ProxQN": "proxqn.solvers.prox_qn",
    "lambda_max": "proxqn.minimization",
    "load": "proxqn.persistence.model_file",
    "minimize": "proxqn.minimization",
    "save": "proxqn.persistence.model_file",
}

__all__ = [
    "ChainCRF",
    "ChainOracle",
    "Constraints",
    "HierarchicalClassifier",
    "Hierarchy",
    "ProxQN",
    "datasets",
    "lambda_max",
    "load",
    "minimize",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "datasets":
        return import_module("proxqn.datasets")
    raise AttributeError(f"module 'proxqn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
