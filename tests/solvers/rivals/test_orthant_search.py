"""The line search of OWL-QN: projected trials, and how long the first one is."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn.losses.function import FunctionOracle
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.rivals.orthant_search import OrthantSearch, lowest
from proxqn.solvers.working_set import WorkingSet


@pytest.mark.parametrize(("slope", "bend"), [(-2.0, 1.0), (-1.0, 5.0), (-3.0, 0.2)])
def test_the_parabola_of_a_trial(slope, bend):
    t = np.linspace(0.0, 20.0, 200_001)
    best = t[(slope * t + bend * t**2).argmin()]
    assert lowest(slope, slope + bend) == pytest.approx(best, abs=2e-4)


def test_a_trial_without_a_parabola():
    assert lowest(-1.0, -1.5) == np.inf  # falls faster than its slope
    assert lowest(-1.0, np.inf) == lowest(-1.0, np.nan) == 0.0


def at_weights(w, penalty):
    """Return ``|w - 1|²/2`` there, its point and its working set."""
    oracle = FunctionOracle(lambda v: (0.5 * float((v - 1.0) @ (v - 1.0)), v - 1.0), len(w))
    point, everywhere = oracle.at(SparseVector.of_dense(w)), np.arange(len(w))
    return point, WorkingSet(everywhere, w, point.gradient(everywhere), penalty.on(everywhere))


@pytest.mark.parametrize(("lam", "lands"), [([0.1, 0.1], 0.0), ([0.1, 0.0], 0.5)])
def test_only_weights_with_a_kink_stop_at_zero(lam, lands):
    point, at = at_weights(np.array([0.5, -0.5]), Separable(np.array(lam)))
    pseudo = at.penalty.min_norm_subgradient(at.w, at.g)
    objective = point.value + at.penalty.value(at.w)
    trial = OrthantSearch(1e-4, 0.5, 40).along(point, at, pseudo, np.array([0.2, 1.0]), objective)
    assert trial is not None
    np.testing.assert_allclose(trial.w, [0.7, lands])
    assert trial.line.accept(1.0).value == trial.loss


def test_a_direction_uphill_has_no_trial():
    point, at = at_weights(np.array([0.5, 0.5]), ElasticNet(0.1))
    pseudo = at.penalty.min_norm_subgradient(at.w, at.g)
    objective = point.value + at.penalty.value(at.w)
    assert OrthantSearch(1e-4, 0.5, 10).along(point, at, pseudo, pseudo, objective) is None
