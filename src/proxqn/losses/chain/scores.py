"""What a chain's inference works on: the scores of all tokens and labels, in one of two precisions.

Double precision is label-major, ``[labels, slots]``, and partial products walk one label's column.
Single precision has eight labels of a slot together, ``[labels/8, slots, 8]``
(``cpp/products/float_products.hpp``): half the bytes, twice the lanes, and a feature that has
weights for several labels, as the frequent ones of text have, moves all of them at once. It is
right to six digits or so.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from proxqn.aligned_array import aligned_zeros
from proxqn.features.layout import SequenceLayout
from proxqn.features.mixed_features import MixedFeatures
from proxqn.losses.chain.data import ChainData
from proxqn.losses.chain.draws import Draws, Forking
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector

Swept = tuple[Ints, Floats, float]  # coordinates and derivatives above a level, the largest of all
Binding = Callable[[Floats], Any]  # from scores to inference on them


def chain_kernel(
    kernels: ModuleType,
    layout: SequenceLayout,
    scores: NDArray[Any],
    *,
    labels: NDArray[np.int32] | None,
    weights: Floats | None,
) -> Any:
    """Bind a layout and its score array to the inference kernels of its precision.

    Doubles are label-major, floats have eight labels of a slot together.
    """
    single = scores.dtype == np.float32
    n_labels = len(scores) * (8 if single else 1)
    bound = layout.batches(kernels, n_labels, labels=labels, weights=weights)
    return (kernels.SingleChain if single else kernels.Chain)(bound, scores)


@final
class Workspace:
    """Memory of two arrays, of residuals and of scores, for one precision after the other.

    Memory that the system has yet to give can take longer to come than a pass over it: residuals
    are first, so that those in double precision lie where both arrays in single precision were.

    Parameters
    ----------
    n_bytes : int
        Of an array, at most.
    """

    def __init__(self, n_bytes: int) -> None:
        self._bytes = aligned_zeros((1, 2 * -(-n_bytes // 64) * 64), np.uint8)[0]
        self.clean = True  # whether nothing has been written yet

    def take(self, shape: tuple[int, int], dtype: DTypeLike) -> list[NDArray[Any]]:
        """Return both, zero if clean; what was returned before is lost."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        starts = 0, -(-n_bytes // 64) * 64  # on cache lines
        return [self._bytes[at : at + n_bytes].view(dtype).reshape(shape) for at in starts]


class ChainScores(ABC):
    """Scores at some weights, and residuals P - 1[y] there.

    Scores are always summed afresh: two arrays instead of three, a third less to read and write,
    and no rounding errors of earlier steps.

    Attributes
    ----------
    single : bool
        Whether the arrays are of floats.

    Parameters
    ----------
    kernels : module
        ``proxqn._kernels`` or the reference.
    workspace : Workspace
        Nothing else uses it from now on.
    n_jobs : int
        Threads.
    inference : callable, optional
        Binds another kernel than that of plain chains to the scores.
    """

    single: ClassVar[bool]

    def __init__(
        self,
        kernels: ModuleType,
        data: ChainData,
        workspace: Workspace,
        n_jobs: int,
        inference: Binding | None = None,
    ) -> None:
        layout = data.layout
        self._kernels, self._features = kernels, data.features.kernel(kernels)
        self._n_labels, self._n_slots, self._n_jobs = data.n_labels, layout.stride, n_jobs
        lanes, real = (8, np.float32) if self.single else (1, np.float64)
        shape = -(-data.n_labels // lanes), layout.stride * lanes
        self._alpha, self.scores = workspace.take(shape, real)
        self._workspace = workspace
        # Labels whose scores may not be zero, where they are looked at one by one.
        self._dirty = np.full(self._n_labels, not workspace.clean, dtype=np.uint8)
        if not workspace.clean:  # no pass writes there, and sweeps judge by the mean of all slots
            self._alpha.reshape(len(self._alpha), layout.stride, -1)[:, layout.empty_slots()] = 0.0
        self.inference = inference(self.scores) if inference else self._bound(data, data.labels)

    def _bound(self, data: ChainData, labels: NDArray[np.int32]) -> Any:
        """Bind the inference of plain chains; labels are as they are numbered in the arrays."""
        return chain_kernel(
            self._kernels, data.layout, self.scores, labels=labels, weights=data.weights
        )

    @abstractmethod
    def put(self, weights: SparseVector) -> None:
        """Compute the scores: the data entries of the features that have weights."""

    def forward(self, transitions: Floats, losses: Floats) -> bool:
        """Compute the losses; False where scores are too far apart for the scaled recursion."""
        return bool(self.inference.forward(self._alpha, transitions, losses, self._n_jobs))

    def backward(self, transitions: Floats, expected: Floats) -> None:
        """Compute residuals and the expected counts of label pairs."""
        self.inference.backward(self._alpha, transitions, expected, self._n_jobs)

    def draw(self, transitions: Floats, n_pairs: int, share: float, seed: int) -> Draws:
        """Draw pairs of labelings of a share of the sequences, and return where they differ."""
        return Draws(*self.inference.draw(transitions, n_pairs, share, seed, self._n_jobs))

    def fork(self, transitions: Floats, how: Forking, *, traced: bool = True) -> Draws:
        """Return where labels may part; the weights of these rows alone where not traced."""
        what = how.least, how.share, how.seed
        found = Draws(*self.inference.fork(transitions, *what, self._n_jobs, traced))
        return replace(found, forks=True)

    def drawn_columns(self, coordinates: Ints, pairs: Ints, draws: Draws) -> SparseColumns:
        """Return the columns of J, by coordinate, and those of label pairs."""
        tokens = draws.slot, draws.row, draws.first, draws.second, draws.value
        edges = draws.edge_row, draws.edge_first, draws.edge_second, draws.edge_value
        size = self._n_labels, self._n_slots
        start, row, value = self._features.drawn_columns(
            coordinates, pairs, *size, tokens, edges, self._n_jobs
        )
        told = draws.multiplicity, draws.known
        return SparseColumns(start, row, value, len(draws.weight), *told)

    @abstractmethod
    def gradient(self, coordinates: Ints) -> Floats:
        """Sum residuals over the rows of each coordinate's feature."""

    @abstractmethod
    def sweep(self, level: float, pairs: tuple[Any, Any] | None, kept: Ints) -> Swept:
        """Stream over all data entries times labels; keep what exceeds the level, and `kept`."""


@final
class DoubleScores(ChainScores):
    """Label-major arrays of doubles, on either set of kernels."""

    single = False

    def put(self, weights: SparseVector) -> None:
        """Walk the scores label by label."""
        self._features.scores(
            weights.coordinates, weights.values, self.scores, self._dirty, self._n_jobs
        )
        self._workspace.clean = False

    def evaluate(
        self,
        weights: SparseVector,
        transitions: Floats,
        losses: Floats,
        expected: Floats,
    ) -> None:
        """Compute losses, residuals and expected counts at once, without keeping the scores."""
        features, w, dense = self._features, (weights.coordinates, weights.values), None
        if isinstance(features, MixedFeatures):
            at, rest = features.cut(w[0], self._n_labels)
            dense = features.dense, w[0][:at], w[1][:at]
            features, w = features.sparse, (rest, w[1][at:])
        self.inference.evaluate(
            features, *w, self._alpha, transitions, losses, expected, self._n_jobs, dense
        )
        self._workspace.clean = False

    def gradient(self, coordinates: Ints) -> Floats:
        """Walk the residuals label by label."""
        out = np.empty(len(coordinates))
        self._features.gradient(coordinates, self._alpha, out, self._n_jobs)
        return out

    def sweep(self, level: float, pairs: tuple[Any, Any] | None, kept: Ints) -> Swept:
        """Look at all labels of every entry, then at what is kept."""
        coordinates, values, largest = self._features.sweep(
            self._alpha, level, *(pairs or (None, None)), self._n_jobs
        )
        found = SparseVector(coordinates, values).including(kept, self.gradient)
        return found.coordinates, found.values, largest


@final
class SingleScores(ChainScores):
    """Arrays of floats, eight labels together and frequent labels first; compiled kernels only."""

    single = True

    def _bound(self, data: ChainData, labels: NDArray[np.int32]) -> Any:
        """Bind it to labels that are numbered by how often they occur."""
        order = np.argsort(-data.label_counts, kind="stable")  # place -> label
        self._rank = np.empty(data.n_labels, dtype=np.int32)  # label -> place
        self._rank[order] = np.arange(data.n_labels)
        self._by_place = order[:, np.newaxis] * data.n_labels + order  # of pairs
        places = self._rank.take(labels, mode="clip")  # the fastest: all are inside
        return super()._bound(data, places)

    def put(self, weights: SparseVector) -> None:
        """Walk the scores, eight labels at a time."""
        self._features.scores_single(
            weights.coordinates, weights.values, self._rank, self.scores, self._n_jobs
        )
        self._workspace.clean = False

    def forward(self, transitions: Floats, losses: Floats) -> bool:
        """Compute the losses in the order of places."""
        ordered = transitions.take(self._by_place)
        return super().forward(ordered, losses)

    def backward(self, transitions: Floats, expected: Floats) -> None:
        """Compute residuals and expected counts in the order of places."""
        ordered = transitions.take(self._by_place)
        counts = np.empty_like(expected)
        super().backward(ordered, counts)
        expected.flat[self._by_place] = counts

    def draw(self, transitions: Floats, n_pairs: int, share: float, seed: int) -> Draws:
        """Draw in the order of places, by which the labels are then known."""
        ordered = transitions.take(self._by_place)
        return super().draw(ordered, n_pairs, share, seed)

    def fork(self, transitions: Floats, how: Forking, *, traced: bool = True) -> Draws:
        """Look at the forks in the order of places."""
        return super().fork(transitions.take(self._by_place), how, traced=traced)

    def drawn_columns(self, coordinates: Ints, pairs: Ints, draws: Draws) -> SparseColumns:
        """Look for the places of the labels."""
        of_state = coordinates % self._n_labels
        label, following = np.divmod(pairs, self._n_labels)
        return super().drawn_columns(
            coordinates - of_state + self._rank[of_state],
            self._rank[label] * self._n_labels + self._rank[following],
            draws,
        )

    def gradient(self, coordinates: Ints) -> Floats:
        """Walk the residuals, eight labels at a time."""
        out = np.empty(len(coordinates))
        self._features.gradient_single(coordinates, self._rank, self._alpha, out, self._n_jobs)
        return out

    def sweep(self, level: float, pairs: tuple[Any, Any] | None, kept: Ints) -> Swept:
        """Look at all labels of every entry."""
        found: Swept = self._features.sweep_single(
            self._rank, self._alpha, level, *(pairs or (None, None)), kept, self._n_jobs
        )
        return found
