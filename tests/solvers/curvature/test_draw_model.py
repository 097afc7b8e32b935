"""The model of drawn curvature: the compiled one against the one written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.points import plain
from tests.problems import random_chain

from proxqn import _kernels
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseColumns, SparseVector
from proxqn.solvers import reference
from proxqn.solvers.curvature.draw_model import SampledModel
from proxqn.solvers.inner import Effort
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.working_set import WorkingSet


def random_columns(rng, n, n_rows, density=0.1, n_rare=0):
    counts = rng.binomial(n_rows, density, n)
    counts[: n // 20] *= 3  # frequent ones, and rows that stand twice
    counts[n - n_rare :] = 1
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    row = rng.integers(0, n_rows, start[-1]).astype(np.int32)
    return SparseColumns(start, row, rng.normal(size=start[-1]).astype(np.float32), n_rows)


def l1(lam):
    return plain(lam).arrays


def both(columns, ridge=1.0):
    return [SampledModel(columns, ridge, kernels) for kernels in (_kernels, reference)]


# 700: more than the head; rare: few rows in which both the head and the others have entries.
@pytest.mark.parametrize(("n", "n_rare"), [(1, 0), (40, 0), (700, 0), (700, 200)])
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_same_minimiser(n, n_rare, l2):
    rng = np.random.default_rng(n)
    models = both(random_columns(rng, n, 600 if n_rare else 60, n_rare=n_rare), ridge=20.0)
    for _ in range(20):
        s = rng.normal(size=n)
        y = 20.0 * s + rng.normal(size=n)
        assert models[0].append(s, y) == models[1].append(s, y)
    keep = np.flatnonzero(rng.random(n) < 0.9) if n > 1 else np.array([0])
    for model in models:
        model.keep_rows(keep)
    w = rng.normal(size=len(keep)) * (rng.random(len(keep)) < 0.5)
    g = 20.0 * rng.normal(size=len(keep))
    at = WorkingSet(keep, w, g, plain(10.0, l2))
    found = [model.solve(at, Effort(1e-5, seed=0)) for model in models]
    np.testing.assert_allclose(found[0].d, found[1].d, atol=2e-3 * np.abs(found[1].d).max())
    assert np.count_nonzero(w + found[0].d == 0.0) > 0 or n == 1


@given(seed=st.integers(0, 2**32), n=st.integers(1, 60), n_rows=st.integers(1, 30))
def test_same_diagonal(seed, n, n_rows):
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, n, n_rows)
    arguments = (columns.start, columns.row, columns.value, n_rows, 0.7, 1e9, 1)
    models = [kernels.SampledModel(*arguments) for kernels in (_kernels, reference)]
    for i in range(3):
        s = rng.normal(size=(1, n))
        assert models[0].append(s, s + i * s) == models[1].append(s, s + i * s) == 1
    np.testing.assert_allclose(models[0].diagonal(), models[1].diagonal(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [_kernels.SampledModel, _kernels.SingleSampledModel])
def test_same_bits_on_one_thread_and_two(kind):
    rng = np.random.default_rng(0)
    columns = random_columns(rng, 700, 4000, density=0.03)
    arguments = (columns.start, columns.row, columns.value, columns.n_rows, 0.7, 1e9)
    w, g, found = np.zeros(700), 20.0 * rng.normal(size=700), []
    for n_jobs in (1, 2):
        model, d = kind(*arguments, n_jobs), np.zeros(700)
        model.minimize(w, g, *l1(10.0), 5, 1e-3, 0, d)
        found.append((model.diagonal(), d))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.count_nonzero(found[0][1]) > 100


def test_pair_without_curvature_is_left_out():
    columns = random_columns(np.random.default_rng(0), 5, 9)
    for model in both(columns):
        s = np.ones(5)
        assert model.append(s, -s) == 0
        assert model.append(s, s) == 1
        assert model.append(np.stack([s, s, s]), np.stack([-s, s, 2 * s])) == 2


@pytest.mark.parametrize("kind", [_kernels.SampledModel, _kernels.SingleSampledModel])
@pytest.mark.parametrize("n", [30, 700])  # less and more than the head
def test_pairs_at_once_are_pairs_one_by_one(kind, n):
    rng = np.random.default_rng(n)
    columns = random_columns(rng, n, 200)
    S = rng.normal(size=(21, n)) * (rng.random((21, n)) < 0.5)
    Y = 15.0 * S + rng.normal(size=(21, n))
    Y[[4, 11]] *= -1.0  # to be left out
    w, g, found = np.zeros(n), 40.0 * rng.normal(size=n), []
    for parts in (1, 2, 21):
        model, d = kind(columns.start, columns.row, columns.value, 200, 20.0, 1e9, 1), np.zeros(n)
        pairs = zip(np.array_split(S, parts), np.array_split(Y, parts), strict=True)
        assert sum(model.append(*some) for some in pairs) == 19
        model.minimize(w, g, *l1(10.0), 50, 1e-6, 0, d)
        found.append((model.diagonal(), d))
    for other in found[:-1]:
        for one, same in zip(other, found[-1], strict=True):
            np.testing.assert_allclose(one, same, atol=1e-3 * np.abs(same).max())
    assert np.count_nonzero(found[0][1]) > n / 4


def test_draws_save_passes_and_change_nothing_else():
    oracle = random_chain(1, n_labels=6, n_features=40, n_sequences=300, max_length=12).oracle()
    start, penalty = SparseVector.empty(), ElasticNet(2.0)
    solve = {
        draws: ProxQN(draws=draws, warm_up=0.0).minimize(
            oracle, penalty, start, tol=1e-9, max_iter=500
        )
        for draws in (0.0, 1.0)
    }
    assert solve[1.0].objective == pytest.approx(solve[0.0].objective, rel=1e-8)
    passes = {draws: s.trace[-1].calls["forward"] for draws, s in solve.items()}
    assert passes[1.0] < passes[0.0]
    assert solve[1.0].trace[-1].calls["draw"] > 0


def test_single_precision_finds_steps_far_below_the_rounding_of_the_gradient():
    """Near the optimum g is ±λ to many digits, and what is left to do is in the digits after."""
    rng = np.random.default_rng(5)
    n, lam = 60, 50.0
    columns = random_columns(rng, n, 40, density=0.3)
    arguments = (columns.start, columns.row, columns.value, columns.n_rows, 20.0, 1e9, 1)
    w = rng.choice([-1.0, 1.0], n)
    g = -lam * np.sign(w) + 1e-7 * rng.normal(size=n)
    steps = []
    for kind in (_kernels.SingleSampledModel, reference.SampledModel):
        d = np.zeros(n)
        kind(*arguments).minimize(w, g, *l1(lam), 1000, 1e-13, 0, d)
        steps.append(d)
    np.testing.assert_allclose(steps[0], steps[1], atol=1e-3 * np.abs(steps[1]).max())


def test_a_rough_solution_makes_few_passes():
    rng = np.random.default_rng(6)
    n = 900  # more than have their block of B written out
    columns = random_columns(rng, n, 300, density=0.1)
    at = WorkingSet(np.arange(n), np.zeros(n), rng.normal(size=n), plain(0.1))
    passes = [
        SampledModel(columns, 1e-3).solve(at, Effort(1e-12, seed=0), rough=rough).passes
        for rough in (True, False)
    ]
    assert passes[0] < 6.0  # the last one may be over some of the variables only
    assert passes[1] > 15.0


@pytest.mark.parametrize(("budget", "few"), [(1e9, False), (1.0, True)])
def test_a_small_budget_pays_for_few_passes(budget, few):
    columns = random_columns(np.random.default_rng(7), 900, 300)
    model = SampledModel(columns, 1e-3, budget=budget)
    rng = np.random.default_rng(8)
    at = WorkingSet(np.arange(900), np.zeros(900), rng.normal(size=900), plain(0.1))
    passes = model.solve(at, Effort(1e-12, seed=0)).passes
    assert (passes < 6.0) == few
