"""The settings: the paper's, and those that cannot work."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.points import Logistic

from proxqn import ProxQN, minimize
from proxqn.minimization import Solver
from proxqn.solvers.curvature.pairs import Scaling


def test_the_papers_settings_are_the_papers():
    paper = ProxQN.paper()
    assert (paper.memory, paper.max_inner, paper.gamma) == (10, 10, 1.0)
    assert paper.scaling is Scaling.PAPER
    assert paper.scaling_power == 0.0  # B₀ = γI
    assert paper.balance_inner
    assert not paper.keep_memory
    assert paper.shrink
    assert paper.warm_up == paper.draws == paper.inner_tolerance == 0.0
    assert paper.first_share == 1.0
    assert not paper.lazy
    assert not paper.single


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"memory": 0}, "memory must be 1 or above, got 0"),
        ({"max_inner": 0}, "max_inner must be 1 or above, got 0"),
        ({"cooling": 1.0}, "cooling must lie between 0 and 1, got 1.0"),
        ({"cooling": 0.0}, "cooling must lie between 0 and 1, got 0.0"),
        ({"seed": -1}, "seed must be an integer from 0 .* got -1"),
        ({"seed": 0.5}, "seed must be an integer"),
        ({"gamma": 0.0}, "gamma must be a finite number above 0"),
        ({"gamma": math.inf}, "gamma must be a finite number above 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        ProxQN(**setting)


def test_settings_are_a_solver():
    assert isinstance(ProxQN(), Solver)


def test_the_seed_changes_the_path_and_not_the_optimum():
    loss = Logistic(6)
    one, same, other = (
        minimize(loss.oracle(), 2.0, solver=ProxQN(seed=s), tol=1e-9) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.x, same.x)
    assert one.trace.column("objective").tolist() != other.trace.column("objective").tolist()
    assert one.fun == pytest.approx(other.fun, rel=2e-9)


@pytest.mark.parametrize("memory", [1, 2])
def test_a_short_memory_still_converges(memory):
    result = minimize(Logistic(6).oracle(), 2.0, solver=ProxQN(memory=memory), tol=1e-6)
    assert result.success


def test_a_gamma_that_is_given_is_not_measured():
    """Measuring takes one forward pass more than trials."""
    for gamma, extra in ((None, 1), (50.0, 0)):
        result = minimize(Logistic(6).oracle(), 2.0, solver=ProxQN(gamma=gamma), tol=0, max_iter=3)
        trials = sum(row.trials for row in result.trace if row.iteration)
        assert result.trace[-1].calls["forward"] == 1 + trials + extra
