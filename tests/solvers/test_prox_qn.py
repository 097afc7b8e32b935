"""The whole method: optima, exits, interrupts, and oracles that misbehave."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import ChainProblem, full_gradient, go_to, random_chain
from tests.rival_problems import problem as rival_problem

from proxqn import ProxQN, lambda_max, minimize
from proxqn.oracles import reference as chain_reference
from proxqn.oracles.chain import Pairs
from proxqn.oracles.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.problem import Oracle, SparseVector
from proxqn.solvers import curvature, prox_qn
from proxqn.solvers import reference as solver_reference
from proxqn.solvers.stopping import Status
from proxqn.solvers.working_set import WorkingSet

SETTINGS = pytest.mark.parametrize(
    "settings",
    [
        pytest.param(ProxQN(), id="default"),
        pytest.param(ProxQN.paper(), id="paper"),
        pytest.param(ProxQN(warm_up=0.0, memory=5, keep_memory=False), id="forgetful"),
    ],
)


def kkt_residual(oracle: Oracle, x, lam: float, l2: float = 0.0) -> float:
    """Evaluate at x from scratch; the largest entry of the min-norm subgradient."""
    coordinates, values = x.coords[0], x.data
    go_to(oracle, SparseVector(coordinates.astype(np.int64), values))
    g = full_gradient(oracle)
    return float(np.abs(ElasticNet(lam, l2).min_norm_subgradient(x.toarray(), g)).max())


def objective(oracle: Oracle, x, lam: float, l2: float = 0.0) -> float:
    w = SparseVector(x.coords[0].astype(np.int64), x.data)
    return go_to(oracle, w) + ElasticNet(lam, l2).value(w.values)


def small_problem(seed: int) -> ChainProblem:
    rng = np.random.default_rng(seed)
    return random_chain(
        seed,
        n_labels=int(rng.integers(2, 6)),
        n_features=int(rng.integers(3, 40)),
        n_sequences=int(rng.integers(5, 60)),
        max_length=int(rng.integers(1, 12)),
        binary=bool(seed % 2),
        density=0.3,
    )


# --- optima ----------------------------------------------------------------------------------


@SETTINGS
@pytest.mark.parametrize("seed", range(10))
def test_the_optimum_satisfies_kkt_and_the_gap(seed, settings):
    problem = small_problem(seed)
    lam = 0.05 * lambda_max(problem.oracle())
    result = minimize(problem.oracle(), lam, solver=settings, tol=1e-9, max_iter=5000)
    assert result.status is Status.GAP
    assert result.success
    assert 0 <= result.gap <= 1e-9 * result.fun
    assert result.fun == pytest.approx(objective(problem.oracle(), result.x, lam), rel=1e-12)
    assert kkt_residual(problem.oracle(), result.x, lam) <= 1e-2 * lam
    assert result.kkt == pytest.approx(
        kkt_residual(problem.oracle(), result.x, lam), rel=1e-5, abs=1e-9 * lam
    )
    assert result.nnz == np.count_nonzero(result.x.toarray()) < problem.oracle().n_coordinates


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_paper_and_default_settings_reach_the_same_optimum(seed, l2):
    problem = small_problem(seed)
    lam = 0.1 * lambda_max(problem.oracle())
    ours, papers = (
        minimize(problem.oracle(), lam, l2=l2, solver=s, tol=1e-10, max_iter=5000)
        for s in (ProxQN(), ProxQN.paper())
    )
    assert ours.success
    assert papers.success
    assert ours.fun == pytest.approx(papers.fun, rel=2e-10)
    if l2 > 0:  # strongly convex: the minimiser is one
        np.testing.assert_allclose(ours.x.toarray(), papers.x.toarray(), atol=1e-3)


@pytest.mark.parametrize("settings", [ProxQN(shrink=False), replace(ProxQN.paper(), shrink=False)])
def test_without_shrinking_every_variable_takes_part_in_every_iteration(settings):
    problem = small_problem(4)  # real values: no derivative is exactly 0
    lam = 0.1 * lambda_max(problem.oracle())
    result = minimize(problem.oracle(), lam, solver=settings, tol=1e-8, max_iter=2000)
    assert result.success
    d = problem.oracle().n_coordinates
    assert {row.working_set for row in result.trace} == {d}
    shrunk = minimize(problem.oracle(), lam, solver=replace(settings, shrink=True), tol=1e-8)
    assert min(row.working_set for row in shrunk.trace) < d
    assert result.fun == pytest.approx(shrunk.fun, rel=2e-8)


def test_without_shrinking_pairs_outside_the_model_stay_outside():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=25, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    result = minimize(oracle, 0.2, solver=ProxQN(shrink=False), tol=1e-8)
    assert result.success
    w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
    assert len(oracle.pack(*oracle.unpack(w)).values) == len(w.values)


def test_without_shrinking_the_memory_lasts_over_epochs():
    """An epoch then only certifies: where it ends must not change the path."""
    problem = small_problem(5)
    lam = 0.1 * lambda_max(problem.oracle())
    paths = [
        minimize(
            problem.oracle(),
            lam,
            solver=replace(ProxQN.paper(), shrink=False, cooling=cooling),
            tol=0.0,
            max_iter=25,
        ).trace.column("objective")
        for cooling in (1e-12, 0.9)
    ]
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-9)


@pytest.mark.parametrize("l2", [0.1, 10.0])
def test_a_ridge_term(l2):
    problem = small_problem(3)
    result = minimize(problem.oracle(), 0.5, l2=l2, tol=1e-10, max_iter=3000)
    assert result.status is Status.GAP
    assert kkt_residual(problem.oracle(), result.x, 0.5, l2) <= 1e-3
    assert result.fun == pytest.approx(objective(problem.oracle(), result.x, 0.5, l2), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "seed"),  # γ becomes too small; the last meets no curvature in its first steps
    [
        ("tree-0", 48),
        ("tree-1", 12),
        ("tree-1", 13),
        ("tree-2", 27),
        ("tree-3", 13),
        ("tree-3", 50),
    ],
)
def test_starts_so_far_out_that_the_loss_is_linear(name, seed):
    oracle, lam = rival_problem(name)
    start = 1e5 * np.random.default_rng(seed).normal(size=oracle.n_coordinates)
    result = minimize(oracle, lam, x0=start, tol=1e-6, max_iter=500)
    assert result.success, result.message
    assert result.fun == pytest.approx(minimize(oracle, lam, tol=1e-6).fun, rel=2e-6)


def test_observed_pairs_keep_all_other_weights_at_zero():
    problem = random_chain(7, n_labels=5, n_features=20, n_sequences=25, density=0.1)
    oracle = problem.oracle(pairs=Pairs.OBSERVED)
    result = minimize(oracle, 0.2, tol=1e-8)
    assert result.success
    w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
    kept = oracle.pack(*oracle.unpack(w))
    np.testing.assert_array_equal(kept.coordinates, w.coordinates)


def test_the_compiled_and_the_numpy_kernels_take_the_same_path():
    problem = random_chain(4, n_labels=3, n_sequences=15)
    penalty, start = ElasticNet(0.5), SparseVector.empty()
    runs = [
        ProxQN(draws=0.0).minimize(
            problem.oracle(**oracle), penalty, start, tol=1e-6, max_iter=100, **solver
        )
        for oracle, solver in (
            ({}, {}),
            ({"kernels": chain_reference}, {"kernels": solver_reference}),
        )
    ]
    assert abs(len(runs[0].trace) - len(runs[1].trace)) <= 2
    assert runs[0].objective == pytest.approx(runs[1].objective, rel=1e-6)
    for ours, theirs in zip(list(runs[0].trace)[:6], list(runs[1].trace)[:6], strict=True):
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
        assert (ours.nnz, ours.working_set) == (theirs.nnz, theirs.working_set)


def test_the_compiled_and_the_numpy_kernels_draw_the_same_curvature():
    problem = random_chain(4, n_labels=3, n_sequences=15)
    penalty, start = ElasticNet(0.5), SparseVector.empty()
    compiled = ProxQN().minimize(problem.oracle(), penalty, start, tol=1e-9, max_iter=100)
    written_out = ProxQN().minimize(
        problem.oracle(kernels=chain_reference),
        penalty,
        start,
        tol=1e-9,
        max_iter=100,
        kernels=solver_reference,
    )
    assert compiled.trace[-1].calls["draw"] > 0
    assert abs(len(compiled.trace) - len(written_out.trace)) <= 5
    assert compiled.objective == pytest.approx(written_out.objective, rel=1e-8)


@pytest.mark.parametrize("factor", [1.0, 1.5, 1e6])
def test_lam_at_or_above_lambda_max_gives_zero_weights(factor):
    problem = small_problem(1)
    result = minimize(problem.oracle(), factor * lambda_max(problem.oracle()))
    assert result.success
    assert (result.nnz, result.nit) == (0, 0)
    assert result.gap <= 1e-12 * result.fun


def test_lam_just_below_lambda_max_does_not():
    problem = small_problem(1)
    result = minimize(problem.oracle(), 0.99 * lambda_max(problem.oracle()), tol=1e-10)
    assert result.success
    assert result.nnz >= 1


def test_a_warm_start_from_the_optimum_stops_at_once():
    problem = small_problem(2)
    first = minimize(problem.oracle(), 0.5, tol=1e-8)
    again = minimize(problem.oracle(), 0.5, tol=1e-8, x0=first.x)
    assert again.success
    assert (again.nit, again.nfev, again.njev) == (0, 1, 1)
    np.testing.assert_array_equal(again.x.toarray(), first.x.toarray())


def test_a_warm_start_from_far_away_reaches_the_same_optimum():
    problem = small_problem(2)
    cold = minimize(problem.oracle(), 0.5, tol=1e-9)
    far = 5 * np.random.default_rng(0).normal(size=problem.oracle().n_coordinates)
    warm = minimize(problem.oracle(), 0.5, tol=1e-9, x0=far, max_iter=3000)
    assert warm.success
    assert warm.fun == pytest.approx(cold.fun, rel=2e-9)


def test_an_oracle_that_was_used_before_gives_the_same_run():
    problem = small_problem(5)
    oracle = problem.oracle()
    first = minimize(oracle, 0.5)
    again = minimize(oracle, 0.5)
    np.testing.assert_array_equal(first.x.toarray(), again.x.toarray())
    assert first.trace.column("objective").tolist() == again.trace.column("objective").tolist()


def test_few_samples_let_few_variables_in_at_first_and_all_they_need_in_the_end(monkeypatch):
    problem = random_chain(5, n_labels=4, n_features=400, n_sequences=20, density=0.1)
    monkeypatch.setattr(prox_qn, "_MIN_FIRST", 10)
    runs = []
    for a_sample in (1, 10_000):
        monkeypatch.setattr(prox_qn, "_FIRST_A_SAMPLE", a_sample)
        settings = ProxQN(warm_up=0.0, first_share=0.9)
        runs.append(minimize(problem.oracle(), 0.05, solver=settings, tol=1e-8, max_iter=3000))
    few, many = runs
    assert few.trace[1].nnz <= 21 < 1000 < many.trace[1].nnz
    assert np.count_nonzero(few.x.data) > 40
    assert few.fun == pytest.approx(many.fun, rel=1e-7)


def test_warming_up_on_a_subsample_changes_the_path_and_not_the_optimum():
    problem = random_chain(6, n_labels=3, n_features=30, n_sequences=3000, density=0.1)
    results = [
        minimize(problem.oracle(), 20.0, solver=ProxQN(warm_up=share), tol=1e-9, max_iter=3000)
        for share in (0.0, 0.15)
    ]
    assert all(r.success for r in results)
    assert results[0].fun == pytest.approx(results[1].fun, rel=2e-9)
    assert results[1].trace[0].nnz > 0  # it began where the subsample ended
    assert results[0].trace[0].nnz == 0


# --- exits -----------------------------------------------------------------------------------


@SETTINGS
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_max_iter(settings, max_iter):
    result = minimize(small_problem(0).oracle(), 0.1, solver=settings, tol=0, max_iter=max_iter)
    assert result.status is Status.MAX_ITER
    assert not result.success
    assert result.nit == max_iter
    assert result.message == Status.MAX_ITER.value
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


# --- interrupts ------------------------------------------------------------------------------


class Interrupted(Oracle):
    """Presses Ctrl-C in the middle of the n-th call, once."""

    def __init__(self, oracle: Oracle, at_call: int) -> None:
        self.oracle, self.left = oracle, at_call

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    @property
    def n_coordinates(self):
        return self.oracle.n_coordinates

    @property
    def n_parameters(self):
        return self.oracle.n_parameters

    @property
    def n_samples(self):
        return self.oracle.n_samples

    @property
    def pass_cost(self):
        return self.oracle.pass_cost

    def curvatures(self, coordinates):
        return self.oracle.curvatures(coordinates)

    def reset(self):
        self.oracle.reset()

    def move(self, direction):
        self._count()
        self.oracle.move(direction)

    def value_at(self, step):
        value = self.oracle.value_at(step)
        self._count()
        return value

    def accept(self, step):
        self.oracle.accept(step)
        self._count()

    def gradient(self, coordinates):
        self._count()
        return self.oracle.gradient(coordinates)

    def sweep(self, level):
        self._count()
        return self.oracle.sweep(level)

    def sample_losses(self):
        return self.oracle.sample_losses()

    def sample_curvature(self, coordinates, n_rows, seed):
        self._count()
        return self.oracle.sample_curvature(coordinates, n_rows, seed)


@pytest.mark.parametrize("at_call", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 23, 31, 46])
def test_ctrl_c_returns_the_last_accepted_iterate(at_call):
    problem = small_problem(4)
    n = problem.oracle().n_coordinates
    x0 = np.where(np.arange(n) % 5 == 0, 0.01, 0.0)
    whole = minimize(problem.oracle(), 0.2, x0=x0, tol=1e-9)
    cut = minimize(Interrupted(problem.oracle(), at_call), 0.2, x0=x0, tol=1e-9)
    assert cut.status is Status.INTERRUPTED
    assert "interrupted" in cut.message
    assert not cut.success
    assert cut.fun in [row.objective for row in whole.trace]  # an iterate, not a rejected trial
    assert cut.fun == pytest.approx(objective(problem.oracle(), cut.x, 0.2), rel=1e-12)


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
    g = loss(result.x)[1]
    residual = ElasticNet(0.5).min_norm_subgradient(result.x, g)
    assert np.abs(residual).max() <= 1e-6 * 0.5


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
    assert "no step lowers the objective" in result.message
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


def test_function_oracle_keeps_only_the_accepted_trial():
    oracle = FunctionOracle(lambda w: (float(w @ w), 2 * w), 2)
    oracle.move(SparseVector(np.array([0]), np.array([1.0])))
    oracle.value_at(4.0)
    oracle.value_at(0.5)
    oracle.accept(0.5)
    np.testing.assert_array_equal(oracle.gradient(np.array([0, 1])), [1.0, 0.0])
    oracle.move(SparseVector(np.array([1]), np.array([1.0])))
    oracle.value_at(7.0)
    oracle.reset()
    assert oracle.value_at(1.0) == 0.0


# --- settings --------------------------------------------------------------------------------


def test_the_papers_settings_are_the_papers():
    paper = ProxQN.paper()
    assert (paper.memory, paper.max_inner, paper.gamma) == (10, 10, 1.0)
    assert paper.balance_inner
    assert not paper.keep_memory
    assert paper.warm_up == 0.0
    assert paper.inner_tolerance == 0.0


def test_the_seed_changes_the_path_and_not_the_optimum():
    problem = small_problem(6)
    one, same, other = (
        minimize(problem.oracle(), 0.3, solver=ProxQN(seed=s), tol=1e-9) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.x.toarray(), same.x.toarray())
    assert one.fun == pytest.approx(other.fun, rel=2e-9)


@pytest.mark.parametrize("memory", [1, 2])
def test_a_short_memory_still_converges(memory):
    result = minimize(small_problem(6).oracle(), 0.3, solver=ProxQN(memory=memory), tol=1e-6)
    assert result.success


@pytest.mark.parametrize(
    "setting",
    [{"memory": 0}, {"max_inner": 0}, {"cooling": 1.0}, {"cooling": 0.0}, {"gamma": 0.0}],
)
def test_settings_that_cannot_work_are_refused(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        ProxQN(**setting)


@pytest.mark.parametrize("size", [1e-3, 1e-100, 1e-160, 1e-170])
def test_a_slope_next_to_nothing_measures_no_curvature_and_breaks_nothing(size):
    """The probe is then so long that its square is out of range."""
    oracle = FunctionOracle(lambda w: (1.0 + size * float(w.sum()), np.full(3, size)), 3)
    coordinates = np.arange(3)
    oracle.move(SparseVector(coordinates, np.zeros(3)))
    loss = oracle.value_at(1.0)
    oracle.accept(1.0)
    at = WorkingSet(coordinates, np.full(3, 2.0 * size), np.full(3, size))
    measured = curvature.measure(oracle, ElasticNet(1e-305), at, loss)
    assert 0.0 < measured < math.inf
