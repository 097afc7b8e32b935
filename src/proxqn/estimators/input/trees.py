"""Samples and labels of a tree, as users hold them, checked and brought into one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from proxqn.estimators.input.labels import refuse_final_zeros
from proxqn.features.hierarchy import Hierarchy
from proxqn.problem import Floats, Ints


@final
@dataclass(frozen=True)
class LabelledTree:
    """The tree, the classes in scikit-learn's order, and the label of each sample."""

    hierarchy: Hierarchy
    classes: NDArray[Any]  # [n_leaves] leaf names, sorted
    leaf_of_class: Ints  # [n_leaves]
    leaves: NDArray[np.int32]  # [n_samples]

    @property
    def labels(self) -> NDArray[Any]:
        """The leaf name of each sample."""
        class_of_leaf = np.empty_like(self.leaf_of_class)
        class_of_leaf[self.leaf_of_class] = np.arange(len(self.leaf_of_class))
        return self.classes[class_of_leaf[self.leaves]]


def read_samples(estimator: Any, X: Any, *, reset: bool) -> sp.csr_array:
    """Check X; return it as a canonical CSR array of float64 without stored zeros."""
    checked: Any = validate_data(
        estimator, X, accept_sparse="csr", dtype=np.float64, accept_large_sparse=True, reset=reset
    )
    matrix = sp.csr_array(checked)
    if not matrix.has_canonical_format or np.count_nonzero(matrix.data) < matrix.nnz:
        matrix = matrix.copy()  # never change the caller's arrays
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def read_labels(y: Any, hierarchy: Hierarchy | None, X: sp.csr_array) -> LabelledTree:
    """Find each sample's leaf; without a hierarchy the tree is flat, or that of the paths in y."""
    if y is None:
        raise ValueError(
            "HierarchicalClassifier requires y to be passed, but the target y is None. Pass one "
            "leaf name (or path) a sample."
        )
    if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
        raise TypeError(
            f"hierarchy must be a proxqn.Hierarchy or None, got {type(hierarchy).__name__}. Build "
            "one with Hierarchy.from_paths, from_edges, from_parents, from_nested or from_networkx."
        )
    if is_paths(y):
        check_consistent_length(X, y)
        tree = Hierarchy.from_paths(y) if hierarchy is None else hierarchy
        refuse_final_zeros(tree.leaf_names)
        return _labelled(tree, tree.leaf_index_of_paths(y))
    names = _check_names(y)
    check_consistent_length(X, names)
    if hierarchy is None:
        classes, leaves = np.unique(names, return_inverse=True)
        flat = Hierarchy.flat(names)
        return LabelledTree(flat, classes, np.arange(len(classes)), leaves.astype(np.int32))
    return _labelled(hierarchy, hierarchy.leaf_index(names))


def is_paths(y: Any) -> bool:
    """Tell rows of levels from plain labels."""
    shape = getattr(y, "shape", None)
    if shape is not None:
        return len(shape) == 2 and shape[1] > 1
    return isinstance(y, list | tuple) and len(y) > 0 and isinstance(y[0], list | tuple)


def read_weights(
    sample_weight: Any, class_weight: Any, labelled: LabelledTree, X: sp.csr_array
) -> Floats | None:
    """Multiply sample and class weights; None if neither is given."""
    if sample_weight is None and class_weight is None:
        return None
    weights: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, labelled.labels)
    if not weights.any():
        raise ValueError("all sample weights are zero; expected at least one above 0.")
    return weights


def _check_names(y: Any) -> NDArray[Any]:
    names: NDArray[Any] = column_or_1d(y, warn=True)
    if names.dtype.kind in "USO":
        refuse_final_zeros(y)
    if names.dtype.kind in "Ofc":  # text and integers are labels beyond doubt
        assert_all_finite(names, input_name="y")
        check_classification_targets(names)
    return names


def _labelled(tree: Hierarchy, leaves: NDArray[np.int32]) -> LabelledTree:
    """Sort the leaves by name, as scikit-learn expects of ``classes_``."""
    names = np.array(tree.leaf_names)
    if names.ndim != 1 or names.tolist() != list(tree.leaf_names):  # mixed types, or tuples
        names = np.empty(tree.n_leaves, dtype=object)
        names[:] = tree.leaf_names
    try:
        order = np.argsort(names, kind="stable")
    except TypeError:
        order = np.arange(tree.n_leaves)  # names that cannot be compared stay in leaf order
    return LabelledTree(tree, names[order], order, leaves)
