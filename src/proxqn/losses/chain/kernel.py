"""What stands around the chain kernels: input checks, the binding to a layout, aligned arrays."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from proxqn.features.layout import SequenceLayout
from proxqn.features.matrix import FeatureIndexed
from proxqn.losses.chain.mixed_features import MixedFeatures
from proxqn.problem.sparse import Floats, Ints


def check(
    X: sp.csr_array,
    labels: NDArray[np.integer[Any]],
    lengths: Ints,
    n_labels: int,
    sample_weight: Floats | None,
) -> None:
    """Refuse what does not fit: the kernels take labels and lengths as indices, unchecked."""
    n_tokens = X.shape[0]
    if labels.shape != (n_tokens,):
        raise ValueError(
            f"one label a row of X expected, {n_tokens} in all, got an array of {labels.shape}."
        )
    if n_tokens and not 0 <= labels.min() <= labels.max() < n_labels:
        raise ValueError(
            f"labels must be numbers from 0 to n_labels - 1 = {n_labels - 1}, "
            f"got {labels.min()} to {labels.max()}; number the label names first."
        )
    if lengths.ndim != 1 or lengths.min(initial=1) < 1 or lengths.sum() != n_tokens:
        raise ValueError(
            f"lengths must be 1 or above and sum to the {n_tokens} rows of X, got "
            f"{len(lengths)} lengths from {lengths.min(initial=0)} that sum to {lengths.sum()}."
        )
    if sample_weight is None:
        return
    if sample_weight.shape != lengths.shape:
        raise ValueError(
            f"one sample weight a sequence expected, {len(lengths)} in all, "
            f"got an array of {sample_weight.shape}."
        )
    if not (np.isfinite(sample_weight) & (sample_weight >= 0.0)).all():
        raise ValueError("sample weights must be finite numbers, 0 or above.")


def feature_kernel(kernels: ModuleType, data: FeatureIndexed) -> Any:
    """Bind data to the kernels of its products."""
    x = data.lists
    lists = None if x is None else (x.start, x.places, x.columns, x.slot_list)
    sparse = kernels.Features(data.start, data.slots, data.value_start, data.values, lists)
    if data.dense is None:
        return sparse
    dense = kernels.DenseFeatures(data.dense.values, data.dense.slot_row)
    return MixedFeatures(dense, sparse, data.n_dense, len(data.value_start))


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
    kernel = kernels.SingleChain if single else kernels.Chain
    return kernel(
        layout.first,
        layout.width,
        layout.length,
        layout.lane_length,
        layout.lane_sequence,
        layout.chunks(len(scores) * (8 if single else 1)),
        labels,
        weights,
        scores,
    )
