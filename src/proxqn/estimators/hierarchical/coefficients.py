"""A tree model's weights with the names of nodes and features: where another fit may start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from proxqn.estimators.columns import Columns, moved, widened
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.vocabulary import Vocabulary
from proxqn.problem import Floats


@final
@dataclass(frozen=True)
class TreeCoefficients:
    """A tree model's weights and the names of their rows and columns.

    Attributes
    ----------
    coef : csr_array of shape (n_nodes, n_features)
        Weights of features.
    intercept : array of shape (n_nodes,)
        What the constant feature adds to the nodes' scores.
    hierarchy : Hierarchy
        The tree, which names the nodes.
    features : Vocabulary or None
        The names of the columns; None where these have none.
    """

    coef: sp.csr_array
    intercept: Floats
    hierarchy: Hierarchy
    features: Vocabulary | None = None

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return int(self.coef.nnz) + int(np.count_nonzero(self.intercept))

    def with_columns(self, n_features: int) -> TreeCoefficients:
        """Return them for so many features: of numbered ones the last go, or new ones come."""
        kept = sp.csr_array(self.coef[:, :n_features])
        return replace(self, coef=widened(kept, n_features), features=None)

    def onto(self, tree: Hierarchy, features: Columns, constant: float | None) -> sp.csr_array:
        """Return coefficients for another tree and other features, matched by name.

        With a constant feature its column comes last. What is not there goes.
        """
        coef: Any = features.take(self.coef, self.features, "features")
        if constant is not None:
            last = sp.csr_array(self.intercept[:, None] / constant)
            coef = sp.csr_array(sp.hstack([coef, last]))
        place = {name: node for node, name in enumerate(tree.names)}
        node = np.array([place.get(name, -1) for name in self.hierarchy.names])
        return moved(coef, rows=node, shape=(len(tree), coef.shape[1]))
