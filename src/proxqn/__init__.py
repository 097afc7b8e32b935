"""Sparse models whose loss is expensive: λ‖w‖₁ + ℓ(w) by proximal quasi-Newton, with a certificate.

Public names are loaded on first use, so that ``import proxqn`` stays quick.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Paths of before, with a deprecation line each.
__path__.append(os.path.join(os.path.dirname(__file__), "_old"))

if TYPE_CHECKING:
    from proxqn import datasets
    from proxqn.estimators.chain_crf import ChainCRF
    from proxqn.estimators.cv import ChainCRFCV, HierarchicalClassifierCV
    from proxqn.estimators.hierarchical import HierarchicalClassifier
    from proxqn.estimators.inference.constraints import Constraints
    from proxqn.features.hierarchy import Hierarchy
    from proxqn.file_error import FileError
    from proxqn.io.model_file import load, save
    from proxqn.losses.chain.oracle import ChainOracle
    from proxqn.minimization import minimize
    from proxqn.path import Path, lambda_max, minimize_path
    from proxqn.solvers.prox_qn import ProxQN

_HOMES = {
    "ChainCRF": "proxqn.estimators.chain_crf",
    "ChainCRFCV": "proxqn.estimators.cv",
    "ChainOracle": "proxqn.losses.chain.oracle",
    "Constraints": "proxqn.estimators.inference.constraints",
    "FileError": "proxqn.file_error",
    "HierarchicalClassifier": "proxqn.estimators.hierarchical",
    "HierarchicalClassifierCV": "proxqn.estimators.cv",
    "Hierarchy": "proxqn.features.hierarchy",
    "Path": "proxqn.path",
    "ProxQN": "proxqn.solvers.prox_qn",
    "lambda_max": "proxqn.path",
    "load": "proxqn.io.model_file",
    "minimize": "proxqn.minimization",
    "minimize_path": "proxqn.path",
    "save": "proxqn.io.model_file",
}

__all__ = [
    "ChainCRF",
    "ChainCRFCV",
    "ChainOracle",
    "Constraints",
    "FileError",
    "HierarchicalClassifier",
    "HierarchicalClassifierCV",
    "Hierarchy",
    "Path",
    "ProxQN",
    "datasets",
    "lambda_max",
    "load",
    "minimize",
    "minimize_path",
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
