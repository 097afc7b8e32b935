"""Rivals on labelled text: flat ℓ1 logistic regression, and hiclass with ℓ1 logistic nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hiclass import LocalClassifierPerNode
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from proxqn.features.hierarchy import Hierarchy

Fit = Callable[[Any, Any, float], Any]


def _logistic(lam: float, solver: str, **settings: Any) -> LogisticRegression:
    return LogisticRegression(C=1 / lam, l1_ratio=1.0, solver=solver, random_state=0, **settings)


def flat_saga(X: Any, y: Any, lam: float) -> Any:
    """Multinomial, as our flat model; saga stops by its own default tolerance or 100 passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _logistic(lam, "saga").fit(X, y)


def flat_liblinear(X: Any, y: Any, lam: float) -> Any:
    """One binary classifier per class."""
    return OneVsRestClassifier(_logistic(lam, "liblinear")).fit(X, y)


class PerNode:
    """hiclass with one binary classifier per node; predicts leaf names."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy = hierarchy

    def fit(self, X: Any, y: Any, lam: float) -> PerNode:
        """Fit all nodes."""
        depth = int(self.hierarchy.depth.max())
        paths = [list(self.hierarchy.path(name))[1:] for name in y]
        rows = [path + [""] * (depth - len(path)) for path in paths]
        self.model = LocalClassifierPerNode(local_classifier=_logistic(lam, "liblinear"))
        self.model.fit(X, rows)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the last level that is not empty."""
        levels = np.asarray(self.model.predict(X)).astype(str)
        return np.array([[name for name in row if name][-1] for row in levels])


def hiclass_per_node(hierarchy: Hierarchy) -> Fit:
    """Return a fit function for this tree."""
    return lambda X, y, lam: PerNode(hierarchy).fit(X, y, lam)


def n_nonzeros(model: Any) -> int:
    """Count the nonzero weights of any of these models, intercepts left out."""
    if isinstance(model, PerNode):
        nodes = model.model.hierarchy_.nodes
        return sum(n_nonzeros(nodes[k]["classifier"]) for k in nodes if "classifier" in nodes[k])
    if isinstance(model, OneVsRestClassifier):
        return sum(n_nonzeros(binary) for binary in model.estimators_)
    return int(np.count_nonzero(model.coef_)) if hasattr(model, "coef_") else 0
