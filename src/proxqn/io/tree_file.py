"""A hierarchical classifier with its tree as the contents of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.vocabulary import Vocabulary
from proxqn.io import pieces
from proxqn.io.container import Contents, ModelFileError
from proxqn.io.fit_record import pack_fit, pack_parameters, restore_fit

KIND = "tree"


@final
@dataclass(frozen=True)
class SavedTree:
    """A hierarchical classifier, and how the command line read its training file."""

    model: HierarchicalClassifier
    reading: dict[str, Any] | None = None


def pack(saved: SavedTree) -> Contents:
    """Turn a fitted model into contents."""
    model = saved.model
    tree = model.hierarchy_
    names = [name.item() if isinstance(name, np.generic) else name for name in tree.names]
    pieces.check_names(names)
    meta: dict[str, Any] = {
        "parameters": pack_parameters(model, ("fit_intercept",)),
        "fit": pack_fit(model),
        "labels": pieces.pack_labels(model.classes_),
        "node_names": names,
        "own_hierarchy": model.hierarchy is not None,
        "n_features": int(model.n_features_in_),
    }
    if saved.reading is not None:
        meta["reading"] = saved.reading
    arrays = {"tree.parent": tree.parent.astype(np.int64)}
    arrays |= pieces.pack_matrix("coef", model.coef_)
    arrays |= pieces.pack_matrix("intercept", model.intercept_[None, :])
    if hasattr(model, "feature_names_in_"):
        known = Vocabulary.from_names(model.feature_names_in_.tolist())
        arrays |= pieces.pack_names("feature_names_in", known)
    return Contents(KIND, arrays, meta)


def unpack(contents: Contents) -> SavedTree:
    """Build the model from a file's contents."""
    arrays, meta = contents.arrays, contents.meta
    try:
        tree = Hierarchy(pieces.take(arrays, "tree.parent"), list(meta["node_names"]))
        given = tree if meta["own_hierarchy"] else None
        model = HierarchicalClassifier(given, **meta["parameters"])
        fit, labels, n_features = meta["fit"], meta["labels"], int(meta["n_features"])
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the model's description cannot be read ({error}).") from None
    model.hierarchy_ = tree
    model.classes_ = pieces.unpack_labels(labels)
    try:
        model._leaf_of_class = tree.leaf_index(model.classes_.tolist()).astype(np.int64)
    except ValueError as error:
        raise ModelFileError(f"a label is no leaf of the tree ({error})") from None
    if len(model.classes_) != tree.n_leaves:
        raise ModelFileError(f"expected {tree.n_leaves} labels, got {len(model.classes_)}.")
    model.n_features_in_ = n_features
    model.coef_ = pieces.unpack_matrix("coef", arrays, (len(tree), n_features))
    intercept = pieces.unpack_matrix("intercept", arrays, (1, len(tree)))
    model.intercept_ = intercept.toarray()[0]
    restore_fit(model, fit, model.coef_.nnz + intercept.nnz)
    if "feature_names_in.sizes" in arrays:
        names = pieces.unpack_names("feature_names_in", arrays).names()
        if len(names) != n_features:
            raise ModelFileError(f"expected {n_features} feature names, got {len(names)}.")
        model.feature_names_in_ = np.array(names, dtype=object)
    return SavedTree(model, meta.get("reading"))
