from __future__ import annotations

import json

import numpy as np
import pytest
from tests.replication.made_runs import origin

from replication.problems.load import load
from replication.problems.spec import ProblemSpec
from replication.runs import watching
from replication.runs.methods import METHODS
from replication.runs.records import Outcome, Plan, Record
from replication.runs.run_one import run_one, settings_of

SPEC = ProblemSpec("generated", quick=True)
PROBLEM = load(SPEC)


def run(plan: Plan, reference: float | None = None) -> tuple[Record, list[dict]]:
    return run_one(
        plan, PROBLEM, origin(SPEC), paper_rate=10.0, reference=reference, load_seconds=0.0
    )


@pytest.fixture(scope="module")
def converged():
    return run(Plan("generated", "prox-qn", 1.0, 60.0, tol=1e-6, stop_error=None, scored=True))


def test_a_run_to_a_tolerance(converged):
    record, rows = converged
    assert record.outcome == Outcome.CONVERGED
    assert record.gap <= 1e-6 * record.objective
    assert rows[-1]["objective"] == record.objective
    assert rows[-1]["nnz"] == record.nonzeros
    assert record.seconds <= record.wall_seconds


def test_scores_are_taken_along_the_way_at_rising_times(converged):
    record, _ = converged
    seconds = [point["seconds"] for point in record.scored]
    assert len(seconds) > 3
    assert seconds == sorted(seconds)
    assert record.scored[-1]["accuracy"] == record.scores["accuracy"]


def test_a_run_ends_near_the_reference(converged):
    optimum = converged[0].objective
    record, _ = run(Plan("generated", "owl-qn", 1.0, 60.0, stop_error=1e-2), optimum)
    assert record.outcome == Outcome.TARGET
    assert optimum <= record.objective <= 1.01 * optimum
    assert record.scored == []


def test_a_run_ends_when_its_time_is_up(converged):
    record, rows = run(Plan("generated", "prox-gd", 1.0, 0.05), converged[0].objective)
    assert record.outcome == Outcome.TIME
    spent = [min(row["seconds"], row["cpu_seconds"]) for row in rows]
    assert spent[-1] >= 0.05
    assert all(seconds < 0.05 for seconds in spent[:-1])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_can_be_kept(method):
    record, rows = run(Plan("generated", method, 1.0, 0.05))
    again = Record.from_json(record.to_json())
    assert again == record
    assert not record.failed
    cpu = np.array([row["cpu_seconds"] for row in rows])
    assert np.isfinite(cpu).all()
    assert (np.diff(cpu) >= 0).all()
    assert record.objective <= rows[0]["objective"] or method in ("sgd", "sgd-paper")


def test_settings_are_told_in_full():
    settings = settings_of(METHODS["prox-qn-paper"].solver(0.1))
    assert settings["solver"] == "ProxQN"
    assert settings["memory"] == 10
    assert settings["seed"] == 0
    json.dumps(settings)
    assert settings_of(METHODS["sgd-paper"].solver(0.1))["rate"] == 0.1


def test_evaluation_is_not_timed(monkeypatch):
    """A listener that takes its time costs the run nothing."""
    import time

    monkeypatch.setattr(watching, "_NEWS_SECONDS", 0.0)
    plan = Plan("generated", "prox-qn", 1.0, 60.0, tol=1e-1, stop_error=None)
    told = []

    def slow(seconds, objective, nonzeros):
        told.append(seconds)
        time.sleep(0.05)

    record, _ = run_one(
        plan, PROBLEM, origin(SPEC), paper_rate=1.0, reference=None, load_seconds=0.0, tell=slow
    )
    assert record.wall_seconds - record.seconds > 0.04 * len(told)
