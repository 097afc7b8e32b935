"""When curvature is drawn anew, and how far it is trusted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.drawing import DrawingLogistic
from tests.points import Logistic
from tests.quadratic_models import random_pairs

from proxqn import _kernels
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector
from proxqn.solvers.curvature.draw_schedule import DrawnCurvature
from proxqn.solvers.curvature.pairs import CompactBFGS, Scaling
from proxqn.solvers.curvature.quasi_newton import Passes, QuasiNewton
from proxqn.solvers.inner import Effort
from proxqn.solvers.line_search import Step
from proxqn.solvers.standing import Goal, Standing

EFFORT = Effort(0.0, seed=0)
GOOD, REFUSED = Step(1.0, 1.0, 1.0, 1), Step(0.5, 1.0, 1.0, 2)


class Scene:
    """A run that has begun at zero, and its drawn curvature."""

    def __init__(self, loss: Logistic | None = None, lam: float = 1.0, **how) -> None:
        self.oracle = DrawingLogistic(loss or Logistic(0), **how)
        self.standing = Standing(self.oracle, ElasticNet(lam), Goal(1e-4, 100))
        self.point = self.standing.begin(SparseVector.empty())
        self.at, _ = self.standing.look(self.point, SparseVector.empty(), margin=np.inf)
        pairs = CompactBFGS(10, 1.0, Scaling.PAPER, len(self.at))
        passes = Passes(least=5, most=1000, budget=1e6)
        self.pairs = QuasiNewton(pairs, self.oracle, power=0.0, passes=passes, kernels=_kernels)
        self.drawn = DrawnCurvature(
            self.pairs,
            self.standing,
            rows=1.0,
            pass_cost=1.0,
            seed=3,
            single=True,
            kernels=_kernels,
        )
        self.same = np.arange(len(self.at))

    def renew(self, rows=None):
        return self.drawn.renew(self.point, self.at, self.same if rows is None else rows)

    def gain(self, share: float) -> None:
        """Lower the objective by a share of it."""
        now = self.standing.iterate
        self.standing.iterate = replace(now, objective=now.objective * (1.0 - share))

    def pass_iterations(self, n: int) -> None:
        self.standing.record.iteration += n

    def step(self) -> float:
        return float(np.linalg.norm(self.drawn.direction(self.at, EFFORT).d))


# --- drawing ---------------------------------------------------------------------------------


def test_the_direction_is_newton_s_where_the_draws_are_the_hessian():
    """J is exact here, and ρ little beside the curvature of 4,000 samples."""
    scene = Scene(Logistic(0, n=4000, d=10))
    assert scene.renew() is scene.drawn
    assert scene.drawn.active
    scene.pass_iterations(30)  # the first draws are not worth many passes
    found = scene.drawn.direction(scene.at, EFFORT).d
    A = scene.oracle.loss.A[:, scene.at.coordinates]
    H = A.T @ A / 4.0
    residual = scene.at.penalty.min_norm_subgradient(scene.at.w + found, scene.at.g + H @ found)
    before = scene.at.penalty.min_norm_subgradient(scene.at.w, scene.at.g)
    assert np.abs(residual).max() < 0.05 * np.abs(before).max()


def test_rows_are_asked_for_by_the_number_of_variables():
    scene = Scene()
    scene.renew()
    ((n, rows, seed),) = scene.oracle.asked
    assert (n, seed) == (len(scene.at), 3)
    assert rows >= n


def test_no_model_no_direction():
    scene = Scene()
    assert not scene.drawn.active
    assert scene.drawn.direction(scene.at, EFFORT) is None


@pytest.mark.parametrize("how", ["dry", "unable"])
def test_where_nothing_can_be_drawn_the_pairs_go_on(how):
    scene = Scene(dry=True)
    if how == "unable":
        scene.point = Logistic(0).oracle().at(SparseVector.empty())
    assert scene.renew() is scene.pairs
    assert not scene.drawn.active


# --- how long draws are good -----------------------------------------------------------------


def test_draws_serve_as_long_as_little_is_gained():
    scene = Scene()
    scene.renew()
    scene.gain(1e-6)
    scene.renew()
    assert len(scene.oracle.asked) == 1
    scene.gain(1e-3)
    scene.renew()
    assert len(scene.oracle.asked) == 2


def test_a_refused_step_and_a_new_variable_ask_for_others():
    scene = Scene()
    scene.renew()
    s, y = (x[0] for x in random_pairs(0, len(scene.at), 1))
    scene.drawn.learn(s, y, GOOD)
    scene.renew()
    assert len(scene.oracle.asked) == 1
    scene.drawn.learn(s, y, REFUSED)
    scene.renew()
    assert len(scene.oracle.asked) == 2
    scene.renew(np.append(scene.same[:-1], -1))
    assert len(scene.oracle.asked) == 3


def test_fewer_variables_need_no_others():
    scene = Scene()
    scene.renew()
    keep = scene.same[::2]
    scene.at = scene.at.take(keep)
    scene.pairs.restrict(keep)
    scene.renew(keep)
    assert len(scene.oracle.asked) == 1
    assert len(scene.drawn.direction(scene.at, EFFORT).d) == len(keep)


def test_leaving_the_draws_leads_to_the_pairs_and_back_by_new_draws():
    scene = Scene()
    scene.renew()
    assert scene.drawn.fall_back() is scene.pairs
    assert not scene.drawn.active
    assert scene.drawn.direction(scene.at, EFFORT) is None
    assert scene.renew() is scene.drawn
    assert len(scene.oracle.asked) == 2


def test_pairs_learn_beside_the_draws():
    scene = Scene()
    scene.renew()
    for s, y in zip(*random_pairs(1, len(scene.at), 3), strict=True):
        assert scene.drawn.learn(s, y, GOOD) == ""
    assert len(scene.pairs.pairs) == 3
    scene.drawn.restrict(scene.same[1:])
    assert scene.pairs.pairs.newest(3)[0].shape == (3, len(scene.at) - 1)


# --- how far they are trusted ----------------------------------------------------------------


def test_steps_that_are_often_refused_raise_the_ridge():
    """A raised ridge shortens the step from the same place."""
    lengths = []
    for step in (GOOD, REFUSED):
        scene = Scene()
        scene.renew()
        zero = np.zeros(len(scene.at))
        for _ in range(20):
            scene.drawn.learn(zero, zero, step)  # no pair: only whether it was refused
        scene.gain(0.1)
        scene.renew()
        assert len(scene.oracle.asked) == 2
        lengths.append(scene.step())
    assert lengths[1] < 0.9 * lengths[0]


def test_a_few_refused_steps_do_not():
    first, scene = Scene(), Scene()
    first.renew()
    scene.renew()
    zero = np.zeros(len(scene.at))
    for step in (REFUSED, GOOD, GOOD, REFUSED):
        scene.drawn.learn(zero, zero, step)
    scene.renew()
    assert len(scene.oracle.asked) == 2
    assert scene.step() == first.step()


def test_the_ridge_falls_with_the_steps_that_draws_have_made():
    scene = Scene()
    scene.renew()
    early = scene.step()
    scene.pass_iterations(100)
    scene.gain(0.1)
    scene.renew()
    assert scene.step() > early
