"""The full sweep's kernels against NumPy, for columns of every frequency and both precisions."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn import _kernels
from proxqn.losses.chain import reference

COUNTS = [1, 3, 20, 63, 64, 100, 127, 130, 140, 150, 300, 2_000, 20_000]


def random_columns(rng, stride, n_rare):
    """Return start, slots, value_start, values: columns of ones, and of values, by turns."""
    counts = np.repeat(rng.permutation(COUNTS + [50] * n_rare), 2)
    slots = [np.unique(rng.integers(0, stride, n)) for n in counts]
    start = np.concatenate([[0], np.cumsum([len(s) for s in slots])])
    n_values = np.array([len(s) if i % 2 else 0 for i, s in enumerate(slots)])
    value_start = np.where(n_values > 0, np.cumsum(n_values) - n_values, -1)
    values = rng.normal(size=n_values.sum())
    return start, np.concatenate(slots).astype(np.int32), value_start, values


def with_lists(columns, stride):
    """Add the lists by slot of columns of ones that are not rare, in another order."""
    start, slots, value_start, _ = columns
    counts = np.diff(start)
    listed = np.flatnonzero((value_start < 0) & (counts >= 64))
    lists = [[] for _ in range(stride)]
    for place, c in enumerate(listed):
        for slot in slots[start[c] : start[c + 1]]:
            lists[slot].append(place)
    order = np.random.default_rng(0).permutation(stride)  # list -> slot
    slot_list = np.empty(stride, dtype=np.int32)
    slot_list[order] = np.arange(stride)
    slot_list[[not own for own in lists]] = -1
    ends = np.concatenate([[0], np.cumsum([len(lists[slot]) for slot in order])])
    places = np.concatenate([lists[slot] for slot in order]).astype(np.uint16)
    return *columns, (ends, places, listed.astype(np.int32), slot_list)


def no_lists(columns, stride):
    return columns


def random_pairs(rng, n_columns, n_labels):
    admitted = rng.random((n_columns, n_labels)) < 0.3
    start = np.concatenate([[0], np.cumsum(admitted.sum(axis=1))])
    return start, np.nonzero(admitted)[1].astype(np.int32)


NONE = np.empty(0, dtype=np.int64)


def sweep_single(columns, residuals, level, pairs, n_jobs, kept=NONE):
    """Sweep over floats, eight labels of a slot together, in an order of their own."""
    n_labels, stride = residuals.shape
    rank = np.random.default_rng(1).permutation(n_labels).astype(np.int32)
    padded = np.zeros((-(-n_labels // 8) * 8, stride), dtype=np.float32)
    padded[rank] = residuals
    eights = padded.reshape(-1, 8, stride).transpose(0, 2, 1).reshape(-1, stride * 8)
    kernel = _kernels.Features(*columns)
    return kernel.sweep_single(rank, np.ascontiguousarray(eights), level, *pairs, kept, n_jobs)


def sweep_double(columns, residuals, level, pairs, n_jobs):
    return _kernels.Features(*columns).sweep(residuals, level, *pairs, n_jobs)


@pytest.mark.parametrize(("sweep", "error"), [(sweep_double, 1e-13), (sweep_single, 2e-6)])
@pytest.mark.parametrize("listing", [no_lists, with_lists])
@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize(
    ("n_labels", "stride", "n_rare"),
    [
        (3, 40_000, 3),
        (20, 40_000, 1_500),  # so many that double precision copies the residuals
        (43, 180_000, 3),  # more residuals than caches hold: columns of 150 entries go by blocks
        (130, 3_000, 3),  # more labels than registers
    ],
)
def test_agrees_with_numpy_with_any_number_of_threads(
    sweep, error, listing, observed, n_labels, stride, n_rare
):
    rng = np.random.default_rng(n_labels)
    columns = listing(random_columns(rng, stride, n_rare), stride)
    residuals = rng.uniform(-1.0, 1.0, (n_labels, stride)).astype(np.float32).astype(np.float64)
    n_columns = len(columns[0]) - 1
    pairs = random_pairs(rng, n_columns, n_labels) if observed else (None, None)
    true = reference.Features(*columns).sweep(residuals, -1.0, *pairs, 1)
    if observed:  # the reference names the others, too, as zeros
        true = tuple(part[true[1] != 0.0] for part in true[:2]) + true[2:]
    first = sweep(columns, residuals, -1.0, pairs, 1)
    np.testing.assert_array_equal(first[0], true[0])
    np.testing.assert_allclose(first[1], true[1], rtol=error, atol=error * true[2])
    assert first[2] == np.abs(first[1]).max()
    second = sweep(columns, residuals, -1.0, pairs, 2)
    np.testing.assert_array_equal(second[0], first[0])
    np.testing.assert_array_equal(second[1], first[1])
    above = sweep(columns, residuals, 5.0, pairs, 1)
    np.testing.assert_array_equal(above[1], first[1][np.abs(first[1]) > 5.0])


def small_residuals(rng, n_labels, stride):
    """Return residuals of a model that is right about most slots."""
    size = np.where(rng.random(stride) < 0.1, 1.0, 1e-3)
    return (size * rng.uniform(-1.0, 1.0, (n_labels, stride))).astype(np.float32).astype(float)


@pytest.mark.parametrize(("sweep", "error"), [(sweep_double, 1e-13), (sweep_single, 2e-6)])
@pytest.mark.parametrize("listing", [no_lists, with_lists])
@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("n_labels", [3, 20, 70])  # 70: in tiles, in double precision
@pytest.mark.parametrize("level", [0.0, 0.01, 0.7, 4.0, 1e3, np.inf])  # 1e3: above all
def test_what_is_left_out_cannot_exceed_the_level(sweep, error, listing, observed, n_labels, level):
    rng = np.random.default_rng(n_labels)
    columns = listing(random_columns(rng, 30_000, 300), 30_000)
    residuals = small_residuals(rng, n_labels, 30_000)
    pairs = random_pairs(rng, len(columns[0]) - 1, n_labels) if observed else (None, None)
    coordinates, gradient, largest = sweep(columns, residuals, -1.0, pairs, 1)  # of all
    found = sweep(columns, residuals, level, pairs, 2)
    above = np.abs(gradient) > level
    np.testing.assert_array_equal(found[0], coordinates[above])
    np.testing.assert_allclose(found[1], gradient[above], rtol=error, atol=error * largest)
    assert found[2] == pytest.approx(largest, rel=error)


@pytest.mark.parametrize("listing", [no_lists, with_lists])
@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("n_labels", [3, 20])
@pytest.mark.parametrize("level", [0.0, 0.7, 1e3, np.inf])
def test_what_is_kept_comes_from_the_same_sums(listing, observed, n_labels, level):
    rng = np.random.default_rng(n_labels)
    columns = listing(random_columns(rng, 30_000, 300), 30_000)
    residuals = small_residuals(rng, n_labels, 30_000)
    n_columns = len(columns[0]) - 1
    pairs = random_pairs(rng, n_columns, n_labels) if observed else (None, None)
    kept = np.flatnonzero(rng.random(n_columns * n_labels) < 0.02)  # some that are not observed
    everything = sweep_single(columns, residuals, -1.0, (None, None), 1)[1]
    plain = sweep_single(columns, residuals, level, pairs, 2)
    coordinates, gradient, largest = sweep_single(columns, residuals, level, pairs, 2, kept)
    np.testing.assert_array_equal(coordinates, np.union1d(plain[0], kept))
    np.testing.assert_allclose(gradient, everything[coordinates], rtol=0.0, atol=2e-6 * largest)
    assert largest == pytest.approx(plain[2], rel=2e-6)


@pytest.mark.parametrize("sweep", [sweep_double, sweep_single])
@pytest.mark.parametrize("listing", [no_lists, with_lists])
@pytest.mark.parametrize("n_labels", [3, 70])
@pytest.mark.parametrize("count", [1, 100, 2_000])
def test_a_nan_anywhere_is_seen(sweep, listing, n_labels, count):
    rng = np.random.default_rng(n_labels)
    columns = listing(random_columns(rng, 30_000, 3), 30_000)
    residuals = small_residuals(rng, n_labels, 30_000)
    column = np.argmin(np.abs(np.diff(columns[0]) - count))
    residuals[1, columns[1][columns[0][column]]] = np.nan
    assert np.isnan(sweep(columns, residuals, 5.0, (None, None), 1)[2])


@pytest.mark.parametrize("sweep", [sweep_double, sweep_single])
def test_lists_are_of_as_many_slots(sweep):
    columns = with_lists(random_columns(np.random.default_rng(0), 30_000, 3), 30_000)
    with pytest.raises(ValueError, match="one list a slot"):
        sweep(columns, np.zeros((3, 29_992)), 1.0, (None, None), 1)
