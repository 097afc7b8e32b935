"""How far an iterate is from the optimum, as a model of the curvature tells it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from tests.drawing import DrawingLogistic
from tests.points import Logistic, plain
from tests.problems import random_chain

from proxqn import ProxQN, _kernels, lambda_max, minimize
from proxqn.problem.penalty import Local
from proxqn.run.status import Status
from proxqn.solvers import reference
from proxqn.solvers.estimate import Quadratic, foretold, promise, told_by
from proxqn.solvers.inner import Effort
from proxqn.solvers.working_set import WorkingSet

ROUGH = Effort(0.0, seed=0)


class Matrix(Quadratic):
    """A dense B; its descent is a sweep over the coordinates, one after the other."""

    def __init__(self, B) -> None:
        self.B, self.diagonal = B, np.diag(B).copy()

    def times(self, v):
        return self.B @ v

    def descend(self, at, effort):
        w, g = at.w.copy(), at.g.copy()
        for j in range(len(w)):
            one = at.penalty.take(np.array([j]))
            step = one.prox(w[j : j + 1] - g[j] / self.B[j, j], self.B[j, j]) - w[j]
            w[j] += step[0]
            g += self.B[:, j] * step[0]
        return w - at.w


def stiff(n: int, seed: int, **penalty) -> tuple[WorkingSet, Matrix]:
    """Return a model whose variables are nearly the same, by pairs."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(3 * n, n // 2))
    J = np.hstack([half, half + 0.1 * rng.normal(size=half.shape)])
    at = WorkingSet(np.arange(n), np.zeros(n), 20.0 * rng.normal(size=n), plain(1.0, **penalty))
    return at, Matrix(J.T @ J)


def exact(at: WorkingSet, model: Matrix) -> float:
    """Return the promise after very many sweeps."""
    start = at
    for _ in range(20_000):
        d = model.descend(at, ROUGH)
        at = at.moved(at.w + d, at.g + model.times(d))
    d = at.w - start.w
    change = float(start.penalty.change(start.w, d).sum())
    return -float(start.g @ d + 0.5 * d @ model.times(d)) - change


@pytest.mark.parametrize("penalty", [{}, {"l2": 0.5}], ids=["l1", "ridge"])
@pytest.mark.parametrize("seed", range(3))
def test_it_comes_close_where_descent_alone_is_slow(seed, penalty):
    at, model = stiff(20, seed, **penalty)
    truth = exact(at, model)
    d = model.descend(at, ROUGH)
    alone = -float(at.g @ d + 0.5 * d @ model.times(d)) - float(at.penalty.change(at.w, d).sum())
    assert alone < 0.95 * truth
    assert 0.9 * truth <= promise(at, model, ROUGH) <= truth * (1 + 1e-9)


def test_bounds_are_kept():
    at, model = stiff(20, 0)
    boxed = Local(np.ones(1), np.zeros(1), np.array([-0.05]), np.array([0.05]))
    at = WorkingSet(at.coordinates, at.w, at.g, boxed)
    assert 0.9 * (truth := exact(at, model)) <= promise(at, model, ROUGH) <= truth * (1 + 1e-9)


def test_above_a_number_a_rough_answer_does():
    at, model = stiff(20, 1)
    truth = promise(at, model, ROUGH)
    assert 1e-3 * truth < promise(at, model, ROUGH, near=1e-3 * truth) < truth


def test_a_minimiser_tells_its_promise_whatever_the_model():
    at, model = stiff(20, 2, l2=0.5)
    start, truth = at, exact(at, model)
    for _ in range(20_000):
        d = model.descend(at, ROUGH)
        at = at.moved(at.w + d, at.g + model.times(d))
    assert told_by(start, at.w - start.w) == pytest.approx(truth, rel=1e-6)


def test_an_objective_that_stands_still_foretells_nothing():
    assert foretold([SimpleNamespace(objective=1.0)] * 50) == 0.0


LOSSES = {
    "chain": lambda: random_chain(1, n_labels=6, n_features=40, n_sequences=300).oracle(),
    "large chain": lambda: random_chain(
        6, n_labels=5, n_features=300, n_sequences=3000, density=0.02
    ).oracle(),
    "draws": lambda: DrawingLogistic(Logistic(3, n=300, d=60)),
    "function": lambda: Logistic(3, n=300, d=60).oracle(),
}


@pytest.mark.parametrize("share", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("name", LOSSES)
def test_it_is_near_the_true_error(name, share):
    lam = share * lambda_max(LOSSES[name]())
    best = minimize(LOSSES[name](), lam, stop="gap", tol=1e-11, max_iter=5000).fun
    result = minimize(LOSSES[name](), lam, tol=1e-6)
    assert result.status in (Status.ESTIMATE, Status.GAP)
    told = [
        (row.estimate, row.objective - best)
        for row in result.trace
        if math.isfinite(row.estimate) and 1e-7 < row.objective / best - 1.0 < 1e-2
    ]
    for estimate, error in told:
        assert 0.3 * error <= estimate
        if name != "function":  # without draws it may be far too cautious after a sudden fall
            assert estimate <= 10.0 * error
    assert result.fun - best <= 3e-6 * best
    assert result.fun - best <= result.gap


def test_stopping_by_the_gap_asks_for_none_and_takes_longer():
    oracle = LOSSES["chain"]
    lam = 0.05 * lambda_max(oracle())
    proved = minimize(oracle(), lam, stop="gap", tol=1e-4)
    estimated = minimize(oracle(), lam, tol=1e-4)
    assert (proved.status, estimated.status) == (Status.GAP, Status.ESTIMATE)
    assert not np.isfinite(proved.trace.column("estimate")).any()
    assert estimated.nit < proved.nit
    assert proved.gap <= 1e-4 * proved.fun < estimated.gap


def test_a_run_that_ends_early_says_how_far_it_got():
    oracle = LOSSES["chain"]
    lam = 0.05 * lambda_max(oracle())
    best = minimize(oracle(), lam, stop="gap", tol=1e-9).fun
    result = minimize(oracle(), lam, tol=1e-9, max_iter=12)
    assert result.status is Status.MAX_ITER
    error = result.fun - best
    assert 0.3 * error <= result.estimate <= 4.0 * error
    assert result.trace[-1].estimate == result.estimate <= result.gap


def test_threads_and_repetition_change_no_bit():
    runs = [minimize(LOSSES["large chain"](), 8.0, tol=1e-5, solver=ProxQN()) for _ in range(2)]
    one, other = (run.trace.column("estimate").tolist() for run in runs)
    assert one == other


# 300,000 entries: enough for threads.
@pytest.mark.parametrize(("n", "n_rows", "entries"), [(1, 1, 1), (5, 3, 0), (30, 50, 200)])
def test_products_with_draws_are_the_reference_s(n, n_rows, entries):
    J, v = random_draws(n, n_rows, entries), np.random.default_rng(1).normal(size=n)
    found = [product_of(kernels, J, v, n_jobs=1) for kernels in (_kernels, reference)]
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_products_with_draws_have_the_same_bits_for_any_threads():
    J, v = random_draws(2000, 5000, 300_000), np.random.default_rng(1).normal(size=2000)
    one, two, three = (product_of(_kernels, J, v, n_jobs=n).tobytes() for n in (1, 2, 3))
    assert one == two == three


def test_the_diagonal_of_draws_is_the_reference_s():
    J = random_draws(200, 500, 3000)
    made, truth = (k.DrawnProduct(*J, 0.5, 2).diagonal() for k in (_kernels, reference))
    np.testing.assert_allclose(made, truth, rtol=1e-12)


def random_draws(n, n_rows, entries):
    """J by columns: start, row, value, n_rows; some entries stand twice."""
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.multinomial(entries, np.full(n, 1 / n)))])
    row = rng.integers(0, n_rows, entries).astype(np.int32)
    return start.astype(np.int64), row, rng.normal(size=entries).astype(np.float32), n_rows


def product_of(kernels, J, v, n_jobs):
    out = np.empty_like(v)
    kernels.DrawnProduct(*J, 0.5, n_jobs).times(v, out)
    return out
