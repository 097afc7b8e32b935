"""Products in single precision against NumPy: dense columns, held as bits, and very many slots."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn import _kernels


def dense_columns(rng, n_columns, stride):
    """Return columns with a half of all slots, and the same as a matrix [slot][column]."""
    matrix = rng.random((stride, n_columns)) < 0.5
    start = np.concatenate([[0], np.cumsum(matrix.sum(axis=0))])
    slots = np.concatenate([np.flatnonzero(column) for column in matrix.T]).astype(np.int32)
    return (start, slots, np.full(n_columns, -1), np.empty(0)), matrix.astype(float)


def rows_of(array):
    """Return [L][stride] as eights of labels of a slot together."""
    n_labels, stride = array.shape
    padded = np.zeros((-(-n_labels // 8) * 8, stride), dtype=np.float32)
    padded[:n_labels] = array
    return np.ascontiguousarray(padded.reshape(-1, 8, stride).transpose(0, 2, 1)).reshape(
        -1, stride * 8
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("stride", [1000, 2048, 5000])  # parts of runs of 512 slots, and whole ones
@pytest.mark.parametrize("n_columns", [3, 4, 8, 11, 12, 17, 32, 45])  # a label: masks, then tables
def test_scores_and_derivatives_agree_with_numpy(n_columns, stride, n_jobs):
    rng = np.random.default_rng(n_columns)
    n_labels = 11
    columns, matrix = dense_columns(rng, n_columns, stride)
    kernel = _kernels.Features(*columns)
    rank = np.arange(n_labels, dtype=np.int32)
    has_weight = rng.random((n_columns, n_labels)) < 0.8
    has_weight[:, 0] = True
    coordinates = np.flatnonzero(has_weight)
    weights = np.zeros((n_columns, n_labels))
    weights.flat[coordinates] = rng.normal(size=len(coordinates))
    scores = rows_of(np.zeros((n_labels, stride)))
    kernel.scores_single(coordinates, weights.flat[coordinates], rank, scores, n_jobs)
    expected = rows_of((matrix @ weights).T)
    np.testing.assert_allclose(scores, expected, atol=1e-6 * n_columns)
    residuals = rng.normal(size=(n_labels, stride)).astype(np.float32)
    found = np.empty(len(coordinates))
    kernel.gradient_single(coordinates, rank, rows_of(residuals), found, n_jobs)
    true = (residuals.astype(float) @ matrix).T.flat[coordinates]
    np.testing.assert_allclose(found, true, atol=1e-7 * stride)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scores_that_no_cache_holds_agree_with_numpy(n_jobs):
    """Columns in lists, slot by slot; 69 MB of scores are stored past the caches."""
    rng = np.random.default_rng(0)
    n_columns, n_labels, stride = 44, 8, 2_150_400
    slots = [np.unique(rng.integers(0, stride, stride // 35)) for _ in range(n_columns)]
    start = np.concatenate([[0], np.cumsum([len(own) for own in slots])])
    ones = np.full(n_columns, -1), np.empty(0)
    kernel = _kernels.Features(start, np.concatenate(slots).astype(np.int32), *ones)
    weights = rng.normal(size=(n_columns, n_labels))
    rank = np.arange(n_labels, dtype=np.int32)
    scores = np.full((1, stride * 8), np.nan, dtype=np.float32)
    kernel.scores_single(np.arange(weights.size), weights.ravel(), rank, scores, n_jobs)
    expected = np.zeros((stride, n_labels))
    for own, w in zip(slots, weights, strict=True):
        expected[own] += w
    np.testing.assert_allclose(scores.reshape(stride, 8), expected, atol=1e-5)
