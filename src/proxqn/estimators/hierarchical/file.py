"""A tree model as the contents of a model file: ``docs/model-format.md`` is its description."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxqn.estimators.base import check_settings
from proxqn.estimators.hierarchical.penalty import TreePenalty
from proxqn.estimators.model import (
    ModelReader,
    ModelWriter,
    read_feature_names,
    write_feature_names,
)
from proxqn.features.hierarchy import Hierarchy
from proxqn.penalties.bounded import Bounded

_PARAMETERS = ("fit_intercept",)
_GIVEN = ("lam_intercept", "max_weight")


def write(model: Any, file: ModelWriter) -> None:
    """Write a fitted tree model."""
    tree = model.hierarchy_
    file.parameters(model, *_PARAMETERS, given=_GIVEN)
    if model.max_weight is not None:
        file.needs(4)
    if np.ndim(model.lam) or model.lam_intercept is not None:
        file.needs(3)
    file.labels("labels", model.classes_)
    file.value("node_names", [_checked_name(name) for name in tree.names])
    file.value("own_hierarchy", model.hierarchy is not None)
    file.value("n_features", int(model.n_features_in_))
    file.array("tree.parent", tree.parent.astype(np.int64))
    file.matrix("coef", model.coef_)
    file.matrix("intercept", model.intercept_[None, :])
    write_feature_names(file, model)


def read(estimator: Any, file: ModelReader) -> Any:
    """Build the model from a file's contents."""
    tree = Hierarchy(file.array("tree.parent"), [_name(n) for n in file.value("node_names")])
    given = tree if file.value("own_hierarchy") is True else None
    model = estimator(given, **file.parameters(*_PARAMETERS, *_GIVEN))
    _check_parameters(model)
    model.hierarchy_, model.n_features_in_ = tree, file.count("n_features")
    model.classes_ = file.labels("labels")
    try:
        model._leaf_of_class = tree.leaf_index(model.classes_.tolist()).astype(np.int64)
    except ValueError as error:
        raise ValueError(f"a label is no leaf of the tree ({error})") from None
    if len(model.classes_) != tree.n_leaves:
        raise ValueError(f"expected {tree.n_leaves} labels, got {len(model.classes_)}.")
    model.coef_ = file.matrix("coef", (len(tree), model.n_features_in_))
    model.intercept_ = file.matrix("intercept", (1, len(tree))).toarray()[0]
    read_feature_names(file, model)
    return model


def _check_parameters(model: Any) -> None:
    """Refuse what ``fit`` would refuse."""
    check_settings(model)
    penalty = TreePenalty.of(model.lam, model.l2, model.lam_intercept)
    if model.max_weight is not None:
        Bounded(penalty.net, model.max_weight)
    if not isinstance(model.fit_intercept, bool):
        raise TypeError(f"fit_intercept is {model.fit_intercept!r:.40}")


def _name(name: Any) -> Any:
    if not isinstance(name, str | bool | int | float):
        raise TypeError(f"a node is called {name!r:.40}")
    return name


def _checked_name(name: Any) -> Any:
    plain = name.item() if isinstance(name, np.generic) else name
    if not isinstance(plain, str | bool | int | float):
        raise TypeError(
            f"node name {name!r} ({type(name).__name__}) cannot be stored; expected text or a "
            "number. Build the hierarchy with such names."
        )
    return plain
