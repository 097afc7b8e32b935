"""20 Newsgroups as word counts, with the dots of the group names as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import Bunch

from proxqn.features.hierarchy import Hierarchy

_DESCR = """20 Newsgroups, split by date: {n_train} training and {n_test} test posts as counts of
{n_features} words; {n_leaves} groups in a tree of {n_nodes} nodes (comp > comp.os > ...)."""

_EXPECTED = ("parent", "node_name", "leaf_nodes", "feature_name", "y_train", "y_test")


def load_newsgroups_tree(path: str | Path) -> Bunch:
    """Load ``tree_bydate.npz``: counts and group names, and the tree of the dotted names.

    Parameters
    ----------
    path : path
        The file, or the folder that holds it. It is not part of the package: its terms are not
        stated.

    Returns
    -------
    Bunch
        ``X_train``, ``X_test`` (CSR, float64 counts), ``y_train``, ``y_test`` (whole group names
        such as ``'comp.graphics'``), ``hierarchy`` (every node by its whole name),
        ``feature_names``, ``DESCR``.

    Examples
    --------
    >>> data = load_newsgroups_tree("newsgroups/tree_bydate.npz")  # doctest: +SKIP
    >>> data.hierarchy.path("comp.graphics")  # doctest: +SKIP
    ('<root>', 'comp', 'comp.graphics')
    """
    file = Path(path)
    file = file / "tree_bydate.npz" if file.is_dir() else file
    if not file.is_file():
        raise FileNotFoundError(
            f"expected the 20 Newsgroups tree at {file}, found no such file. Pass the path of "
            "tree_bydate.npz; the package does not carry it."
        )
    with np.load(file) as arrays:
        missing = [name for name in _EXPECTED if name not in arrays.files]
        if missing:
            raise ValueError(
                f"{file.name} lacks the arrays {missing}; expected the layout of tree_bydate.npz."
            )
        content = {name: arrays[name] for name in arrays.files}
    names = _dotted_names(content["parent"], content["node_name"])
    hierarchy = Hierarchy.from_parents(content["parent"], names)
    X_train, X_test = _counts(content, "train"), _counts(content, "test")
    group = np.array(names)  # (n_nodes,), in the file's order, as its labels are
    return Bunch(
        X_train=X_train,
        y_train=group[content["y_train"]],
        X_test=X_test,
        y_test=group[content["y_test"]],
        hierarchy=hierarchy,
        feature_names=content["feature_name"],
        DESCR=_DESCR.format(
            n_train=X_train.shape[0],
            n_test=X_test.shape[0],
            n_features=X_train.shape[1],
            n_leaves=hierarchy.n_leaves,
            n_nodes=len(hierarchy),
        ),
    )


def _dotted_names(parent: npt.NDArray[np.int32], name: npt.NDArray[np.str_]) -> list[str]:
    # 'misc' occurs in several groups, so a node is called by its whole name; the root stays bare.
    whole: list[str] = []
    for node, (above, own) in enumerate(zip(parent.tolist(), name.tolist(), strict=True)):
        if above >= node:
            raise ValueError(f"node {node} comes before its parent {above}; expected it after.")
        whole.append(own if above <= 0 else f"{whole[above]}.{own}")
    return whole


def _counts(content: Mapping[str, Any], split: str) -> sp.csr_matrix:
    parts = tuple(content[f"X_{split}_{part}"] for part in ("data", "indices", "indptr"))
    X = sp.csr_matrix(parts, shape=tuple(content[f"X_{split}_shape"]), dtype=np.float64)
    X.sort_indices()
    return X
