"""The penalty of a tree: λ by depth, and that of intercepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from proxqn.estimators.base import own_lam
from proxqn.features.hierarchy import Hierarchy
from proxqn.penalties import ElasticNet
from proxqn.penalties.blocks import Blocks
from proxqn.penalties.cyclic import Cyclic
from proxqn.problem import Floats
from proxqn.problem.penalty import Penalty


@final
@dataclass(frozen=True)
class TreePenalty:
    """λ of a tree's nodes and intercepts; made before the data are read.

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"animal": ["cat", "dog"], "oak": []})
    >>> penalty = TreePenalty.of([1.0, 0.5], 0.0, None).on_tree(tree, 10, intercept=False)
    >>> tree.names, penalty.on(np.arange(5)).lam
    (('<root>', 'animal', 'cat', 'dog', 'oak'), array([1. , 1. , 0.5, 0.5, 1. ]))
    """

    net: ElasticNet  # with the largest λ where there are several
    by_depth: Floats | None
    intercept: float | None

    @classmethod
    def of(cls, lam: Any, l2: float, lam_intercept: Any) -> TreePenalty:
        """Make it of an estimator's parameters; refuse bad ones."""
        own = None if lam_intercept is None else own_lam("lam_intercept", lam_intercept)
        if np.ndim(lam) == 0:
            return cls(ElasticNet(lam, l2), None, own)
        numbers = np.asarray(lam, dtype=np.float64)
        good = numbers.ndim == 1 and len(numbers) and (np.isfinite(numbers) & (numbers >= 0)).all()
        if not good or not numbers.any():
            raise ValueError(
                "lam must be a number, or one number a depth, 0 or above and not all 0, the top "
                f"nodes' first; got {lam!r}."
            )
        return cls(ElasticNet(float(numbers.max()), l2), numbers, own)

    def on_tree(self, tree: Hierarchy, n_coordinates: int, *, intercept: bool) -> Penalty:
        """Return the penalty of a tree's coordinates, those of the constant feature last."""
        n_nodes, own = len(tree), self.intercept if intercept else None
        if self.by_depth is None and own is None:
            return self.net
        features = n_coordinates - (n_nodes if intercept else 0)
        lam = self._by_node(tree)
        constant = lam.copy()
        if own is not None:
            constant[1:] = own  # the root has no weight to choose
        parts = [
            Cyclic(numbers, np.where(numbers > 0.0, self.net.l2, 0.0), size=size)
            for numbers, size in ((lam, features), (constant, n_coordinates - features))
        ]
        return Blocks([features], parts)

    def _by_node(self, tree: Hierarchy) -> Floats:
        if self.by_depth is None:
            return np.full(len(tree), float(self.net.lam))
        deepest = int(tree.depth.max())
        if len(self.by_depth) != deepest:
            raise ValueError(
                f"lam has {len(self.by_depth)} numbers, but the tree has {deepest} levels below "
                "its root; pass one number a level, the top nodes' first, or one for all."
            )
        found: Floats = self.by_depth[np.maximum(tree.depth - 1, 0)]
        found[tree.depth == 0] = self.by_depth.max()  # the root, which has no weights
        return found
