"""Products with dense columns against the NumPy reference, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn import _kernels
from proxqn.features.mixed_features import MixedFeatures
from proxqn.losses.chain import reference

# The last columns of a register, of a panel of 512, of one of three; slots of a panel of 128.
SIZES = [(1, 8), (5, 40), (24, 136), (48, 128), (61, 1000), (515, 264)]
N_LABELS = 11


def problem(n_columns, stride, dtype, seed=0):
    """Return kernels of the same dense columns, some slots of which have no row."""
    rng = np.random.default_rng(seed)
    slot_row = np.full(stride, -1, dtype=np.int32)
    slots = np.flatnonzero(rng.random(stride) < 0.9)
    slot_row[slots] = rng.permutation(len(slots))
    values = rng.normal(size=(len(slots) + 1, n_columns)).astype(dtype)
    values[:, 0] *= rng.random(len(values)) < 0.5
    return [kernels.DenseFeatures(values, slot_row) for kernels in (_kernels, reference)], rng


def rows_of(array):
    """Return [L][stride] as eights of labels of a slot together."""
    n_labels, stride = array.shape
    padded = np.zeros((-(-n_labels // 8) * 8, stride), dtype=np.float32)
    padded[:n_labels] = array
    eights = padded.reshape(-1, 8, stride).transpose(0, 2, 1)
    return np.ascontiguousarray(eights).reshape(-1, stride * 8)


def labels_of(rows, n_labels):
    return rows.reshape(len(rows), -1, 8).transpose(0, 2, 1).reshape(len(rows) * 8, -1)[:n_labels]


def some_coordinates(rng, n_columns, share):
    chosen = np.flatnonzero(rng.random(n_columns * N_LABELS) < share)
    return chosen if len(chosen) else np.array([0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", [0.1, 0.9])  # pair by pair, and all pairs at once
def test_double_products_are_those_of_the_reference(size, dtype, share):
    (kernel, true), rng = problem(*size, dtype)
    coordinates = some_coordinates(rng, size[0], share)
    weights = rng.normal(size=len(coordinates))
    before = rng.normal(size=(N_LABELS, size[1]))
    scores, expected = before.copy(), before.copy()
    dirty = np.zeros(N_LABELS, dtype=np.uint8)
    kernel.add_scores(coordinates, weights, scores, dirty, 1)
    true.add_scores(coordinates, weights, expected, np.zeros(N_LABELS, dtype=np.uint8), 1)
    np.testing.assert_allclose(scores, expected, atol=1e-11)
    assert set(np.flatnonzero(dirty)) == set(coordinates % N_LABELS)
    found, expected = np.empty((2, len(coordinates)))
    kernel.gradient(coordinates, before, found, 1)
    true.gradient(coordinates, before, expected, 1)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_single_products_are_those_of_the_reference(size, dtype, share):
    (kernel, true), rng = problem(*size, dtype)
    coordinates = some_coordinates(rng, size[0], share)
    weights = rng.normal(size=len(coordinates))
    rank = rng.permutation(N_LABELS).astype(np.int32)
    before = rng.normal(size=(N_LABELS, size[1]))
    placed = np.empty_like(before)
    placed[rank] = before
    scores = rows_of(placed)
    kernel.add_scores_single(coordinates, weights, rank, scores, 1)
    expected = before.copy()
    true.add_scores(coordinates, weights, expected, np.zeros(N_LABELS, dtype=np.uint8), 1)
    np.testing.assert_allclose(labels_of(scores, N_LABELS)[rank], expected, atol=1e-4)
    found, expected = np.empty((2, len(coordinates)))
    kernel.gradient_single(coordinates, rank, rows_of(placed), found, 1)
    true.gradient(coordinates, before, expected, 1)
    np.testing.assert_allclose(found, expected, atol=5e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("observed", [False, True])
def test_sweeps_find_what_the_reference_finds(size, dtype, observed):
    (kernel, true), rng = problem(*size, dtype)
    residuals = rng.normal(size=(N_LABELS, size[1]))
    labels = rng.integers(N_LABELS, size=size[1]).astype(np.int32)
    pairs = None, None
    if observed:
        pairs, expected = (
            kernel.observed_pairs(labels, N_LABELS),
            true.observed_pairs(labels, N_LABELS),
        )
        np.testing.assert_array_equal(pairs[0], expected[0])
        np.testing.assert_array_equal(pairs[1], expected[1])
    level = 0.5 * np.sqrt(size[1])
    expected = true.sweep(residuals, level, *pairs, 1)
    found = kernel.sweep(residuals, level, *pairs, 1)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-10)
    assert found[2] == pytest.approx(expected[2], abs=1e-10)

    rank = rng.permutation(N_LABELS).astype(np.int32)
    placed = np.empty_like(residuals)
    placed[rank] = residuals
    kept = some_coordinates(rng, size[0], 0.2)
    found = kernel.sweep_single(rank, rows_of(placed), level, *pairs, kept, 1)
    own = true.sweep(residuals, -1.0, None, None, 1)[1]
    np.testing.assert_allclose(found[1], own[found[0]], atol=5e-5)
    assert set(kept) <= set(found[0]) <= set(kept) | set(expected[0]) | near(own, level)
    assert set(found[0]) >= set(expected[0]) - near(own, level)
    assert found[2] == pytest.approx(expected[2], abs=5e-5)


def near(g, level):
    return set(np.flatnonzero(np.abs(np.abs(g) - level) < 1e-4))


def test_a_residual_that_is_no_number_is_seen():
    (kernel, _), rng = problem(20, 64, np.float32)
    residuals = rng.normal(size=(N_LABELS, 64))
    residuals[3] = np.nan
    assert np.isnan(kernel.sweep(residuals, 1.0, None, None, 1)[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_do_not_depend_on_threads(dtype):
    (kernel, _), rng = problem(70, 20_000, dtype)
    for share in (0.1, 0.9):
        coordinates = some_coordinates(rng, 70, share)
        weights = rng.normal(size=len(coordinates))
        residuals = rng.normal(size=(N_LABELS, 20_000))
        rank, rows = np.arange(N_LABELS, dtype=np.int32), rows_of(residuals)
        found = []
        for n_jobs in (1, 2, 5):
            scores, gradient = residuals.copy(), np.empty((2, len(coordinates)))
            single = rows.copy()
            kernel.add_scores(coordinates, weights, scores, np.zeros(N_LABELS, np.uint8), n_jobs)
            kernel.add_scores_single(coordinates, weights, rank, single, n_jobs)
            kernel.gradient(coordinates, residuals, gradient[0], n_jobs)
            kernel.gradient_single(coordinates, rank, rows, gradient[1], n_jobs)
            sweeps = (
                *kernel.sweep(residuals, 9.0, None, None, n_jobs),
                *kernel.sweep_single(rank, rows, 9.0, None, None, coordinates, n_jobs),
            )
            found.append([scores, single, gradient, *map(np.asarray, sweeps)])
        for others in found[1:]:
            for a, b in zip(found[0], others, strict=True):
                np.testing.assert_array_equal(a, b)


def test_columns_of_draws_are_those_of_the_reference():
    (kernel, true), rng = problem(30, 200, np.float32)
    slot_row = np.flatnonzero(np.full(200, True))
    n = 90
    slot = np.sort(rng.choice(slot_row, n)).astype(np.int32)
    slot = slot[np.isin(slot, true.columns[0][0])]
    run = np.sort(rng.integers(20, size=len(slot))).astype(np.int32)
    first = rng.integers(N_LABELS, size=len(slot)).astype(np.int32)
    second = ((first + rng.integers(1, N_LABELS, size=len(slot))) % N_LABELS).astype(np.int32)
    scale = rng.random(20).astype(np.float32)
    coordinates = some_coordinates(rng, 30, 0.3)
    tokens = slot, run, first, second, scale[run]
    others = np.array([0, 1, 3]), np.array([3, 0, 7], np.int32), np.ones(3, np.float32)
    dense = []
    for part in (kernel, true):
        start, row, value = part.drawn_columns(coordinates, N_LABELS, 200, tokens, others, 2)
        J = np.zeros((20, len(coordinates) + 2))
        np.add.at(J, (row, np.repeat(np.arange(len(start) - 1), np.diff(start))), value)
        dense.append(J)
    np.testing.assert_allclose(*dense, atol=1e-6)
    assert np.count_nonzero(dense[0][:, -2:]) == 3


def test_squares_are_those_of_the_reference():
    (kernel, true), _ = problem(30, 200, np.float32)
    np.testing.assert_allclose(kernel.squares(), true.squares(), rtol=1e-12)


def test_dense_and_sparse_columns_are_one_set_of_coordinates():
    """Everything that the faces offer, on dense columns with sparse ones behind them."""
    stride, n_dense = 96, 7
    (dense, true_dense), rng = problem(n_dense, stride, np.float64)
    slots = [np.sort(rng.choice(stride, 10, replace=False)).astype(np.int32) for _ in range(4)]
    start = np.arange(5) * 10
    sparse = start, np.concatenate(slots), np.array([0, -1, 10, -1]), rng.normal(size=20)
    kernel = MixedFeatures(dense, _kernels.Features(*sparse), n_dense, 4)
    whole = reference.Features(*sparse)
    whole.columns = [*true_dense.columns, *whole.columns]
    n = 11 * N_LABELS
    coordinates = np.flatnonzero(rng.random(n) < 0.4)
    weights = rng.normal(size=len(coordinates))
    residuals = rng.normal(size=(N_LABELS, stride))
    scores, expected = np.full((2, N_LABELS, stride), 7.0)
    kernel.scores(coordinates, weights, scores, np.ones(N_LABELS, np.uint8), 1)
    whole.scores(coordinates, weights, expected, np.ones(N_LABELS, np.uint8), 1)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    found, expected = np.empty((2, len(coordinates)))
    kernel.gradient(coordinates, residuals, found, 1)
    whole.gradient(coordinates, residuals, expected, 1)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found_sweep = kernel.sweep(residuals, 5.0, None, None, 1)
    for a, b in zip(found_sweep, whole.sweep(residuals, 5.0, None, None, 1), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    rank = np.arange(N_LABELS, dtype=np.int32)
    found_sweep = kernel.sweep_single(rank, rows_of(residuals), 5.0, None, None, coordinates, 1)
    every = whole.sweep(residuals, -1.0, None, None, 1)[1]
    assert set(coordinates) <= set(found_sweep[0])
    np.testing.assert_allclose(found_sweep[1], every[found_sweep[0]], atol=1e-5)


def test_rows_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="rows of slots must be rows of values"):
        _kernels.DenseFeatures(np.zeros((2, 3)), np.array([0, 2], dtype=np.int32))
    kernel = _kernels.DenseFeatures(np.zeros((2, 3)), np.array([0, 1], dtype=np.int32))
    with pytest.raises(ValueError, match="one row a slot"):
        kernel.gradient(np.array([0]), np.zeros((2, 8)), np.empty(1), 1)
