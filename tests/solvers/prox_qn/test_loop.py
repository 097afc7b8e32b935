"""The whole method: optima, and what its ideas do to the path and not to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.drawing import DrawingLogistic
from tests.points import Logistic, kkt_residual, objective
from tests.problems import SETTINGS, random_chain, small_problem
from tests.rival_problems import problem as rival_problem

from proxqn import ProxQN, lambda_max, minimize
from proxqn.losses.chain import reference as chain_reference
from proxqn.losses.chain.oracle import Pairs
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector
from proxqn.run.status import Status
from proxqn.solvers import reference as solver_reference

# --- optima ----------------------------------------------------------------------------------


@SETTINGS
@pytest.mark.parametrize("seed", range(10))
def test_the_optimum_satisfies_kkt_and_the_gap(seed, settings):
    problem = small_problem(seed)
    lam = 0.05 * lambda_max(problem.oracle())
    result = minimize(problem.oracle(), lam, solver=settings, stop="gap", tol=1e-9, max_iter=5000)
    assert result.status is Status.GAP
    assert result.success
    assert 0 <= result.gap <= 2e-8 * result.fun  # what rounding may have done with it
    assert result.fun == pytest.approx(
        objective(problem.oracle(), result.weights, ElasticNet(lam)), rel=1e-12
    )
    residual = kkt_residual(problem.oracle(), result.weights, ElasticNet(lam))
    assert residual <= 1e-2 * lam
    assert result.kkt == pytest.approx(residual, rel=1e-5, abs=1e-9 * lam)
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
    assert len(oracle.pack(*oracle.unpack(result.weights)).values) == result.nnz


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
    result = minimize(problem.oracle(), 0.5, l2=l2, tol=1e-10, stop="gap", max_iter=3000)
    assert result.status is Status.GAP
    penalty = ElasticNet(0.5, l2)
    assert kkt_residual(problem.oracle(), result.weights, penalty) <= 1e-3
    assert result.fun == pytest.approx(
        objective(problem.oracle(), result.weights, penalty), rel=1e-12
    )


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
    kept = oracle.pack(*oracle.unpack(result.weights))
    np.testing.assert_array_equal(kept.coordinates, result.weights.coordinates)


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
    first = minimize(problem.oracle(), 0.5, stop="gap", tol=1e-8)
    again = minimize(problem.oracle(), 0.5, stop="gap", tol=1e-8, x0=first.x)
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


@pytest.mark.parametrize(
    ("n_features", "lam", "alike"),
    [(30, 20.0, True), (3000, 0.3, False)],  # the second sample is learnt by heart
)
def test_curvature_is_drawn_at_once_where_the_sample_speaks_for_the_data(n_features, lam, alike):
    problem = random_chain(
        7, n_labels=3, n_features=n_features, n_sequences=3000, density=3 / n_features
    )
    of_a_sample = ProxQN(stochastic=False)
    result = minimize(problem.oracle(), lam, solver=of_a_sample, tol=1e-9, max_iter=2)
    drawn_at_the_start = result.trace[1].calls["draw"] >= 1.0
    assert drawn_at_the_start == alike


def test_draws_whose_inner_problems_are_left_half_solved_lead_there_all_the_same():
    problem = random_chain(  # 60 features a token: J is dense, and its columns are alike
        57, n_labels=2, n_features=206, n_sequences=1233, max_length=10, density=0.3
    )
    result = minimize(problem.oracle(), 0.6, tol=1e-4, max_iter=1000)
    assert result.success
    assert result.trace[-1].calls["draw"] > 1


def test_steps_that_are_often_refused_do_not_stop_the_draws_from_leading_there():
    """Their ridge is raised (``test_draw_schedule.py``): most steps are taken whole again."""
    problem = random_chain(
        200,
        n_labels=2,
        n_features=195,
        n_sequences=369,
        max_length=13,
        density=0.3,
        binary=False,
    )
    result = minimize(problem.oracle(), 0.0256, tol=1e-4, stop="gap", max_iter=300)
    assert result.success
    trials = result.trace.column("trials")
    assert (trials[len(trials) // 2 :] == 1).mean() > 0.5


# --- a loss of one's own ---------------------------------------------------------------------


@pytest.mark.parametrize("dry", [False, True])
def test_a_stranger_s_loss_may_draw_its_curvature(dry):
    """Where it can, few steps are left; where it gives none, pairs alone lead there."""
    oracle = DrawingLogistic(Logistic(2, n=2000, d=60), dry=dry)
    result = minimize(oracle, 3.0, stop="gap", tol=1e-10)
    assert result.status is Status.GAP
    assert kkt_residual(oracle, result.weights, ElasticNet(3.0)) <= 1e-2
    assert (result.trace[-1].calls["draw"] > 0) != dry
    pairs_alone = minimize(oracle, 3.0, stop="gap", tol=1e-10, solver=ProxQN(draws=0.0))
    assert result.fun == pytest.approx(pairs_alone.fun, rel=1e-9)
    assert result.nit <= pairs_alone.nit
