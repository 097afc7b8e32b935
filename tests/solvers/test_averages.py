"""The average of recent iterates as a witness: right means, right bounds, and no trace left."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn.penalties import ElasticNet
from proxqn.problem import MeteredOracle, SparseVector
from proxqn.solvers import averages
from proxqn.solvers.averages import RecentIterates
from proxqn.solvers.prox_qn import ProxQN
from proxqn.solvers.recording import Recorder
from proxqn.solvers.stopping import Status
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


def test_an_average_proves_what_its_iterates_do_not():
    """Iterates that swing about the solution, on working sets that change."""
    oracle, penalty = PROBLEM.oracle(), ElasticNet(LAM)
    found = solve(1e-13)
    best, coordinates = found.weights.values, found.weights.coordinates
    record = Recorder(MeteredOracle(oracle), penalty, tol=1e-7, max_iter=9, callback=None)
    recent = RecentIterates()
    noise = 1e-6 * np.random.default_rng(0).normal(size=(averages._LEAST // 2, len(best)))
    for i, swing in enumerate(np.concatenate([noise, -noise])):
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
    assert recent.would_end(record)
    assert recent.look(record, record.oracle) is Status.GAP
    assert record.certificate.bound <= found.objective
    assert not recent.would_end(record)  # all are forgotten
