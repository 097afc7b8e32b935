"""Samples whose labels are leaves of a tree, by row and by feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features import column_sizes
from proxqn.features.hierarchy import Hierarchy
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses import rounding
from proxqn.problem.sparse import Floats, Ints, SparseVector
from proxqn.problem.units import Units, UnitsFound


@final
@dataclass(frozen=True)
class TreeData:
    """The same entries twice: scores walk them by row, gradients by feature."""

    hierarchy: Hierarchy
    by_feature: FeatureIndexed  # a sample's slot is its number
    start: Ints  # [n_samples + 1]
    columns: NDArray[np.int32]  # [n_entries] among those of by_feature
    values: Floats  # [n_entries]
    leaves: NDArray[np.int32]  # [n_samples]
    weights: Floats | None  # [n_samples] factors of the samples' losses

    @classmethod
    def from_csr(
        cls,
        X: sp.csr_array,
        leaves: NDArray[np.integer[Any]],
        hierarchy: Hierarchy,
        weights: Floats | None,
    ) -> TreeData:
        """Index a canonical CSR matrix."""
        by_feature = FeatureIndexed.from_csr(X, np.arange(X.shape[0], dtype=np.int32))
        return cls(
            hierarchy,
            by_feature,
            np.asarray(X.indptr, dtype=np.int64),
            np.searchsorted(by_feature.columns, X.indices).astype(np.int32),
            np.asarray(X.data, dtype=np.float64),
            np.asarray(leaves, dtype=np.int32),
            weights,
        )

    def __len__(self) -> int:
        return len(self.leaves)

    def tree_kernel(self, kernels: ModuleType) -> Any:
        """Return the kernel of scores, losses and residuals."""
        tree = self.hierarchy
        return kernels.Tree(
            tree.parent,
            tree.depth,
            tree.leaf_start,
            tree.leaf_stop,
            tree.leaf_nodes,
            self.start,
            self.columns,
            self.values,
            self.leaves,
            self.weights,
            self.by_feature.n_columns,
        )

    @cached_property
    def extent(self) -> rounding.Columns:
        """The sizes of columns and rows, for what rounding may do."""
        heaviest = 1.0 if self.weights is None else float(self.weights.max(initial=0.0))
        most = int(np.diff(self.start).max(initial=0))
        return rounding.Columns.of(self.by_feature, heaviest, most)

    def recursion(self, w: SparseVector) -> rounding.Recursion:
        """Return what sums over leaves are computed from."""
        n_nodes, deepest = len(self.hierarchy), float(self.hierarchy.depth.max())
        size = deepest * self.extent.score(w.coordinates // n_nodes, w.values)
        entries = min(self.extent.row_entries, len(w.coordinates)) + int(deepest)
        return rounding.Recursion(np.ones(len(self), np.int64), 2.0 * n_nodes, entries, size)

    def rescaled(self) -> tuple[TreeData, UnitsFound] | None:
        """Return the same with columns of one size, and what is known of these."""
        sizes = column_sizes.of_features(self.by_feature)
        if sizes is None:
            return None
        data = replace(
            self,
            by_feature=column_sizes.divided(self.by_feature, sizes.unit),
            values=self.values / sizes.unit[self.columns],
        )
        units = Units(((sizes.unit, len(self.hierarchy)),))
        return data, UnitsFound(units, units.where([sizes.outlying]), sizes.resolved)

    def restricted(
        self, samples: Ints, factor: float, kernels: ModuleType, n_jobs: int
    ) -> TreeData:
        """Return some samples, ascending, their losses multiplied by a factor; all columns stay."""
        samples = self._checked(samples)
        slot_map = np.full(len(self), -1, dtype=np.int32)
        slot_map[samples] = np.arange(len(samples))
        names = ("start", "slots", "value_start", "values")
        found = self.by_feature.kernel(kernels).restrict_slots(slot_map, n_jobs)
        shape = len(self), self.by_feature.n_columns
        rows = sp.csr_array((self.values, self.columns, self.start), shape=shape)[samples]
        weights = None
        if self.weights is not None or factor != 1.0:
            weights = factor * (np.ones(len(self)) if self.weights is None else self.weights)
            weights = weights[samples]
        return replace(
            self,
            by_feature=replace(self.by_feature, **dict(zip(names, found, strict=True))),
            start=rows.indptr.astype(np.int64),
            columns=rows.indices.astype(np.int32),
            values=rows.data,
            leaves=self.leaves[samples],
            weights=weights,
        )

    def _checked(self, samples: Ints) -> Ints:
        samples = np.asarray(samples, dtype=np.int64)
        inside = (samples >= 0) & (samples < len(self))
        if samples.ndim != 1 or not inside.all() or (np.diff(samples) <= 0).any():
            raise ValueError(
                f"samples must be numbers from 0 to {len(self) - 1}, ascending and each once; got "
                f"{samples!r}. np.unique() sorts them."
            )
        return samples
