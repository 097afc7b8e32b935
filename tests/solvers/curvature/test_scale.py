"""The first curvature: exact on quadratics, and never a number that breaks the next step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import Logistic, plain

from proxqn.losses.function import FunctionOracle
from proxqn.penalties import Separable
from proxqn.problem.oracle import Oracle
from proxqn.problem.penalty import Local
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.curvature import scale
from proxqn.solvers.working_set import WorkingSet


def measured(oracle: Oracle, w, penalty: Local, diagonal=1.0) -> float:
    coordinates = np.arange(oracle.n_coordinates)
    point = oracle.at(SparseVector.of_dense(w))
    at = WorkingSet(coordinates, w, point.gradient(coordinates), penalty)
    return scale.measure(point, at, diagonal)


def quadratic(seed: int, n: int = 8):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    H, b = root @ root.T / n, 3.0 * rng.normal(size=n)
    fun = lambda w: (0.5 * float(w @ H @ w) - float(b @ w), H @ w - b)  # noqa: E731
    return H, FunctionOracle(fun, n), rng.normal(size=n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scaled", [False, True])
def test_it_is_the_curvature_along_the_first_proximal_step(seed, scaled):
    H, oracle, w = quadratic(seed)
    diagonal = np.random.default_rng(seed).uniform(0.5, 4.0, 8) if scaled else np.ones(8)
    penalty = Separable(0.3, upper=np.linspace(0.5, 5.0, 8)).on(np.arange(8))
    w = np.minimum(w, 0.5)
    g = oracle.at(SparseVector.of_dense(w)).gradient(np.arange(8))
    d = penalty.prox(w - g / diagonal, diagonal) - w
    truth = (d @ H @ d) / (d * d * diagonal).sum()
    assert measured(oracle, w, penalty, diagonal) == pytest.approx(truth, rel=1e-6)


def test_one_forward_pass_and_no_step():
    loss, calls = Logistic(0), []

    def counted(w):
        calls.append(w)
        return loss(w)

    found = measured(FunctionOracle(counted, loss.d), np.zeros(loss.d), plain(1.0))
    assert len(calls) == 1 + 1  # the point, and the probe
    assert 0.0 < found < np.square(loss.A).sum()


@pytest.mark.parametrize(
    "fun",
    [
        pytest.param(lambda w: (1.0, np.zeros(3)), id="nothing to gain"),
        pytest.param(lambda w: (-float(w @ w) + 5.0 * w.sum(), 5.0 - 2 * w), id="concave"),
        pytest.param(lambda w: (1.0 - 1e200 * w.sum(), np.full(3, -1e200)), id="steep"),
        pytest.param(lambda w: (math.nan if w.any() else 1.0, np.full(3, 5.0)), id="no number"),
        pytest.param(lambda w: (math.inf if w.any() else 1.0, np.full(3, 5.0)), id="out of range"),
    ],
)
def test_where_there_is_no_curvature_it_is_1(fun):
    assert measured(FunctionOracle(fun, 3), np.zeros(3), plain(0.5)) == 1.0


@pytest.mark.parametrize("size", [1e-3, 1e-100, 1e-160, 1e-170])
def test_a_slope_next_to_nothing_measures_no_curvature_and_breaks_nothing(size):
    """The probe is then so long that its square is out of range."""
    oracle = FunctionOracle(lambda w: (1.0 + size * float(w.sum()), np.full(3, size)), 3)
    found = measured(oracle, np.full(3, 2.0 * size), plain(1e-305))
    assert 0.0 < found < math.inf
