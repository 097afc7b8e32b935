"""The chain kernels bound to data: products with features, and inference on an array of scores."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.chain.mixed_features import MixedFeatures
from proxqn.problem.sparse import Floats


def feature_kernel(kernels: ModuleType, data: FeatureIndexed) -> Any:
    """Bind data to the kernels of its products."""
    x = data.lists
    lists = None if x is None else (x.start, x.places, x.columns, x.slot_list)
    sparse = kernels.Features(data.start, data.slots, data.value_start, data.values, lists)
    if data.dense is None:
        return sparse
    dense = kernels.DenseFeatures(data.dense.values, data.dense.slot_row)
    return MixedFeatures(dense, sparse, data.n_dense, len(data.value_start))


def batches(
    kernels: ModuleType,
    layout: SequenceLayout,
    n_labels: int,
    *,
    labels: NDArray[np.int32] | None,
    weights: Floats | None,
) -> Any:
    """Bind labelled sequences to the kernels of inference; chunks are of as much work."""
    return kernels.Batches(
        layout.first,
        layout.width,
        layout.length,
        layout.lane_length,
        layout.lane_sequence,
        layout.chunks(n_labels),
        labels,
        weights,
    )


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
    bound = batches(kernels, layout, n_labels, labels=labels, weights=weights)
    return (kernels.SingleChain if single else kernels.Chain)(bound, scores)
