"""What a watching callback is shown, and that none of it is on the clock."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.points import objective
from tests.problems import random_chain

from proxqn import minimize
from proxqn.minimization import SOLVERS
from proxqn.penalties import ElasticNet
from proxqn.problem.meter import Calls
from proxqn.problem.sparse import SparseVector
from proxqn.run.record import Record
from proxqn.run.trace import Row
from proxqn.run.watch import Iterate, Watcher

LAM, PAUSE = 0.5, 0.02


class Slow(Watcher):
    """Keeps what it sees, and takes its time."""

    def __init__(self) -> None:
        self.seen: list[Iterate] = []

    def see(self, iterate: Iterate) -> None:
        time.sleep(PAUSE)
        self.seen.append(iterate)

    def __call__(self, row: Row) -> bool:
        return row.iteration >= 5


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_watcher_sees_every_iterate_with_the_clock_stopped(solver):
    oracle = random_chain(0, n_labels=4, n_sequences=30).oracle()
    watcher = Slow()
    result = minimize(oracle, LAM, solver=solver, tol=0.0, callback=watcher)
    assert [i.row.iteration for i in watcher.seen] == list(range(6))
    for iterate in watcher.seen:
        truth = objective(oracle, iterate.weights, ElasticNet(LAM))
        assert truth == pytest.approx(iterate.row.objective, rel=1e-10)
        assert iterate.row.nnz == len(iterate.weights.values)
    last = result.trace[-1]
    assert last.phase_seconds["evaluation"] > 5 * PAUSE
    cpu = np.array([i.cpu_seconds for i in watcher.seen])
    assert (np.diff(cpu) >= 0).all()


def test_the_clock_leaves_the_watcher_out():
    oracle = random_chain(0, n_labels=4, n_sequences=30).oracle()
    plain = minimize(oracle, LAM, tol=0.0, max_iter=5).trace[-1].seconds
    watched = minimize(oracle, LAM, tol=0.0, max_iter=5, callback=Slow()).trace[-1].seconds
    assert watched < plain + 3 * PAUSE  # six pauses were made


def test_a_watcher_is_shown_the_row_and_the_weights_it_is_about():
    watcher, weights = Slow(), SparseVector(np.array([2]), np.array([1.5]))
    record = Record(Calls(), watcher)
    assert record.clock.phases == {"evaluation": 0.0}  # every row has that phase
    record.append(objective=1.0, gap=2.0, nnz=1)
    assert not record.show(weights)
    assert watcher.seen[0].row is record.trace[-1]
    assert watcher.seen[0].weights is weights
    record.iteration = 5
    record.append(objective=1.0, gap=2.0, nnz=1)
    assert record.show(weights)
