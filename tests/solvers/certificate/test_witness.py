"""The average of recent iterates as a witness: right means, right bounds, and no trace left."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn.penalties import ElasticNet
from proxqn.problem import MeteredOracle, SparseVector
from proxqn.solvers.certificate import witness as averages
from proxqn.solvers.certificate.bound import Status
from proxqn.solvers.certificate.witness import RecentIterates
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.recording import Recorder
from proxqn.solvers.working_set import WorkingSet

PROBLEM = random_chain(1, n_labels=6, n_features=40, n_sequences=300, max_length=12)
LAM = 2.0


def solve(tol, settings=None):
    settings = settings or ProxQN()
    start = SparseVector.empty()
    return settings.minimize(PROBLEM.oracle(), ElasticNet(LAM), start, tol=tol, max_iter=900)


def working_set(coordinates, w, g):
    return WorkingSet(np.array(coordinates), np.array(w, float), np.array(g, float))


def test_the_mean_is_taken_on_all_working_sets():
    recent = RecentIterates()
    recent.add(working_set([1, 5, 7], [1, 2, 3], [10, 20, 30]), 0.0)
    recent.add(working_set([1, 6, 7, 9], [3, 4, 5, 0], [30, 40, 50, 60]), 0.0)
    recent._shares = np.array([0.5, 0.5])
    mean = recent._best()
    np.testing.assert_array_equal(mean.coordinates, [1, 5, 6, 7, 9])
    np.testing.assert_array_equal(mean.w, [2, 1, 2, 4, 0])  # outside a working set weights are zero
    np.testing.assert_array_equal(mean.g, [20, 20, 40, 40, 60])  # and derivatives not known


def test_the_mean_of_an_empty_working_set():
    recent = RecentIterates()
    recent.add(working_set([], [], []), 0.0)
    recent.add(working_set([2], [1], [1]), 0.0)
    recent._shares = np.array([0.5, 0.5])
    np.testing.assert_array_equal(recent._best().w, [0.5])


@pytest.fixture
def asked(monkeypatch):
    """Let the average be looked at whenever there are new iterates; collect what came of it."""
    looks = []
    look = RecentIterates.look

    def counted(self, record, oracle):
        before = record.certificate.bound
        status = look(self, record, oracle)
        looks.append((before, record.certificate.bound, status))
        return status

    def hopeful(self, record):
        n = len(self._iterates)
        self._shares = np.full(n, 1.0 / max(n, 1))
        return n >= averages._LEAST and self._wait <= 0

    monkeypatch.setattr(RecentIterates, "look", counted)
    monkeypatch.setattr(RecentIterates, "would_end", hopeful)
    return looks


def test_a_look_in_vain_changes_nothing(asked):
    """The oracle comes back to its iterate, and bounds stay below the optimum."""
    best = solve(1e-12, ProxQN(draws=0.0)).objective
    found = solve(1e-11)
    assert len(asked) >= 1
    assert found.objective == pytest.approx(best, rel=1e-10)
    assert all(before <= after <= best * (1 + 1e-12) for before, after, _ in asked)
    oracle = PROBLEM.oracle()
    oracle.move(found.weights)
    loss = oracle.value_at(1.0)
    penalty = ElasticNet(LAM).value(found.weights.values)
    assert found.objective == pytest.approx(loss + penalty, rel=1e-12)


def test_the_paper_s_settings_have_no_averages(asked):
    solve(1e-6, ProxQN.paper())
    assert asked == []


def test_a_look_is_counted(asked):
    found = solve(1e-11)
    assert found.trace[-1].calls["sweep"] >= len(asked) + found.trace[-1].epoch


def swinging_iterates(tol, swings, l2=0.0):
    """Take in iterates that swing about the solution, on working sets that change."""
    oracle, penalty = PROBLEM.oracle(), ElasticNet(LAM, l2)
    start = SparseVector.empty()
    found = ProxQN().minimize(oracle, penalty, start, tol=1e-13, max_iter=900)
    best, coordinates = found.weights.values, found.weights.coordinates
    record = Recorder(MeteredOracle(oracle), penalty, tol=tol, max_iter=9, callback=None)
    recent = RecentIterates()
    for i, swing in enumerate(swings(len(best))):
        w = best + swing
        weights = SparseVector(coordinates, w)
        record.begin(weights)
        _, status = record.look(LAM, weights, record.point.loss)
        assert status is None
        others = np.setdiff1d(np.arange(oracle.n_coordinates), coordinates)[i : 2 * i]
        held = np.union1d(coordinates, others)  # some without a weight, others each time
        spread = np.zeros(len(held))
        spread[np.searchsorted(held, coordinates)] = w
        recent.add(WorkingSet(held, spread, oracle.gradient(held)), record.point.loss)
    return recent, record, found.objective


def to_and_fro(n):
    noise = 1e-6 * np.random.default_rng(0).normal(size=(averages._LEAST, n))
    return np.concatenate([noise, -noise])


def test_an_average_proves_what_its_iterates_do_not():
    recent, record, objective = swinging_iterates(1e-7, to_and_fro)
    assert recent.would_end(record)
    assert recent.look(record, record.oracle) is Status.GAP
    assert record.certificate.bound <= objective
    assert not recent.would_end(record)  # not before there are other iterates


def test_an_iterate_far_off_has_no_share():
    """The mean would prove nothing."""

    def with_one_far_off(n):
        far = 3e-3 * np.random.default_rng(1).normal(size=(1, n))
        return np.concatenate([far, to_and_fro(n)])

    recent, record, objective = swinging_iterates(1e-7, with_one_far_off)
    assert recent.would_end(record)
    assert recent._shares[0] < 1e-3
    assert recent.look(record, record.oracle) is Status.GAP
    assert record.certificate.bound <= objective


def test_what_cannot_be_proved_is_not_looked_at_and_asked_again_later():
    recent, record, _ = swinging_iterates(1e-15, to_and_fro)
    asked = []
    best_average = averages.best_average
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "best_average", lambda *a: asked.append(a) or best_average(*a))
        before = record.oracle.calls.counts.copy()
        assert not any(recent.would_end(record) for _ in range(3))
    assert len(asked) == 1
    assert recent._wait > averages._PATIENCE
    assert record.oracle.calls.counts == before


def test_with_a_ridge_term_no_average_is_needed():
    recent, record, _ = swinging_iterates(1e-15, to_and_fro, l2=0.1)
    assert not recent.would_end(record)


def test_iterates_on_many_variables_are_few(monkeypatch):
    monkeypatch.setattr(averages, "_ROOM", 10)
    recent = RecentIterates()
    for w in range(1, 9):
        recent.add(working_set([1, 5, 7], [w, w, w], [0, 0, 0]), 0.0)
    assert [iterate.w[0] for iterate in recent._iterates] == [6, 7, 8]
