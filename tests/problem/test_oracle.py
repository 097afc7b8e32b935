"""Points made of a value and a gradient, their lines, and what a spent one says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import Logistic
from tests.strangers import Bare

from proxqn.problem.oracle import DensePoint, Lease, Line, Oracle, Point, SpentPointError
from proxqn.problem.sparse import SparseVector

LOSS = Logistic(0)
D = np.random.default_rng(0).normal(size=LOSS.d)


def point_at(w) -> Point:
    return Bare(LOSS, lower_bound=0.0).at(SparseVector.of_dense(w))


# --- what a loss must have -------------------------------------------------------------------


def test_at_and_the_number_of_coordinates_are_enough():
    oracle = Bare(LOSS)
    assert (oracle.n_parameters, oracle.n_samples, oracle.n_jobs) == (LOSS.d, 1, 1)
    assert oracle.convex
    assert oracle.at(SparseVector.empty()).conjugate(0.5) is None  # nothing is known of it


@pytest.mark.parametrize("kind", [Oracle, Point, Line])
def test_what_is_missing_is_named(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()


# --- points ----------------------------------------------------------------------------------


def test_a_point_tells_the_function_s_value_and_derivatives():
    w = 0.1 * D
    value, g = LOSS(w)
    point = point_at(w)
    assert point.value == value
    np.testing.assert_array_equal(point.gradient(np.array([3, 7])), g[[3, 7]])


@pytest.mark.parametrize("level", [0.0, 3.0, math.inf])
@pytest.mark.parametrize("keep", [[], [0, 5, 24]])
def test_a_sweep_finds_all_above_the_level_and_those_to_keep(level, keep):
    g = LOSS(0.1 * D)[1]
    sweep = point_at(0.1 * D).sweep(level, np.array(keep, dtype=np.int64))
    expected = sorted({*np.flatnonzero(np.abs(g) > level), *keep})
    assert sweep.gradient.coordinates.tolist() == expected
    np.testing.assert_array_equal(sweep.gradient.values, g[expected])
    assert sweep.largest == np.abs(g).max()


def test_a_gradient_of_the_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"shape \(25,\) is needed, got \(3,\)"):
        DensePoint(Bare(LOSS), SparseVector.empty(), 1.0, np.zeros(3))


@pytest.mark.parametrize("scale", [0.0, 0.2, 1.0])
def test_a_lower_bound_bounds_the_conjugate(scale):
    """``ℓ*(s g) ≥ s⟨g, v⟩ - ℓ(v)`` for any v: none may exceed what the point says."""
    g = LOSS(0.1 * D)[1]
    bound = point_at(0.1 * D).conjugate(scale)
    rng = np.random.default_rng(1)
    for size in (0.0, 0.01, 0.1, 1.0, 10.0):
        v = size * rng.normal(size=LOSS.d)
        assert scale * float(g @ v) - LOSS(v)[0] <= bound + 1e-9


def test_a_conjugate_of_one_s_own_goes_before_the_lower_bound():
    point = DensePoint(
        Bare(LOSS), SparseVector.empty(), *LOSS(0.0 * D), 0.0, conjugate=lambda s: 7.0 * s
    )
    assert point.conjugate(0.5) == 3.5
    point.spend()
    with pytest.raises(SpentPointError):
        point.conjugate(0.5)


# --- lines -----------------------------------------------------------------------------------


def test_a_line_leads_where_its_direction_points():
    line = point_at(0.1 * D).along(SparseVector.of_dense(D))
    for alpha in (1.0, 0.5):
        assert line.value(alpha) == pytest.approx(LOSS((0.1 + alpha) * D)[0], rel=1e-13)
    there = line.accept(0.5)
    assert there.value == line.value(0.5)
    np.testing.assert_allclose(there.gradient(np.arange(LOSS.d)), LOSS(0.6 * D)[1], rtol=1e-11)


def test_a_line_of_one_s_own_begins_at_its_point():
    begun = []
    point = DensePoint(
        Bare(LOSS), SparseVector.empty(), *LOSS(0.0 * D), line=lambda *place: begun.append(place)
    )
    d = SparseVector.of_dense(D)
    point.along(d)
    assert begun == [(point, d)]
    point.spend()
    with pytest.raises(SpentPointError):
        point.along(d)


def test_a_step_that_was_not_tried_may_be_accepted():
    there = point_at(0.1 * D).along(SparseVector.of_dense(D)).accept(0.25)
    assert there.value == pytest.approx(LOSS(0.35 * D)[0], rel=1e-13)


@pytest.mark.parametrize("bad", [math.nan, -math.inf, math.inf])
def test_a_trial_out_of_range_is_infinite(bad):
    class Edge(Oracle):
        n_coordinates = 1

        def at(self, w):
            return DensePoint(self, w, bad if w.values.sum() > 1.0 else 1.0, np.zeros(1))

    start = Edge().at(SparseVector.empty())
    line = start.along(SparseVector(np.array([0]), np.array([4.0])))
    assert line.value(1.0) == math.inf
    assert line.value(0.25) == 1.0


# --- spent points ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: p.gradient(np.array([0])),
        lambda p: p.sweep(0.0),
        lambda p: p.along(SparseVector.empty()),
        lambda p: p.conjugate(0.5),
    ],
    ids=["gradient", "sweep", "along", "conjugate"],
)
def test_a_spent_point_says_what_to_do(ask):
    point = point_at(0.1 * D)
    line = point.along(SparseVector.of_dense(D))
    ask(point)  # another line, or a trial, spends nothing here
    line.value(1.0)
    ask(point)
    line.accept(1.0)
    with pytest.raises(SpentPointError, match=r"this point is spent.*go back with oracle\.at\(w\)"):
        ask(point)


def test_memory_has_one_holder():
    lease, one, other = Lease(), object(), object()
    lease.give(one)
    lease.check(one)
    lease.overwrite()  # a trial: its derivatives are gone, and lines may still begin there
    lease.check_place(one)
    with pytest.raises(SpentPointError):
        lease.check(one)
    lease.give(other)
    with pytest.raises(SpentPointError):
        lease.check_place(one)
