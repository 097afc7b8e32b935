"""The average of recent iterates as a witness: right means, right bounds, and no trace left."""

from __future__ import annotations

import numpy as np
import pytest
from tests.points import objective, plain
from tests.problems import random_chain

from proxqn import ProxQN, minimize
from proxqn.penalties import ElasticNet, Separable
from proxqn.problem.oracle import DensePoint, Oracle
from proxqn.problem.sparse import SparseVector
from proxqn.run.status import Status
from proxqn.solvers.certificate.witness import RecentIterates
from proxqn.solvers.standing import Goal, Standing
from proxqn.solvers.working_set import WorkingSet

PROBLEM = random_chain(1, n_labels=6, n_features=40, n_sequences=300, max_length=12)
LAM = 2.0
ENOUGH_ITERATES = 4  # before it is worth asking


def swinging_iterates(swings, *, tol, penalty=None, best=None):
    """Take in iterates that swing about the solution, on working sets that change."""
    oracle, penalty = PROBLEM.oracle(), penalty or ElasticNet(LAM)
    best = best or minimize(oracle, penalty=penalty, stop="gap", tol=1e-13, max_iter=900)
    coordinates = best.weights.coordinates
    standing = Standing(oracle, penalty, Goal(tol, 9))
    recent = RecentIterates(standing)
    for i, swing in enumerate(swings(len(coordinates))):
        w = best.weights.values + swing
        weights = SparseVector(coordinates, w)
        point = standing.begin(weights)
        _, status = standing.look(point, weights)
        assert status is None
        others = np.setdiff1d(np.arange(oracle.n_coordinates), coordinates)[i : 2 * i]
        held = np.union1d(coordinates, others)  # some without a weight, others each time
        at = WorkingSet(held, weights.on(held), point.gradient(held), penalty.on(held))
        recent.add(at, point.value)
    return recent, standing, point, best


def to_and_fro(n, size=1e-6):
    noise = size * np.random.default_rng(0).normal(size=(ENOUGH_ITERATES, n))
    return np.concatenate([noise, -noise])


# --- the mean --------------------------------------------------------------------------------


class Told(Oracle):
    """Keeps the weights it is asked about."""

    n_coordinates = 10

    def __init__(self) -> None:
        self.asked: list[SparseVector] = []

    def at(self, w):
        self.asked.append(w)
        return DensePoint(self, w, 1.0, np.zeros(10), lower_bound=0.0)


def test_the_mean_is_taken_on_all_working_sets():
    """Iterate k has the weight 1 on a variable of its own: the mean tells the shares."""
    oracle, lam = Told(), 2.0
    standing = Standing(oracle, ElasticNet(lam), Goal(0.999, 9))
    point, recent = standing.begin(SparseVector.empty()), RecentIterates(standing)
    swings = [2.6, -2.6, 1.8, -2.4]  # of a derivative beyond λ; the mean's must not be
    for k, swing in enumerate(swings):
        held = np.array([0, k + 1])
        w, g = np.array([0.0, 1.0]), np.array([swing, 0.0])
        recent.add(WorkingSet(held, w, g, plain(lam)), 1.0)
    assert recent.would_end(point)
    recent.prove(oracle)
    shares = oracle.asked[-1].on(np.arange(1, 5))  # outside a working set weights are zero
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)
    assert abs(shares @ swings) <= lam * (1 + 1e-9)
    assert oracle.asked[-1].on(np.array([0])) == 0.0


def test_too_few_iterates_are_not_asked():
    oracle = Told()
    standing = Standing(oracle, ElasticNet(2.0), Goal(0.999, 9))
    point, recent = standing.begin(SparseVector.empty()), RecentIterates(standing)
    for _ in range(ENOUGH_ITERATES - 1):
        recent.add(WorkingSet(np.array([1]), np.ones(1), np.zeros(1), plain(2.0)), 1.0)
        assert not recent.would_end(point)
    recent.add(WorkingSet(np.array([1]), np.ones(1), np.zeros(1), plain(2.0)), 1.0)
    assert recent.would_end(point)
    recent.clear()
    assert len(recent) == 0
    assert not recent.would_end(point)


def test_an_empty_working_set_counts_as_zero_weights():
    oracle = Told()
    standing = Standing(oracle, ElasticNet(2.0), Goal(0.999, 9))
    point, recent = standing.begin(SparseVector.empty()), RecentIterates(standing)
    recent.add(WorkingSet(np.empty(0, np.int64), np.empty(0), np.empty(0), plain(2.0)), 1.0)
    for _ in range(ENOUGH_ITERATES):
        recent.add(WorkingSet(np.array([2]), np.ones(1), np.zeros(1), plain(2.0)), 1.0)
    assert recent.would_end(point)
    recent.prove(oracle)
    assert 0.0 <= float(oracle.asked[-1].on(np.array([2]))[0]) <= 1.0


def test_iterates_on_many_variables_are_few():
    standing = Standing(Told(), ElasticNet(1.0), Goal(1e-4, 9))
    recent = RecentIterates(standing, room=10)
    for w in range(1, 9):
        at = WorkingSet(np.array([1, 5, 7]), np.full(3, float(w)), np.zeros(3), plain(1.0))
        recent.add(at, 0.0)
        assert len(recent) == min(w, 3)  # three times three numbers are no more than ten


# --- what it proves --------------------------------------------------------------------------


def test_an_average_proves_what_its_iterates_do_not():
    recent, standing, point, best = swinging_iterates(to_and_fro, tol=1e-7)
    assert standing.gap > 1e-7 * best.fun  # by the best of its iterates
    assert recent.would_end(point)
    assert recent.prove(standing.oracle) is Status.GAP
    assert standing.certificate.bound <= best.fun
    assert standing.gap <= 1e-7 * best.fun
    assert not recent.would_end(point)  # not before there are other iterates


def test_an_iterate_far_off_has_no_share():
    """The mean of all would prove nothing."""

    def with_one_far_off(n):
        far = 3e-3 * np.random.default_rng(1).normal(size=(1, n))
        return np.concatenate([far, to_and_fro(n)])

    recent, standing, point, best = swinging_iterates(with_one_far_off, tol=1e-7)
    assert recent.would_end(point)
    assert recent.prove(standing.oracle) is Status.GAP
    assert standing.certificate.bound <= best.fun


def test_a_look_in_vain_changes_no_iterate_and_claims_nothing():
    """The best of the variables held, while others are violated."""
    oracle = PROBLEM.oracle()
    lam = np.where(np.arange(oracle.n_coordinates) % 2 == 0, LAM, 1e6)
    part = minimize(oracle, lam, stop="gap", tol=1e-13, max_iter=900)
    best = minimize(oracle, LAM, stop="gap", tol=1e-12, max_iter=900)
    assert best.fun < part.fun * (1 - 1e-4)
    standing = Standing(oracle, ElasticNet(LAM), Goal(1e-5, 9))
    recent = RecentIterates(standing)
    held = part.weights.coordinates
    for swing in to_and_fro(len(held), size=1e-8):
        weights = SparseVector(held, part.weights.values + swing)
        point = standing.begin(weights)
        at = WorkingSet(held, weights.values, point.gradient(held), plain(LAM))
        recent.add(at, point.value)
    before = standing.iterate
    assert recent.would_end(point)  # as far as it knows
    assert recent.prove(standing.oracle) is None
    assert standing.iterate is before
    assert standing.certificate.bound <= best.fun


def test_a_look_is_counted():
    recent, standing, point, _ = swinging_iterates(to_and_fro, tol=1e-7)
    assert recent.would_end(point)
    before = dict(standing.calls.counts)
    recent.prove(standing.oracle)
    for name in ("forward", "backward", "sweep"):
        assert standing.calls.counts[name] == before[name] + 1


# --- when it is asked ------------------------------------------------------------------------


def test_what_cannot_be_proved_is_not_looked_at_and_asked_again_later():
    recent, standing, point, _ = swinging_iterates(to_and_fro, tol=1e-15)
    before = dict(standing.calls.counts)
    assert not recent.would_end(point)
    asked = standing.record.clock.phases["memory"]  # what asking takes
    for _ in range(3):
        assert not recent.would_end(point)
    assert standing.record.clock.phases["memory"] == asked
    assert standing.calls.counts == before


@pytest.mark.parametrize(
    "penalty",
    [ElasticNet(LAM, 0.1), Separable(LAM, lower=-9.0), Separable(LAM, upper=9.0)],
    ids=["ridge", "lower", "upper"],
)
def test_where_violations_have_a_price_no_average_is_needed(penalty):
    recent, _, point, _ = swinging_iterates(to_and_fro, tol=1e-15, penalty=penalty)
    assert not recent.would_end(point)


def test_a_whole_run_with_averages_has_the_same_optimum():
    runs = [
        minimize(PROBLEM.oracle(), LAM, solver=settings, stop="gap", tol=1e-11, max_iter=900)
        for settings in (ProxQN(), ProxQN(draws=0.0))
    ]
    assert all(run.success for run in runs)
    assert runs[0].fun == pytest.approx(runs[1].fun, rel=1e-10)
    for run in runs:
        assert run.gap >= 0.0
        truth = objective(PROBLEM.oracle(), run.weights, ElasticNet(LAM))
        assert run.fun == pytest.approx(truth, rel=1e-12)


def test_the_paper_s_settings_have_no_averages():
    run = minimize(PROBLEM.oracle(), LAM, solver=ProxQN.paper(), stop="gap", tol=1e-6)
    last = run.trace[-1]
    assert last.calls["sweep"] == last.epoch  # one look an epoch, and none beside
