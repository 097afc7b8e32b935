"""The seam: sparse vectors, and the meter that counts and times what a solver asks for."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.problems import full_gradient, go_to, random_chain, random_weights

from proxqn.problem import (
    OPERATIONS,
    MeteredOracle,
    Oracle,
    SparseColumns,
    SparseVector,
    Sweep,
    union,
)


class Slow(Oracle):
    """Each method takes its own time."""

    n_coordinates = 3
    n_parameters = 4
    n_samples = 5

    def reset(self):
        pass

    def move(self, direction):
        time.sleep(0.001)

    def value_at(self, step):
        time.sleep(0.002)
        return step

    def accept(self, step):
        time.sleep(0.003)

    def gradient(self, coordinates):
        time.sleep(0.004)
        return np.zeros(len(coordinates))

    def sweep(self, level):
        time.sleep(0.005)
        return Sweep(SparseVector.empty(), 0.0)

    def sample_losses(self):
        return np.ones(5), None

    def sample_curvature(self, coordinates, n_rows, seed):
        time.sleep(0.006)
        return SparseColumns(np.array([0, 0]), np.empty(0, np.int32), np.empty(0, np.float32), 0)


def test_every_operation_is_counted_and_timed_under_its_own_name():
    meter = MeteredOracle(Slow())
    meter.reset()
    for times, call in enumerate(
        [
            lambda: meter.move(SparseVector.empty()),
            lambda: meter.value_at(0.5),
            lambda: meter.accept(0.5),
            lambda: meter.gradient(np.array([1])),
            lambda: meter.sweep(0.0),
            lambda: meter.sample_curvature(np.array([1]), 5, 0),
        ],
        start=1,
    ):
        for _ in range(times):
            call()
    assert meter.calls.counts == dict(zip(OPERATIONS, [1, 2, 3, 4, 5, 6], strict=True))
    for i, name in enumerate(OPERATIONS, start=1):
        assert meter.calls.seconds[name] >= i * 0.001 * i


def test_a_start_counts_as_all_that_it_does():
    meter = MeteredOracle(Slow())
    meter.start_at(SparseVector.empty())
    assert {name for name, count in meter.calls.counts.items() if count == 1} == {
        "move",
        "forward",
        "backward",
    }
    assert sum(meter.calls.seconds.values()) >= 0.006


def test_what_costs_nothing_is_not_counted():
    meter = MeteredOracle(Slow())
    meter.reset()
    meter.sample_losses()
    assert (meter.n_coordinates, meter.n_parameters, meter.n_samples) == (3, 4, 5)
    assert set(meter.calls.counts.values()) == {0}


def test_the_meter_changes_no_result():
    problem = random_chain(0)
    plain, metered = problem.oracle(), MeteredOracle(problem.oracle())
    w = random_weights(plain, 0)
    assert go_to(plain, w) == go_to(metered, w)
    np.testing.assert_array_equal(full_gradient(plain), full_gradient(metered))
    ours, theirs = metered.sweep(0.5), plain.sweep(0.5)
    np.testing.assert_array_equal(ours.gradient.values, theirs.gradient.values)
    assert ours.largest == theirs.largest
    np.testing.assert_array_equal(metered.sample_losses()[0], plain.sample_losses()[0])


def test_two_meters_do_not_share_counts():
    first, second = MeteredOracle(Slow()), MeteredOracle(Slow())
    first.value_at(0.0)
    assert second.calls.counts["forward"] == 0


def test_a_call_that_fails_is_passed_on():
    class Broken(Slow):
        def value_at(self, step):
            raise RuntimeError("no inference today")

    meter = MeteredOracle(Broken())
    with pytest.raises(RuntimeError, match="no inference today"):
        meter.value_at(1.0)


def test_an_oracle_must_define_every_operation():
    class Half(Oracle):
        def reset(self):
            pass

    with pytest.raises(TypeError, match="value_at"):
        Half()


def test_sparse_vector_drops_its_zeros():
    w = SparseVector(np.array([1, 4, 9]), np.array([2.0, 0.0, -1.0])).nonzero()
    assert w.coordinates.tolist() == [1, 9]
    assert w.values.tolist() == [2.0, -1.0]
    assert len(SparseVector.empty().values) == 0


def test_including_asks_only_for_what_is_lacking():
    w = SparseVector(np.array([1, 4, 9]), np.array([2.0, 0.0, -1.0]))
    assert w.including(np.array([1, 9]), pytest.fail) is w
    asked = []

    def values_of(coordinates):
        asked.extend(coordinates)
        return -1.0 * coordinates

    found = w.including(np.array([0, 4, 5, 11]), values_of)
    assert asked == [0, 5, 11]
    assert found.coordinates.tolist() == [0, 1, 4, 5, 9, 11]
    assert found.values.tolist() == [0.0, 2.0, 0.0, -5.0, -1.0, -11.0]


def test_a_union_of_coordinates_ascends_and_names_each_once():
    rng = np.random.default_rng(3)
    for n, m in [(0, 0), (0, 5), (7, 0), (40, 40)]:
        one, other = (np.sort(rng.choice(60, k, replace=False)) for k in (n, m))
        np.testing.assert_array_equal(union(one, other), sorted({*one, *other}))
