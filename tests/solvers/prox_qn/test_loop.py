"""The whole method: optima, and settings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import SETTINGS, full_gradient, go_to, objective, random_chain, small_problem
from tests.rival_problems import problem as rival_problem

from proxqn import ProxQN, lambda_max, minimize
from proxqn.losses.chain import reference as chain_reference
from proxqn.losses.chain.oracle import ChainOracle, Pairs
from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet
from proxqn.problem import Oracle, SparseVector
from proxqn.solvers import reference as solver_reference
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.curvature import draw_schedule as drawn
from proxqn.solvers.curvature import scale as curvature
from proxqn.solvers.prox_qn import loop as prox_qn
from proxqn.solvers.working_set import WorkingSet


def kkt_residual(oracle: Oracle, x, lam: float, l2: float = 0.0) -> float:
    """Evaluate at x from scratch; the largest entry of the min-norm subgradient."""
    coordinates, values = x.coords[0], x.data
    go_to(oracle, SparseVector(coordinates.astype(np.int64), values))
    g = full_gradient(oracle)
    return float(np.abs(ElasticNet(lam, l2).min_norm_subgradient(x.toarray(), g)).max())


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


def test_large_weights_under_a_ridge_keep_no_others_out(monkeypatch):
    monkeypatch.setattr(prox_qn, "_MIN_FIRST", 10)  # fewer than have a weight
    problem = random_chain(5, n_labels=4, n_features=40, n_sequences=100, density=0.1)
    result = minimize(problem.oracle(), 0.05, l2=0.1, tol=1e-8, max_iter=300)
    assert result.success


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


@pytest.mark.parametrize("draws", [0.0, 1.0])
def test_sweeps_wait_where_the_last_one_found_nothing_new(draws):
    problem = random_chain(0, n_labels=5, n_features=60, n_sequences=150, max_length=8)
    lazy, eager = (
        minimize(problem.oracle(), 2.0, solver=ProxQN(draws=draws, lazy=lazy), tol=1e-9)
        for lazy in (True, False)
    )
    assert lazy.success
    assert lazy.fun == pytest.approx(eager.fun, rel=2e-9)
    assert lazy.trace[-1].calls["sweep"] <= 0.8 * eager.trace[-1].calls["sweep"]
    assert lazy.trace[-1].iteration <= 1.1 * eager.trace[-1].iteration


@pytest.mark.parametrize(
    ("n_features", "lam", "alike"),
    [(30, 20.0, True), (3000, 0.3, False)],  # the second sample is learnt by heart
)
def test_curvature_is_drawn_at_once_where_the_sample_speaks_for_the_data(n_features, lam, alike):
    problem = random_chain(
        6, n_labels=3, n_features=n_features, n_sequences=3000, density=3 / n_features
    )
    result = minimize(problem.oracle(), lam, tol=1e-9, max_iter=2)
    drawn_at_the_start = result.trace[1].calls["draw"] >= 1.0
    assert drawn_at_the_start == alike


def test_a_sample_is_sampled_once_more(monkeypatch):
    monkeypatch.setattr(prox_qn, "_MIN_SKETCH", 2)
    sizes = []

    def subsample(oracle, share, seed, sample=ChainOracle.subsample):
        sizes.append(oracle.n_samples)
        return sample(oracle, share, seed)

    monkeypatch.setattr(ChainOracle, "subsample", subsample)
    problem = random_chain(6, n_sequences=3000)
    assert minimize(problem.oracle(), 20.0).success
    assert len(sizes) == 2
    assert sizes[0] == 3000 > sizes[1] > 400


def test_draws_serve_as_long_as_little_is_gained(monkeypatch):
    problem = random_chain(1, n_labels=6, n_features=40, n_sequences=300, max_length=12)
    n_draws, results = [], []
    for place in (-1.0, 1e-4):
        monkeypatch.setattr(drawn, "_SAME_PLACE", place)
        results.append(minimize(problem.oracle(), 2.0, tol=1e-9, max_iter=500))
        last = results[-1].trace[-1]
        n_draws.append(last.calls["draw"])
    assert n_draws[1] < n_draws[0]
    assert results[0].fun == pytest.approx(results[1].fun, rel=2e-9)


def test_draws_whose_inner_problems_are_left_half_solved_are_given_up(monkeypatch):
    problem = random_chain(  # 60 features a token: J is dense, and its columns are alike
        57, n_labels=2, n_features=206, n_sequences=1233, max_length=10, density=0.3
    )
    solve, served = drawn.DrawnCurvature.direction, []

    def watched(*args):
        direction = solve(*args)
        served.append(direction is not None)
        return direction

    monkeypatch.setattr(drawn.DrawnCurvature, "direction", watched)
    result = minimize(problem.oracle(), 0.6, tol=1e-4, max_iter=150)
    assert result.success  # with draws to the end it is not
    assert all(served[1:20])
    assert not any(served[70:])


def test_steps_that_are_often_refused_raise_the_ridge(monkeypatch):
    problem = random_chain(
        200,
        n_labels=2,
        n_features=195,
        n_sequences=369,
        max_length=13,
        density=0.3,
        binary=False,
    )
    refused = []
    for often in (1.0, 0.4):
        monkeypatch.setattr(drawn, "_OFTEN", often)
        result = minimize(problem.oracle(), 0.0256, tol=1e-4, max_iter=300)
        assert result.success
        refused.append(sum(row.trials - 1 for row in result.trace))
    assert refused[1] < 0.5 * refused[0]


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
