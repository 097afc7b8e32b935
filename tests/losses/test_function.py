"""A function of the user's own as an oracle."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.losses.function import FunctionOracle
from proxqn.problem.oracle import SpentPointError
from proxqn.problem.sparse import SparseVector

ALL = np.arange(3)


def squares(w):
    r = w - np.array([1.0, -2.0, 0.5])
    return 0.5 * float(r @ r), r


def test_values_and_gradients_are_the_functions():
    point = FunctionOracle(squares, 3).at(SparseVector(np.array([1]), np.array([2.0])))
    assert point.value == 0.5 * (1.0 + 16.0 + 0.25)
    np.testing.assert_array_equal(point.gradient(ALL), [-1.0, 4.0, -0.5])
    sweep = point.sweep(0.75, np.array([2]))
    np.testing.assert_array_equal(sweep.gradient.coordinates, ALL)
    assert sweep.largest == 4.0


def test_each_point_is_evaluated_once():
    seen = []

    def counted(w):
        seen.append(w)
        return squares(w)

    oracle = FunctionOracle(counted, 3)
    line = oracle.at(SparseVector.empty()).along(SparseVector.of_dense(np.array([1.0, 0.0, 2.0])))
    line.value(1.0)
    line.value(0.5)
    point = line.accept(0.5)
    np.testing.assert_array_equal(point.gradient(ALL), [-0.5, 2.0, 0.5])
    np.testing.assert_array_equal(seen, [[0, 0, 0], [1, 0, 2], [0.5, 0, 1]])


def test_a_function_may_use_its_gradient_array_again():
    array = np.empty(3)

    def reusing(w):
        value, array[:] = squares(w)
        return value, array

    point = FunctionOracle(reusing, 3).at(SparseVector.empty())
    point.along(SparseVector.of_dense(np.ones(3))).value(1.0)
    np.testing.assert_array_equal(point.gradient(ALL), [-1.0, 2.0, -0.5])


def test_a_spent_point_says_so():
    point = FunctionOracle(squares, 3).at(SparseVector.empty())
    line = point.along(SparseVector.of_dense(np.ones(3)))
    line.value(1.0)
    line.accept(1.0)
    with pytest.raises(SpentPointError, match="moved on"):
        point.gradient(ALL)


def test_a_lower_bound_gives_a_conjugate():
    w = SparseVector(np.array([0]), np.array([3.0]))
    assert FunctionOracle(squares, 3).at(w).conjugate(0.5) is None
    point = FunctionOracle(squares, 3, lower_bound=0.0).at(w)
    g = point.gradient(ALL)
    inner = 3.0 * g[0]
    assert point.conjugate(0.5) == 0.5 * (inner - point.value)
    centre = np.array([1.0, -2.0, 0.5])
    true = 0.5 * float(0.25 * g @ g) + 0.5 * float(g @ centre)  # of ½|w - c|² at g/2
    assert point.conjugate(0.5) >= true


@pytest.mark.parametrize("shape", [(), (2,), (3, 1), (4,)])
def test_a_gradient_of_another_shape_is_refused(shape):
    oracle = FunctionOracle(lambda w: (0.0, np.zeros(shape)), 3)
    with pytest.raises(ValueError, match=r"gradient of shape \(3,\), got .*smooth part"):
        oracle.at(SparseVector.empty())


@pytest.mark.parametrize("value", [np.array([0.5]), 0.5 + 0j, [0.5]])
def test_a_value_that_is_no_real_number_is_refused(value):
    oracle = FunctionOracle(lambda w: (value, np.zeros(3)), 3)
    with pytest.raises(TypeError, match=r"value as a real number, got .*0\.5"):
        oracle.at(SparseVector.empty())


def test_what_is_unknown_has_defaults():
    oracle = FunctionOracle(squares, 3)
    assert (oracle.n_coordinates, oracle.n_parameters, oracle.n_samples) == (3, 3, 1)
    assert oracle.convex
