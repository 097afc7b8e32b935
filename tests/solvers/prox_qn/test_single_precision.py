"""Single precision in the solver: what is proved and returned is always in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from tests.problems import go_to, random_chain

from proxqn import ProxQN, minimize
from proxqn.losses.chain import oracle as chain
from proxqn.losses.chain.oracle import Pairs
from proxqn.penalties import ElasticNet
from proxqn.problem.sparse import SparseVector


@pytest.fixture(autouse=True)
def _every_size(monkeypatch):
    """Let small problems use it, too."""
    monkeypatch.setattr(chain, "_MANY_SCORES", 0)


@pytest.mark.parametrize("pairs", list(Pairs))
@pytest.mark.parametrize("seed", range(4))
def test_the_solver_ends_in_double_precision_at_the_same_optimum(seed, pairs):
    problem = random_chain(seed, n_labels=5, n_features=40, n_sequences=60, density=0.2)
    penalty, tol = ElasticNet(1.0), 1e-10
    ours, theirs = (
        ProxQN(single=flag).minimize(
            problem.oracle(pairs=pairs), penalty, SparseVector.empty(), tol=tol, max_iter=500
        )
        for flag in (True, False)
    )
    assert ours.gap <= (tol + 1e-8) * ours.objective  # with what rounding may have done
    assert ours.objective == pytest.approx(theirs.objective, rel=2 * tol)
    exact = go_to(problem.oracle(pairs=pairs), ours.weights).value
    size = np.abs(ours.weights.values).sum()
    assert ours.objective == pytest.approx(exact + size, rel=1e-14)
    assert (ours.trace.column("gap") >= 0.0).all()


def test_a_run_cut_short_is_certified_in_double_precision():
    problem = random_chain(11, n_labels=5, n_features=40, n_sequences=60, density=0.2)
    oracle = problem.oracle()
    found = ProxQN().minimize(oracle, ElasticNet(1.0), SparseVector.empty(), tol=1e-9, max_iter=3)
    exact = go_to(problem.oracle(), found.weights).value
    assert found.objective == pytest.approx(exact + np.abs(found.weights.values).sum(), rel=1e-14)
    assert np.isfinite(found.gap)


def test_a_run_that_is_stopped_returns_the_objective_of_double_precision():
    problem = random_chain(1, n_labels=6, n_features=40, n_sequences=300, density=0.1)
    ends = set()
    for max_iter in range(1, 16):
        result = minimize(problem.oracle(), 3.0, max_iter=max_iter, tol=1e-12)
        w = SparseVector(result.x.coords[0].astype(np.int64), result.x.data)
        true = go_to(problem.oracle(), w).value + 3.0 * np.abs(w.values).sum()
        assert result.fun == pytest.approx(true, rel=1e-13)
        ends.add(result.trace[-1].certified)
    assert ends == {True}
