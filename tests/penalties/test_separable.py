"""λ, ridge and bounds for each weight, and what is said of numbers that make no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxqn.penalties import ElasticNet, Separable

NAN, INF = math.nan, math.inf


def test_each_coordinate_has_its_own():
    penalty = Separable([1.0, 2.0, 3.0], [0.0, 0.5, 0.0], [0.0, -1.0, -INF], [INF, 0.0, 9.0])
    local = penalty.on(np.array([0, 2]))
    found = [x.tolist() for x in local.arrays]
    assert found == [[1.0, 3.0], [0.0, 0.0], [0.0, -INF], [INF, 9.0]]


def test_numbers_for_all_stay_numbers():
    local = Separable(2.0, 0.5, 0.0).on(np.arange(10**6))
    assert [len(x) for x in local.arrays] == [1, 1, 1, 1]
    assert local.arrays[:3] == tuple(map(pytest.approx, ([2.0], [0.5], [0.0])))


def test_with_one_number_each_it_is_the_elastic_net():
    ours, theirs = Separable(2.0, 0.5), ElasticNet(2.0, 0.5)
    for mine, others in zip(
        ours.on(np.arange(4)).arrays, theirs.on(np.arange(4)).arrays, strict=True
    ):
        np.testing.assert_array_equal(mine, others)
    assert ours.least == theirs.least


@pytest.mark.parametrize(
    ("lam", "least", "unpenalised"),
    [
        ([3.0, 1.5, 2.0], 1.5, []),
        ([3.0, 0.0, 2.0], 2.0, [1]),
        ([0.0, 0.0, 0.0], INF, [0, 1, 2]),
        (2.0, 2.0, []),
    ],
)
def test_the_least_lam_above_0_and_the_weights_without_one(lam, least, unpenalised):
    penalty = Separable(lam)
    assert penalty.least == least
    assert penalty.unpenalised.tolist() == unpenalised


def test_0_for_all_needs_to_know_how_many_there_are():
    penalty = Separable(0.0)
    with pytest.raises(ValueError, match=r"call check_size\(n_coordinates\) first"):
        _ = penalty.unpenalised
    penalty.check_size(4)
    assert penalty.unpenalised.tolist() == [0, 1, 2, 3]


def test_later_changes_of_the_caller_s_array_change_nothing():
    lam = np.array([1.0, 2.0])
    penalty = Separable(lam)
    lam[:] = -1.0
    assert penalty.on(np.arange(2)).lam.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": -1.0}, r"lam must be finite, 0 or above .*got .*-1\.0.* at 0"),
        ({"lam": [1.0, -2.0]}, r"lam must be finite, 0 or above .*got .*-2\.0.* at 1"),
        ({"lam": [1.0, NAN]}, "lam must be finite, 0 or above .*nan.* at 1"),
        ({"lam": INF}, "lam must be finite"),
        ({"lam": np.ones((2, 2))}, r"got shape \(2, 2\)"),
        ({"lam": 1.0, "l2": [0.0, 0.0, -1e-9]}, "l2 must be finite, 0 or above.* at 2"),
        ({"lam": 1.0, "l2": NAN}, "l2 must be finite, 0 or above.*nan"),
        ({"lam": 1.0, "lower": 0.5}, "lower must be 0 or below .*a weight at zero must be"),
        ({"lam": 1.0, "lower": [-1.0, NAN]}, "lower must be 0 or below .*nan.* at 1"),
        ({"lam": 1.0, "upper": -0.5}, "upper must be 0 or above .*a weight at zero must be"),
        ({"lam": [1.0, 2.0], "l2": [1.0, 2.0, 3.0]}, "arrays of one length, got lengths"),
    ],
)
def test_numbers_that_make_no_sense_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Separable(**arguments)


@pytest.mark.parametrize("name", ["lam", "l2", "lower", "upper"])
@pytest.mark.parametrize("value", ["many", None, [1.0, "two"], {"a": 1.0}])
def test_what_is_no_number_is_named(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        Separable(**({"lam": 1.0} | {name: value}))


def test_a_wrong_length_is_named_with_what_to_do():
    with pytest.raises(ValueError, match=r"each of 5 coordinates, got 3\. Pass a number for all"):
        Separable(np.ones(3)).check_size(5)
    Separable(1.0).check_size(5)
    Separable(np.ones(5)).check_size(5)
