"""The pairs as the loop's model of curvature: what they cost, learn, and do when they fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.points import Logistic, plain
from tests.quadratic_models import matrix, random_pairs

from proxqn import _kernels
from proxqn.losses.function import FunctionOracle
from proxqn.problem.oracle import Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling
from proxqn.solvers.curvature.quasi_newton import Passes, QuasiNewton
from proxqn.solvers.inner import Effort
from proxqn.solvers.line_search import Step
from proxqn.solvers.working_set import WorkingSet

PASSES = Passes(least=5, most=1000, budget=1e6)
STEP = Step(1.0, 1.0, 1.0, 1)
N = 25


class Curved(Oracle):
    """A loss that knows roughly how curved it is."""

    n_coordinates = N

    def __init__(self) -> None:
        self._inside = FunctionOracle(Logistic(0), N)

    def at(self, w):
        return self._inside.at(w)

    def curvatures(self, coordinates):
        return 1.0 + coordinates.astype(float)


def model(oracle: Oracle | None = None, power: float = 0.0, n: int = N) -> QuasiNewton:
    pairs = CompactBFGS(10, 1.0, Scaling.PAPER, n)
    oracle = oracle or Logistic(0).oracle()
    return QuasiNewton(pairs, oracle, power=power, passes=PASSES, kernels=_kernels)


def start(oracle: Oracle, lam: float = 1.0):
    everything = np.arange(N)
    point = oracle.at(SparseVector.empty())
    at = WorkingSet(everything, np.zeros(N), point.gradient(everything), plain(lam))
    return point, at


# --- passes ----------------------------------------------------------------------------------


@given(
    n_pairs=st.integers(0, 100),
    size=st.integers(0, 10**7),
    budget=st.floats(1.0, 1e12),
    most=st.integers(5, 1000),
)
def test_passes_stay_within_the_budget_and_the_limits(n_pairs, size, budget, most):
    passes = Passes(least=5, most=most, budget=budget).affordable(n_pairs, size)
    assert 5 <= passes <= most
    if passes > 5:
        assert passes * 4 * n_pairs * size <= budget


@given(size=st.integers(0, 10**7), d=st.integers(1, 10**9))
def test_the_paper_visits_as_many_coordinates_whatever_the_working_set(size, d):
    """⌊d/|A|⌋ passes, at least one, at most max_inner."""
    found = Passes(least=5, most=10, budget=1.0, total=d).affordable(100, size)
    assert found == max(1, min(10, d // max(size, 1)))


def test_no_inner_problem_makes_more_passes_than_it_may():
    oracle = Logistic(0).oracle()
    _, at = start(oracle)
    few = QuasiNewton(
        CompactBFGS(10, 1.0, Scaling.PAPER, N),
        oracle,
        power=0.0,
        passes=Passes(least=1, most=2, budget=1e9),
        kernels=_kernels,
    )
    for s, y in zip(*random_pairs(0, N, 5), strict=True):
        few.learn(s, y, STEP)
    assert few.direction(at, Effort(0.0, seed=0)).passes <= 2.0


# --- the diagonal ----------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
def test_the_diagonal_is_the_oracle_s_to_a_power(power):
    _, at = start(Curved())
    found = model(Curved(), power).diagonal(at)
    np.testing.assert_allclose(found, (1.0 + np.arange(N)) ** power)


def test_an_oracle_without_a_diagonal_has_ones():
    oracle = Logistic(0).oracle()
    np.testing.assert_array_equal(model(oracle, 0.25).diagonal(start(oracle)[1]), np.ones(N))


def test_new_variables_bring_their_diagonal():
    curved = model(Curved(), 1.0, n=2)
    _, at = start(Curved())
    part = at.take(np.array([3, 8, 9]))
    curved.extend(part, np.array([1, -1, -1]))
    np.testing.assert_allclose(matrix(curved.pairs), np.diag([4.0, 9.0, 10.0]))


# --- learning --------------------------------------------------------------------------------


def test_a_step_is_learnt_as_the_secant_equation():
    here = model()
    S, Y = random_pairs(1, N, 4)
    assert [here.learn(s, y, STEP) for s, y in zip(S, Y, strict=True)] == [""] * 4
    np.testing.assert_allclose(matrix(here.pairs) @ S[-1], Y[-1], rtol=1e-8, atol=1e-8)


def test_a_step_that_met_no_curvature_is_reported():
    """Alone it says that the loss is linear here: γ falls. Beside others it says nothing."""
    here, s = model(), np.ones(N)
    assert "curvature" in here.learn(s, -s, STEP)
    assert here.pairs.gamma == pytest.approx(0.1)
    assert len(here.pairs) == 0
    assert here.learn(s, 2.0 * s, STEP) == ""
    assert here.pairs.gamma == pytest.approx(2.0)
    assert "curvature" in here.learn(s, 0.0 * s, STEP)
    assert here.pairs.gamma == pytest.approx(2.0)


def test_extending_keeps_the_pairs_unless_they_are_to_be_forgotten():
    S, Y = random_pairs(2, N, 4)
    _, at = start(Logistic(0).oracle())
    for forget in (False, True):
        here = model()
        for s, y in zip(S, Y, strict=True):
            here.learn(s, y, STEP)
        gamma = here.pairs.gamma
        here.extend(at, np.arange(N), forget=forget)
        assert len(here.pairs) == (0 if forget else 4)
        assert here.pairs.gamma == gamma


def test_restricting_drops_rows():
    S, Y = random_pairs(3, N, 4)
    here, keep = model(), np.arange(0, N, 2)
    for s, y in zip(S, Y, strict=True):
        here.learn(s, y, STEP)
    whole = matrix(here.pairs)
    here.restrict(keep)
    np.testing.assert_allclose(matrix(here.pairs), whole[np.ix_(keep, keep)], atol=1e-9)


def test_a_weight_without_data_has_a_diagonal_of_one():
    class Absent(Curved):
        def curvatures(self, coordinates):
            return np.where(coordinates == 2, 0.0, super().curvatures(coordinates))

    _, at = start(Absent())
    diagonal = model(Absent(), 0.5).diagonal(at)
    assert diagonal[2] == 1.0
    np.testing.assert_array_equal(
        np.delete(diagonal, 2), np.delete(model(Curved(), 0.5).diagonal(at), 2)
    )


# --- failing ---------------------------------------------------------------------------------


def test_it_is_the_last_resort():
    assert model().fall_back() is None


def test_a_matrix_that_is_not_positive_gives_no_direction():
    here = model()
    here.pairs.gamma = -1.0
    assert here.direction(start(Logistic(0).oracle())[1], Effort(0.0, seed=0)) is None


def test_beginning_anew_measures_the_scale_where_it_is():
    oracle = Logistic(0).oracle()
    fresh, old = model(oracle), model(oracle)
    for s, y in zip(*random_pairs(4, N, 3), strict=True):
        old.learn(s, 1e6 * y, STEP)
    fresh.measure_scale(*start(oracle))
    old.begin_anew(*start(oracle))
    assert len(old.pairs) == 0
    assert old.pairs.gamma == fresh.pairs.gamma


@pytest.mark.parametrize("gamma", [1e-9, 1e9])
def test_caution_lets_steepest_descent_promise_no_more_than_all(gamma):
    here = model()
    here.pairs.gamma = gamma
    _, at = start(Logistic(0).oracle())
    here.be_cautious(at, objective=100.0)
    slopes = at.penalty.min_norm_subgradient(at.w, at.g)
    assert float(slopes @ slopes) / here.pairs.gamma <= 100.0 * (1 + 1e-12)
    assert here.pairs.gamma >= gamma  # it only rises
    assert (here.pairs.gamma == gamma) == (gamma > 1.0)
