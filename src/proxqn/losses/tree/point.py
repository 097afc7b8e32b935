"""Points and lines of the tree model: its kernels, one call for one price."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import Any, final

import numpy as np

from proxqn.losses import rounding
from proxqn.losses.mixtures import conjugate
from proxqn.losses.tree.data import TreeData
from proxqn.problem.oracle import NOTHING, Lease, Line, Point
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep, union

_MOST_DRAWN = 1e15  # of a value: its square is in the range of floats
_LANES = 8  # samples side by side in the kernels
_MAX_PAIRS = 16  # of leaves drawn for each sample
_LEAST = 2  # rows for each that is asked for
_UNDECIDED = 0.1  # of the samples: where fewer are, far out, the loss is all but linear
_CHEAP = 0.5  # entries of J, for each of the data's


@final
class TreeMemory:
    """The kernels of some samples with what they write, which is about one point at a time."""

    def __init__(self, data: TreeData, n_jobs: int, kernels: ModuleType) -> None:
        n_samples = len(data)
        stride = -(-n_samples // _LANES) * _LANES
        self.data, self.n_jobs = data, n_jobs
        self.features, self.tree = data.by_feature.kernel(kernels), data.tree_kernel(kernels)
        # weight · (P(k) - 1[k on path of y])
        self.residuals = np.zeros((len(data.hierarchy), stride))
        self.losses = np.zeros(n_samples)  # -log P(y_i|x_i) of the last forward pass
        self.lease = Lease()
        self.aimed: Any = None  # the line whose scores stand in the kernel


@final
class TreePoint(Point):
    """Node marginals of every sample at some weights."""

    def __init__(
        self, memory: TreeMemory, w: SparseVector, value: float, met: SparseVector
    ) -> None:
        self.value = value
        self._memory, self._w, self._met = memory, w, met  # weights that scores were summed of
        self._inner: float | None = None  # ⟨w, ∇ℓ(w)⟩, once known
        memory.lease.give(self)

    def gradient(self, coordinates: Ints) -> Floats:
        """Sum the node's residuals over the rows of each coordinate's feature."""
        self._memory.lease.check(self)
        out = np.empty(len(coordinates))
        memory = self._memory
        memory.features.gradient(coordinates, memory.residuals, out, memory.n_jobs)
        self._take_inner(SparseVector(coordinates, out))
        return out

    def sweep(self, level: float, keep: Ints = NOTHING) -> Sweep:
        """Stream over all data entries times nodes, tile by tile; keep what exceeds the level."""
        self._memory.lease.check(self)
        memory = self._memory
        coordinates, values, largest = memory.features.sweep(
            memory.residuals, level, None, None, memory.n_jobs
        )
        found = SparseVector(coordinates, values).including(keep, self.gradient)
        self._take_inner(found)
        return Sweep(found, largest)

    def conjugate(self, scale: float) -> float:
        """Bound ``ℓ*(scale·∇ℓ(w))`` by mixtures of the truth with the model."""
        self._memory.lease.check(self)
        if self._inner is None:
            self.gradient(self._w.coordinates)
        assert self._inner is not None
        losses, weights = self._memory.losses, self._memory.data.weights
        return conjugate(scale, self.value, self._inner, losses, weights)

    def conjugate_error(self, scale: float) -> float:
        """Return by how much that may be too small (``losses/rounding.py``)."""
        w, memory = self._w, self._memory
        off = rounding.of_inner(w.values, self.gradient(w.coordinates), self.errors(w.coordinates))
        losses, weights = memory.losses, memory.data.weights
        return rounding.of_conjugate(scale, self._recursion, losses, weights, off)

    def errors(self, coordinates: Ints) -> Floats:
        """Return by how much derivatives may be off (``losses/rounding.py``)."""
        data = self._memory.data
        columns = coordinates // len(data.hierarchy)
        return data.extent.derivatives(columns, self._recursion.of_marginals())

    def largest_error(self) -> float:
        """Return the same of all derivatives."""
        data = self._memory.data
        every = np.arange(data.by_feature.n_columns)
        found = data.extent.derivatives(every, self._recursion.of_marginals())
        return float(found.max(initial=0.0))

    @cached_property
    def _recursion(self) -> rounding.Recursion:
        return self._memory.data.recursion(self._met)

    def along(self, direction: SparseVector) -> Line:
        """Compute node scores and their changes: the data entries of the features in w and d."""
        self._memory.lease.check_place(self)
        line = TreeLine(self._memory, self, self._w, direction)
        line.aim()
        return line

    def draw(self, coordinates: Ints, n_rows: int, seed: int) -> SparseColumns | None:
        """Draw pairs of leaves: the Hessian is the covariance of their paths.

        Residuals tell their probabilities, and trials leave those alone; ``cpp/tree/draws.hpp``.
        """
        self._memory.lease.check_place(self)
        memory, n_samples = self._memory, len(self._memory.data)
        if memory.data.extent.largest.max(initial=0.0) > _MOST_DRAWN:
            return None
        n_rows = max(_LEAST * n_rows, int(self._cheap(coordinates)))
        pairs = n_rows / max(n_samples, 1)
        how = max(1, min(round(pairs), _MAX_PAIRS)), min(pairs, 1.0), seed
        *tokens, scale, n_drawn = memory.tree.draw(memory.residuals, *how, memory.n_jobs)
        if n_drawn < _UNDECIDED * how[0] * how[1] * n_samples:
            return None
        n_nodes, none = len(memory.data.hierarchy), np.zeros(0, dtype=np.int32)
        moves = coordinates % n_nodes > 0  # the root's column is zero
        start, row, value = memory.features.drawn_columns(
            coordinates[moves],
            none.astype(np.int64),
            n_nodes,
            n_samples,
            (*tokens, scale[tokens[1]]),
            (none, none, none, scale[:0]),
            memory.n_jobs,
        )
        start = start[np.concatenate([[0], np.cumsum(moves)])]
        return SparseColumns(start, row, value, len(scale), n_drawn / max(len(scale), 1) or 1.0)

    def _cheap(self, coordinates: Ints) -> float:
        """Return how many rows have so few entries that they cost little beside a pass."""
        data = self._memory.data
        met = float(np.diff(data.by_feature.start)[coordinates // len(data.hierarchy)].sum())
        levels = 2.0 * float(data.hierarchy.depth[data.hierarchy.leaf_nodes].mean())
        of_row = levels / len(data.hierarchy) * met / max(len(data), 1)
        return _CHEAP * len(data.columns) / max(of_row, 1.0)

    def _take_inner(self, g: SparseVector) -> None:
        """Note ⟨w, g⟩ where these derivatives are those of all weights."""
        if self._inner is None:
            at = np.searchsorted(g.coordinates, self._w.coordinates)
            if (np.append(g.coordinates, -1)[at] == self._w.coordinates).all():
                self._inner = float(g.values[at] @ self._w.values)


@final
class TreeLine(Line):
    """Node scores that move with the step. From nowhere, at w = 0, a line leads to any point."""

    def __init__(
        self, memory: TreeMemory, point: TreePoint | None, w: SparseVector, d: SparseVector
    ) -> None:
        self._memory, self._point, self._from = memory, point, w
        self._coordinates = union(w.coordinates, d.coordinates)
        self._w, self._d = w.on(self._coordinates), d.on(self._coordinates)
        self._trial = np.nan, np.nan  # step and loss of the last one

    def aim(self) -> None:
        """Let the kernel's scores be those of this line."""
        memory = self._memory
        memory.tree.move(self._coordinates, self._w, self._d, memory.n_jobs)
        memory.aimed = self

    def value(self, alpha: float) -> float:
        """Run the upward pass: an exponential for every nonzero node score."""
        memory = self._memory
        if self._point is not None:
            memory.lease.check_place(self._point)
        if memory.aimed is not self:  # another line was looked along in between
            self.aim()
        memory.lease.overwrite()
        memory.tree.forward(alpha, memory.losses, memory.n_jobs)
        weights = memory.data.weights
        losses = memory.losses if weights is None else weights * memory.losses
        self._trial = alpha, float(losses.sum())
        return self._trial[1]

    def accept(self, alpha: float) -> Point:
        """Run the downward pass and write the residuals: nodes x samples."""
        if self._trial[0] != alpha or self._memory.aimed is not self:
            self.value(alpha)
        memory = self._memory
        if self._point is not None:
            memory.lease.check_place(self._point)
        memory.tree.backward(alpha, memory.residuals, memory.n_jobs)
        memory.aimed = None
        w = SparseVector(self._coordinates, self._w + alpha * self._d).nonzero()
        met = SparseVector(self._coordinates, np.abs(self._w) + np.abs(alpha * self._d))
        return TreePoint(memory, w, self._trial[1], met)
