"""The meter counts and times what a solver asks for, and stands in for whatever it wraps."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.lattice_problems import random_lattice
from tests.problems import random_chain, random_weights
from tests.rival_problems import small_tree
from tests.testing.toy import Toy

from proxqn.losses.function import FunctionOracle
from proxqn.problem.abilities import (
    ABILITIES,
    Draws,
    Precisions,
    Rescalable,
    Rounded,
    Steps,
    Subsamples,
)
from proxqn.problem.meter import OPERATIONS, PRICES, Calls, metered
from proxqn.problem.oracle import NOTHING, DensePoint, Line, Oracle, Point
from proxqn.problem.sparse import SparseColumns, SparseVector, Sweep
from proxqn.testing.metering import check_forwarding

ZERO = SparseVector.empty()


class Slow(Oracle):
    """Each method takes its own time."""

    n_coordinates, n_parameters, n_samples = 3, 4, 5

    def at(self, w):
        time.sleep(0.001)
        return SlowPoint(0.0)

    def restrict(self, samples, factor=1.0):
        part = Slow()
        part.n_samples = len(samples)
        return part


class SlowPoint(Point):
    def __init__(self, value):
        self.value = value

    def along(self, direction):
        time.sleep(0.002)
        return SlowLine()

    def gradient(self, coordinates):
        time.sleep(0.003)
        return np.zeros(len(coordinates))

    def sweep(self, level, keep=NOTHING):
        time.sleep(0.004)
        return Sweep(ZERO, 0.0)

    def draw(self, coordinates, n_rows, seed):
        time.sleep(0.005)
        if not n_rows:
            return None
        return SparseColumns(np.array([0, 0]), np.empty(0, np.int32), np.empty(0, np.float32), 0)


class SlowLine(Line):
    def value(self, alpha):
        time.sleep(0.006)
        return alpha

    def accept(self, alpha):
        time.sleep(0.007)
        return SlowPoint(alpha)


def test_every_call_is_counted_and_timed_under_its_own_name():
    calls = Calls()
    point = metered(Slow(), calls).at(ZERO)
    line = point.along(ZERO)
    for times, call in enumerate(
        [
            lambda: point.gradient(np.array([1])),
            lambda: point.sweep(0.0),
            lambda: point.draw(np.array([1]), 5, 0),
            lambda: line.value(0.5),
            lambda: line.accept(0.5),
        ],
        start=1,
    ):
        for _ in range(times):
            call()
    assert calls.counts == {
        "move": 2,  # one of at(), one of along()
        "forward": 5,
        "backward": 6,
        "gradient": 1,
        "sweep": 2,
        "draw": 3,
    }
    expected = {
        "move": 0.002,
        "forward": 0.001 + 4 * 0.006,  # those of at() are a forward pass's
        "backward": 5 * 0.007,
        "gradient": 0.003,
        "sweep": 2 * 0.004,
        "draw": 3 * 0.005,
    }
    for name in OPERATIONS:
        assert calls.seconds[name] >= expected[name]


def test_a_point_counts_as_all_that_it_costs():
    calls = Calls()
    metered(Slow(), calls).at(ZERO)
    asked = {name for name, count in calls.counts.items() if count == 1}
    assert asked == {"move", "forward", "backward"}
    assert calls.seconds["forward"] >= 0.001


def test_what_costs_nothing_is_not_counted():
    calls = Calls()
    oracle = metered(Slow(), calls)
    assert (oracle.n_coordinates, oracle.n_parameters, oracle.n_samples) == (3, 4, 5)
    assert oracle.convex
    oracle.restrict(np.array([1]))
    assert set(calls.counts.values()) == {0.0}
    point = oracle.at(ZERO)
    before = dict(calls.counts)
    assert (point.value, point.conjugate(0.5)) == (0.0, None)
    assert point.draw(np.array([1]), 0, 0) is None  # a point that cannot draw has not drawn
    assert calls.counts == before


def test_a_call_on_a_subsample_counts_as_its_share():
    calls = Calls()
    whole = metered(Slow(), calls)
    part = whole.restrict(np.array([0, 3]))
    part.at(ZERO).along(ZERO).value(1.0)
    assert calls.counts["forward"] == pytest.approx(2 * 2 / 5)
    assert calls.counts["move"] == pytest.approx(2 * 2 / 5)
    part.restrict(np.array([1])).at(ZERO).gradient(np.array([0]))
    assert calls.counts["gradient"] == pytest.approx(1 / 5)
    before = calls.counts["forward"]
    whole.at(ZERO)
    assert calls.counts["forward"] == pytest.approx(before + 1.0)


def test_accounts_are_apart_unless_shared():
    first, second = Calls(), Calls()
    metered(Slow(), first).at(ZERO)
    assert second.counts["forward"] == 0
    metered(Slow(), first).at(ZERO)
    assert first.counts["forward"] == 2


def test_a_call_that_fails_is_passed_on_and_not_counted():
    class Broken(Slow):
        def at(self, w):
            raise RuntimeError("no inference today")

    calls = Calls()
    with pytest.raises(RuntimeError, match="no inference today"):
        metered(Broken(), calls).at(ZERO)
    assert calls.counts["forward"] == 0


def tree(seed=1):
    return small_tree(seed)


OURS = {
    "chain": lambda: random_chain(0).oracle(),
    "lattice": lambda: random_lattice(0).oracle(),
    "lattice, unknown labels": lambda: random_lattice(0).with_unknown().oracle(),
    "tree": tree,
    "tree, restricted": lambda: tree().restrict(np.arange(5)),
    "function": lambda: FunctionOracle(lambda w: (float(w @ w), 2 * w), 3),
    "toy": Toy,
    "slow": Slow,
}


@pytest.mark.parametrize("name", OURS)
def test_all_that_exists_passes_the_meter(name):
    inside = OURS[name]()
    d = random_weights(inside, 1)
    counted = metered(inside, Calls())
    check_forwarding(inside, counted)
    check_forwarding(inside.at(ZERO), counted.at(ZERO))
    check_forwarding(inside.at(ZERO).along(d), counted.at(ZERO).along(d))


def test_abilities_are_those_of_the_oracle_inside():
    others = Draws, Rescalable, Rounded
    whole, plain = metered(Toy(), Calls()), metered(OURS["function"](), Calls())
    assert all(isinstance(whole, ability) for ability in ABILITIES if ability not in others)
    assert isinstance(whole.at(ZERO), Draws)
    for ability in (Subsamples, Precisions, Steps):
        assert not isinstance(plain, ability)
    assert not isinstance(plain.at(ZERO), Draws)


def test_a_new_method_passes_without_being_named():
    class Richer(Toy):
        """As a loss of next year might be."""

        extra = 7

        def shards(self, count, *, even=False):
            """Return something unheard of."""
            return [self] * count if even else count

    oracle = metered(Richer(), Calls())
    assert oracle.extra == 7
    assert oracle.shards(3) == 3
    assert len(oracle.shards(2, even=True)) == 2
    assert oracle.shards.__doc__ == "Return something unheard of."
    oracle._inside.late = "known to one instance alone"
    assert oracle.late == "known to one instance alone"
    with pytest.raises(AttributeError, match="unheard"):
        _ = oracle.unheard


@pytest.mark.parametrize("name", ["chain", "lattice", "tree", "function", "toy"])
def test_the_meter_changes_no_result(name):
    inside = OURS[name]()
    w = random_weights(inside, 0)
    everything = np.arange(inside.n_coordinates)
    for oracle in (inside, metered(inside, Calls())):
        point = oracle.at(w)
        g, swept = point.gradient(everything), point.sweep(0.5)
        found = [point.value, swept.largest, point.conjugate(0.5), g, swept.gradient.values]
        if oracle is inside:
            expected = found
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_prices_name_methods_of_the_seam():
    for name in PRICES:
        assert any(hasattr(kind, name) for kind in (Oracle, Point, Line, Draws))
    assert {operation for price in PRICES.values() for operation in price} == set(OPERATIONS)


def test_an_oracle_must_say_where_its_points_are():
    class Half(Oracle):
        n_coordinates = 1

    with pytest.raises(TypeError, match="at"):
        Half()


def test_a_value_and_a_gradient_are_no_point():
    class Pair(Oracle):
        n_coordinates = 1

        def at(self, w):
            return 0.0, np.zeros(1)

    with pytest.raises(TypeError, match=r"Pair.at\(w\) must return a Point, got a tuple; .*Dense"):
        metered(Pair(), Calls()).at(ZERO)


def test_a_point_that_is_accepted_is_metered_too():
    calls = Calls()

    class Squares(Oracle):
        n_coordinates = 1

        def at(self, w):
            return DensePoint(self, w, float((w.dense(1) ** 2).sum()), 2.0 * w.dense(1))

    point = metered(Squares(), calls).at(ZERO)
    line = point.along(SparseVector(np.array([0]), np.ones(1)))
    line.value(1.0)
    line.accept(1.0).gradient(np.array([0]))
    assert calls.counts == {
        "move": 2,
        "forward": 2,
        "backward": 2,
        "gradient": 1,
        "sweep": 0,
        "draw": 0,
    }
