"""The vectorised exponential against NumPy's, in units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn import _kernels


def exp(x: np.ndarray) -> np.ndarray:
    padded = np.zeros(-(-len(x) // 8) * 8)
    padded[: len(x)] = x
    out = np.empty_like(padded)
    _kernels.exp(padded, out)
    return out[: len(x)]


def ulps(found: np.ndarray, x: np.ndarray) -> float:
    """Error against the exponential in extended precision, in units of the double result."""
    truth = np.exp(x.astype(np.longdouble))
    return float(np.abs((found - truth) / np.spacing(np.exp(x))).max())


@pytest.mark.parametrize(
    ("low", "high"), [(-1e-3, 1e-3), (-1, 0), (-40, 0), (-708, 0), (0, 1), (0, 700)]
)
def test_error_below_one_and_a_half_ulp(low, high):
    x = np.random.default_rng(0).uniform(low, high, 200_000)
    assert ulps(exp(x), x) < 1.5


def test_error_where_the_rounding_of_the_exponent_changes():
    """x near (n + 1/2) ln 2, where the reduced argument is largest."""
    n = np.arange(-1020, 1020)
    near = (n + 0.5) * np.log(2)
    x = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    x = x[(x > -708) & (x < 709)]
    assert ulps(exp(x), x) < 1.5


def test_exact_at_zero():
    np.testing.assert_array_equal(exp(np.array([0.0, -0.0])), 1.0)


def test_monotone_enough_for_probabilities():
    x = -np.logspace(-17, 0, 4000)[::-1]
    assert (np.diff(exp(x)) >= -2.3e-16).all()
    assert (exp(x) <= 1.0).all()


@pytest.mark.parametrize("x", [-709.0, -1e4, -1e300, -np.inf])
def test_smaller_arguments_give_the_smallest_result(x):
    assert exp(np.array([x]))[0] == exp(np.array([-708.0]))[0]
    assert 0 < exp(np.array([x]))[0] < 1e-307


def test_nan_stays_nan():
    assert np.isnan(exp(np.array([np.nan, 1.0])))[0]
    assert exp(np.array([np.nan, 0.0]))[1] == 1.0


def test_lengths_are_checked():
    with pytest.raises(ValueError, match="multiple of 8"):
        _kernels.exp(np.zeros(7), np.zeros(7))
