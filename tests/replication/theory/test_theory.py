"""The checks of the theory: that they pass where they should, and fail where the claim is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.problems import enumerate_labelings, random_chain
from threadpoolctl import threadpool_limits

from proxqn.features.hierarchy import Hierarchy
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.minimization import minimize
from proxqn.solvers.rivals.prox_gd import ProxGD
from replication.runs.watching import Iterates
from replication.theory import null_space, starts, superlinear
from replication.theory.labelings import Labelings, split
from replication.theory.optimum import optimum, value
from replication.theory.oracle_calls import Unpriced, gradient
from replication.theory.problems import TheoryProblem, letter_tree, vowel_chain
from replication.theory.run import run_theory


def tiny_chain():
    problem = random_chain(2, n_labels=2, n_features=4, n_sequences=6, max_length=4, binary=False)
    X = problem.X.toarray()
    assert X.any(axis=0).all()
    return problem, Labelings.of_chain(X, problem.labels, problem.lengths, 2)


@pytest.fixture(autouse=True)
def _one_thread():
    """Matrices this small are no work for several threads, least of all on a busy machine."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="module")
def chain():
    return vowel_chain(20)


# --- all labelings ------------------------------------------------------------------------------


def test_labelings_of_a_chain_are_those_of_the_oracle():
    problem, labelings = tiny_chain()
    oracle = problem.oracle()
    w = np.random.default_rng(0).normal(size=oracle.n_coordinates)
    np.testing.assert_allclose(labelings.gradient(w), gradient(oracle, w), atol=1e-10)
    truth = enumerate_labelings(problem, oracle, w)
    for phi, sequence in zip(labelings.phi, truth.sequences, strict=True):
        np.testing.assert_allclose(phi, sequence.phi)


def test_labelings_of_a_tree_are_those_of_the_oracle():
    rng = np.random.default_rng(1)
    tree = Hierarchy.from_parents([-1, 0, 0, 1, 1, 2, 2, 2])
    X, leaves = rng.normal(size=(9, 3)), rng.integers(0, tree.n_leaves, 9)
    labelings, oracle = (
        Labelings.of_tree(X, leaves, tree),
        TreeOracle(sp.csr_array(X), leaves, tree),
    )
    w = rng.normal(size=oracle.n_coordinates)
    np.testing.assert_allclose(labelings.gradient(w), gradient(oracle, w), atol=1e-12)


def test_the_hessian_is_the_derivative_of_the_gradient():
    problem, labelings = tiny_chain()
    w = np.random.default_rng(3).normal(size=labelings.n_coordinates)
    H = labelings.hessian(w)
    np.testing.assert_allclose(H, null_space.hessian(problem.oracle(), w), atol=1e-9)
    np.testing.assert_array_equal(labelings.hessian(w, np.array([1, 4])), H[np.ix_([1, 4], [1, 4])])


def test_no_gradient_is_longer_than_the_lipschitz_constant():
    _, labelings = tiny_chain()
    rng = np.random.default_rng(4)
    longest = max(
        np.linalg.norm(labelings.gradient(scale * rng.normal(size=labelings.n_coordinates)))
        for scale in np.logspace(-2, 3, 200)
    )
    assert 0.3 * labelings.lipschitz() < longest <= labelings.lipschitz()


@pytest.mark.parametrize("shape", [(6, 20), (6, 3), (6, 6)])
def test_splitting_a_space(shape):
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    found = split(matrix)
    assert found.rank == 2
    assert found.left_out < 1e-12 < found.smallest
    np.testing.assert_allclose(found.rest.T @ matrix, 0.0, atol=1e-12)
    both = np.hstack([found.space, found.rest])
    np.testing.assert_allclose(both.T @ both, np.eye(6), atol=1e-12)


# --- iterates and optima ------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["prox-qn", "prox-gd", "owl-qn", ProxGD(accelerated=True)])
def test_iterates_are_the_solvers_own(chain, solver):
    iterates = Iterates(enough=0.0)
    unpriced = Unpriced(chain.oracle)
    start = np.full(unpriced.n_coordinates, 0.1)
    result = minimize(
        unpriced, chain.lam, x0=start, solver=solver, tol=0.0, max_iter=7, callback=iterates
    )
    dense = [w.dense(len(start)) for w in iterates.weights]
    assert len(dense) == len(result.trace) == 8
    np.testing.assert_array_equal(dense[0], start)
    np.testing.assert_array_equal(dense[-1], result.x.toarray())
    for w, row in zip(dense, result.trace, strict=True):
        assert value(chain, w) == pytest.approx(row.objective, rel=1e-12)


def test_the_optimum_is_polished_to_the_last_digits(chain):
    best = optimum(chain)
    assert best.violation < 1e-12 * chain.lam
    rough = minimize(chain.oracle, chain.lam, tol=1e-6)
    assert best.objective <= rough.fun
    assert best.objective >= rough.fun - rough.gap
    assert value(chain, best.w) == best.objective


# --- the three sections -------------------------------------------------------------------------


def test_superlinear_convergence_is_told_from_linear():
    found = superlinear.study(vowel_chain(80), gradient_steps=300)
    assert found.rank < found.problem.labelings.n_coordinates
    assert found.best.freedom > 0  # w* is not unique, so only z can converge superlinearly
    assert found.elsewhere[1] < 1e-12 < found.elsewhere[0]
    assert found.falls
    assert found.gradient_is_linear
    assert found.bound_share <= 1.0
    assert found.quasi_newton.distance[-1] < 1e-11
    # Prox-GD in place of Prox-QN fails the check, and the section says so.
    swapped = replace(found, quasi_newton=found.gradient)
    assert not swapped.falls
    section = superlinear.section([swapped])
    assert not section.holds
    assert "not the fall expected" in " ".join(section.paragraphs)
    # So does a Lipschitz constant that is too small.
    section = superlinear.section([replace(found, lipschitz=1e-3 * found.lipschitz)])
    assert not section.holds
    assert "does NOT hold" in " ".join(section.paragraphs)


@pytest.mark.parametrize("problem", [vowel_chain(6), letter_tree(20)], ids=["chain", "tree"])
def test_the_null_space_is_that_of_phi_and_of_no_other(problem):
    found = null_space.study(problem, seed=3)
    assert found.same_space
    assert found.constant_along
    assert found.shifts[-1].across > 10.0
    assert null_space.section([found]).holds
    # Without its last sample Φ spans too little, and ℓ changes along what is left out.
    short = Labelings(problem.labelings.phi[:-1], problem.labelings.true[:-1])
    wrong = null_space.study(replace(problem, labelings=short), seed=3)
    assert not wrong.same_space
    assert not wrong.constant_along
    section = null_space.section([wrong])
    assert not section.holds
    assert "do NOT all equal" in " ".join(section.paragraphs)
    assert "ℓ does change" in " ".join(section.paragraphs)


def test_disagreeing_runs_are_reported(chain):
    groups = tuple(starts.study(chain, per_scale=1, seed=0))
    assert starts.Summary(groups).agree
    worse = replace(groups[0], objectives=groups[0].objectives * 1.01, converged=0)
    summary = starts.Summary((worse, *groups[1:]))
    assert summary.failures == 1
    section = starts.section([summary])
    assert not section.holds
    assert "1 of 14 runs did NOT reach" in " ".join(section.paragraphs)
    higher = replace(groups[0], bounds=groups[0].objectives * 1.001)
    assert not starts.Summary((higher, *groups[1:])).agree


def test_the_quick_report_holds_and_says_what_it_does():
    seen: list[str] = []
    report = run_theory(quick=True, progress=seen.append)
    assert report.holds
    assert [len(section.tables) for section in report.sections] == [2, 4, 2]
    assert len(seen) == 6
    for section in report.sections:
        assert all(section.paragraphs)
        for curves in section.curves:
            assert all(min(series.y) > 0.0 for series in curves.series)  # for a log axis


def test_problems_are_written_out_as_the_oracle_sees_them():
    for problem in (vowel_chain(5), letter_tree(15)):
        assert isinstance(problem, TheoryProblem)
        w = 0.3 * np.random.default_rng(0).normal(size=problem.labelings.n_coordinates)
        np.testing.assert_allclose(
            problem.labelings.gradient(w), gradient(problem.oracle, w), atol=1e-11
        )
