"""How the whole method ends: at limits, interrupted, and with oracles that misbehave."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import kkt_residual, objective
from tests.problems import SETTINGS, small_problem

from proxqn import lambda_max, minimize
from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.problem.oracle import NOTHING, Line, Oracle, Point
from proxqn.run.status import Status
from proxqn.solvers.rivals.prox_gd import ProxGD

# --- exits -----------------------------------------------------------------------------------


@SETTINGS
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_max_iter(settings, max_iter):
    result = minimize(small_problem(0).oracle(), 0.1, solver=settings, tol=0, max_iter=max_iter)
    assert result.status is Status.MAX_ITER
    assert not result.success
    assert result.nit == max_iter
    assert result.message.startswith(Status.MAX_ITER.value)
    assert result.gap >= 0
    assert math.isfinite(result.gap)


def test_max_iter_of_none_at_all_still_certifies_the_start():
    problem = small_problem(0)
    result = minimize(problem.oracle(), 0.1, max_iter=0)
    assert result.fun == pytest.approx(problem.lengths.sum() * np.log(problem.n_labels))
    assert result.kkt == pytest.approx(lambda_max(problem.oracle()) - 0.1)


def test_the_callback_sees_every_iteration_and_can_stop():
    rows = []

    def callback(row):
        rows.append(row)
        return len(rows) == 4

    result = minimize(small_problem(0).oracle(), 0.1, tol=0, callback=callback)
    assert result.status is Status.CALLBACK
    assert [row.iteration for row in rows] == [0, 1, 2, 3]
    assert result.nit == 3
    assert rows[-1].objective == result.fun


@SETTINGS
def test_tol_zero_ends(settings):
    """At the limit of precision there is nothing to gain: it must say so, or reach max_iter."""
    result = minimize(small_problem(0).oracle(), 1.0, solver=settings, tol=0, max_iter=600)
    assert result.status in (Status.STALLED, Status.MAX_ITER, Status.GAP)
    assert result.gap <= 1e-9 * result.fun
    objectives = result.trace.column("objective")
    assert objectives[-1] <= objectives.min() * (1 + 1e-13)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_loss_that_is_not_finite_at_the_start_fails_in_words(bad):
    result = minimize(lambda w: (bad, np.zeros(3)), 1.0, x0=np.zeros(3))
    assert result.status is Status.NOT_FINITE
    assert not result.success
    assert "not finite" in result.message


def test_a_gradient_that_is_not_a_number_is_not_convergence():
    result = minimize(lambda w: (1.0, np.full(3, np.nan)), 1.0, x0=np.zeros(3))
    assert not result.success


CONCAVE = lambda w: (-float(w @ w), -2.0 * w)  # noqa: E731


@pytest.mark.parametrize(
    ("fun", "solver"),
    [
        (CONCAVE, "prox-qn"),
        (CONCAVE, "prox-gd"),
        (CONCAVE, ProxGD(accelerated=True)),
        (CONCAVE, "owl-qn"),
        (lambda w: (3.0 * float(w.sum()), np.full(3, 3.0)), "prox-qn"),  # steeper than the penalty
        (lambda w: (float((w**3).sum()), 3.0 * w * w), "prox-qn"),
    ],
)
def test_an_objective_that_falls_without_end_is_told(fun, solver):
    result = minimize(fun, 1.0, x0=-np.ones(3), solver=solver)
    assert result.status is Status.UNBOUNDED
    assert not result.success
    assert "not bounded below" in result.message


# --- interrupts ------------------------------------------------------------------------------


class Key:
    """Presses Ctrl-C in the middle of the n-th call, once."""

    def __init__(self, at_call: int) -> None:
        self.left = at_call

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class Interrupted(Oracle):
    """Counts what is asked of it, of its points and of their lines."""

    def __init__(self, oracle: Oracle, at_call: int) -> None:
        self.oracle, self.key = oracle, Key(at_call)

    @property
    def n_coordinates(self):
        return self.oracle.n_coordinates

    @property
    def n_parameters(self):
        return self.oracle.n_parameters

    @property
    def n_samples(self):
        return self.oracle.n_samples

    def pass_cost(self):
        return self.oracle.pass_cost()

    def curvatures(self, coordinates):
        return self.oracle.curvatures(coordinates)

    def at(self, w):
        self.key.count()
        point = self.oracle.at(w)
        self.key.count()
        return InterruptedPoint(point, self.key)


class InterruptedPoint(Point):
    def __init__(self, point: Point, key: Key) -> None:
        self.point, self.key, self.value = point, key, point.value

    def gradient(self, coordinates):
        self.key.count()
        return self.point.gradient(coordinates)

    def sweep(self, level, keep=NOTHING):
        self.key.count()
        return self.point.sweep(level, keep)

    def conjugate(self, scale):
        return self.point.conjugate(scale)

    def draw(self, coordinates, n_rows, seed):
        self.key.count()
        return self.point.draw(coordinates, n_rows, seed)

    def along(self, direction):
        self.key.count()
        return InterruptedLine(self.point.along(direction), self.key)


class InterruptedLine(Line):
    def __init__(self, line: Line, key: Key) -> None:
        self.line, self.key = line, key

    def value(self, alpha):
        value = self.line.value(alpha)
        self.key.count()
        return value

    def accept(self, alpha):
        point = self.line.accept(alpha)
        self.key.count()
        return InterruptedPoint(point, self.key)


@pytest.mark.parametrize("at_call", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 23, 31, 46])
def test_ctrl_c_returns_the_last_accepted_iterate(at_call):
    problem = small_problem(4)
    n = problem.oracle().n_coordinates
    x0 = np.where(np.arange(n) % 5 == 0, 0.01, 0.0)
    whole = minimize(Interrupted(problem.oracle(), -1), 0.2, x0=x0, tol=1e-9)
    cut = minimize(Interrupted(problem.oracle(), at_call), 0.2, x0=x0, tol=1e-9)
    assert cut.status is Status.INTERRUPTED
    assert "interrupted" in cut.message
    assert not cut.success
    assert cut.fun in [row.objective for row in whole.trace]  # an iterate, not a rejected trial
    assert cut.fun == pytest.approx(
        objective(problem.oracle(), cut.weights, ElasticNet(0.2)), rel=1e-12
    )


def test_ctrl_c_before_the_first_value_returns_the_start():
    problem = small_problem(4)
    x0 = np.ones(problem.oracle().n_coordinates)
    cut = minimize(Interrupted(problem.oracle(), 1), 0.2, x0=x0)
    assert cut.status is Status.INTERRUPTED
    np.testing.assert_array_equal(cut.x.toarray(), x0)


def test_ctrl_c_in_the_callback():
    def callback(row):
        if row.iteration == 3:
            raise KeyboardInterrupt

    result = minimize(small_problem(4).oracle(), 0.2, callback=callback, tol=1e-9)
    assert result.status is Status.INTERRUPTED
    assert result.nit == 3


def test_other_exceptions_are_not_swallowed():
    def callback(row):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        minimize(small_problem(4).oracle(), 0.2, callback=callback)


# --- oracles that misbehave ------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.inf, math.nan, -math.inf])
@SETTINGS
def test_trials_that_are_not_finite_are_stepped_back_from(bad, settings):
    """A loss that leaves its domain on long steps: -log x has none for x ≤ 0."""
    rng = np.random.default_rng(0)
    A = rng.uniform(0.5, 2.0, (20, 4))

    def loss(w):
        x = 1.0 + A @ w
        if (x <= 0).any():
            return bad, np.full(4, bad)
        return float(-np.log(x).sum() + 30 * w.sum() + 20 * w @ w), (-A.T @ (1 / x) + 30 + 40 * w)

    result = minimize(loss, 0.5, x0=np.zeros(4), solver=settings, tol=1e-6)
    assert result.status is Status.KKT
    assert math.isfinite(result.fun)
    assert kkt_residual(FunctionOracle(loss, 4), result.weights, ElasticNet(0.5)) <= 1e-6 * 0.5


@pytest.mark.parametrize(("wrong", "offset"), [("sign", 0.0), ("sign", 1e6), ("random", 0.0)])
@SETTINGS
def test_a_wrong_gradient_stalls_in_words(wrong, offset, settings):
    """No step along such directions lowers f; the run must end soon, not at max_iter.

    With a large f a short step uphill disappears in its rounding: that is no progress either.
    """
    rng = np.random.default_rng(0)
    calls = []

    def loss(w):
        calls.append(0)
        g = 2 * (w - 3.0)
        value = offset + float(((w - 3.0) ** 2).sum())
        return value, -g if wrong == "sign" else 50 * rng.normal(size=len(w))

    result = minimize(loss, 0.1, x0=np.zeros(8), solver=settings, tol=1e-9, max_iter=100_000)
    assert result.status is Status.STALLED
    assert not result.success
    assert "no step was found that lowers the objective" in result.message
    assert len(calls) < 20_000


def test_a_loss_without_curvature_is_reported_and_survived():
    """y = 0: no pair is ever learned; every iteration says so."""
    c = np.array([3.0, -0.5, 0.2])
    ridge = 0.5
    result = minimize(lambda w: (c @ w, c), 1.0, l2=ridge, x0=np.zeros(3), tol=1e-6)
    events = [row.event for row in result.trace if row.event]
    assert result.success
    assert any("curvature" in event for event in events)
    np.testing.assert_allclose(result.x, [-(3.0 - 1.0) / ridge, 0.0, 0.0], rtol=1e-4)


SHAPES = {
    "concave": lambda w: (-float(w @ w), -2 * w),
    "exponential, upside down": lambda w: (-float(np.exp(w).sum()), -np.exp(w)),
    "two wells": lambda w: (float((w**4 - 3 * w**2).sum()), 4 * w**3 - 6 * w),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("start", [0.0, 0.5])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_top_of_a_hill_is_no_optimum_in_words(name, start):
    result = minimize(SHAPES[name], 3.5, x0=np.full(3, start), tol=1e-6)
    assert result.status in (Status.STATIONARY, Status.UNBOUNDED)
    if result.status is Status.STATIONARY:
        assert not result.convex
        assert "not convex" in result.message


@pytest.mark.parametrize("start", [0.0, 0.3])
def test_a_convex_loss_is_taken_as_such(start):
    for lam in (0.1, 10.0):
        result = minimize(lambda w: (-float(np.log1p(w).sum()) + w @ w, 2 * w - 1 / (1 + w)), lam,
                          x0=np.full(3, start), bounds=(0.0, np.inf))  # fmt: skip
        assert result.success
        assert result.convex


def noisy(fun, level, seed=0):
    rng = np.random.default_rng(seed)

    def loss(w):
        value, g = fun(w)
        return value * (1 + level * rng.normal()), g + level * abs(g).max() * rng.normal(
            size=len(g)
        )

    return loss


@pytest.mark.parametrize("level", [0.0, 1e-8, 1e-5, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_noisy_loss_ends_near_its_optimum(level, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(200, 20)), rng.normal(size=200)

    def squares(w):
        r = X @ w - y
        return 0.5 * float(r @ r), X.T @ r

    def single(w):
        r = X.astype(np.float32) @ w.astype(np.float32) - y.astype(np.float32)
        return np.float32(0.5) * (r @ r), X.T.astype(np.float32) @ r

    optimum = minimize(squares, 1.0, x0=np.zeros(20), tol=1e-10).fun
    result = minimize(noisy(squares, level, seed) if level else single, 1.0, x0=np.zeros(20))
    assert result.success or (result.status is Status.NOISE and level == 1e-3)
    reached = squares(result.x)[0] + np.abs(result.x).sum()
    assert reached <= optimum * (1 + max(1e-4, level))
    assert result.nfev < 300


def test_values_at_random_end_in_a_sentence_about_noise():
    rng = np.random.default_rng(0)

    def loss(w):
        value = 100.0 + float(w @ w) - 3.0 * float(w.sum()) + 0.1 * rng.normal()
        return value, 2 * w - 3.0 + 0.1 * rng.normal(size=len(w))

    result = minimize(loss, 0.1, x0=np.zeros(5), stop="gap", tol=1e-9, max_iter=300)
    assert not result.success
    assert result.status in (Status.NOISE, Status.MAX_ITER)
