"""Solvers on chains with edge features, and on those with unknown labels, which are not convex."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.lattice_problems import random_lattice
from tests.problems import dense, full_gradient, go_to, random_weights

from proxqn import minimize
from proxqn.losses.chain.oracle import Pairs
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.certificate.bound import Status


@pytest.mark.parametrize("pairs", list(Pairs))
def test_solvers_agree_and_certify(pairs):
    problem = random_lattice(11, n_labels=3, n_sequences=60, max_length=8)
    results = [
        minimize(problem.oracle(pairs=pairs), lam=1.0, solver=s, tol=1e-7, max_iter=3000)
        for s in ("prox-qn", "prox-gd", "owl-qn")
    ]
    for result in results:
        assert result.success
        assert result.fun <= results[0].fun * (1 + 2e-7)
    oracle = problem.oracle(pairs=pairs)
    w = results[0].x
    assert (w.coords[0] >= oracle._model.chain.n_coordinates).any()  # edge weights are used
    value = go_to(oracle, SparseVector(w.coords[0].astype(np.int64), w.data)).value
    np.testing.assert_allclose(value + np.abs(w.data).sum(), results[0].fun, rtol=1e-10)


@pytest.mark.parametrize("solver", ["sgd", "bcd"])
def test_other_rivals_are_refused(solver):
    oracle = random_lattice(1).oracle()
    with pytest.raises(TypeError, match="LatticeOracle does not work with solver"):
        minimize(oracle, lam=1.0, solver=solver)


@pytest.mark.parametrize("solver", ["prox-qn", "prox-gd", "owl-qn"])
@pytest.mark.parametrize("seed", range(4))
def test_solvers_go_down_to_a_stationary_point(solver, seed):
    problem = random_lattice(seed, n_labels=3, n_sequences=60, max_length=8).with_unknown(seed, 0.6)
    oracle = problem.oracle()
    result = minimize(oracle, lam=0.5, solver=solver, tol=1e-4, max_iter=5000)
    assert result.status is Status.STATIONARY
    assert result.success
    assert result.gap == math.inf
    assert not result.certified
    assert not result.convex
    assert "not convex, so there is no certificate" in result.message
    objectives = np.array([row.objective for row in result.trace])
    assert (np.diff(objectives) <= 1e-12 * np.abs(objectives[:-1])).all()
    w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
    point = go_to(oracle, w)
    np.testing.assert_allclose(point.value + 0.5 * np.abs(w.values).sum(), result.fun, rtol=1e-10)
    n = oracle.n_coordinates
    g, at = full_gradient(point, n), dense(w, n)
    away = np.where(at != 0, np.abs(g + 0.5 * np.sign(at)), np.maximum(np.abs(g) - 0.5, 0.0))
    assert away.max() <= 1e-4 * 0.5 * (1 + 1e-6)


def test_far_starts_are_safe():
    problem = random_lattice(7, n_labels=4, n_sequences=40, max_length=7).with_unknown(1, 0.8)
    oracle = problem.oracle()
    for seed in range(5):
        start = dense(random_weights(oracle, seed, scale=30.0), oracle.n_coordinates)
        result = minimize(oracle, lam=0.5, x0=start, tol=1e-3, max_iter=3000)
        assert result.status in (Status.STATIONARY, Status.STALLED)
        objectives = [row.objective for row in result.trace]
        assert all(b <= a * (1 + 1e-12) for a, b in pairwise(objectives))
