from __future__ import annotations

import pytest
from tests.replication.made_runs import keep, made_store

from replication.problems.spec import ProblemSpec
from replication.report.comparison import study

SPEC = ProblemSpec("ocr")
RUNS = {
    "prox-qn": [(0.0, 200.0, 0), (1.0, 109.0, 20), (2.0, 100.5, 80), (3.0, 100.00001, 50)],
    "sgd": [(0.0, 200.0, 0), (0.5, 105.0, 90), (1.0, 112.0, 90), (4.0, 100.9, 90)],
}


@pytest.fixture
def comparison(tmp_path):
    found = study(SPEC, made_store(tmp_path, SPEC, 100.0, RUNS), [], 100.0)
    assert found is not None
    return found.main


def test_the_optimum_is_the_lowest_objective_and_the_bound_is_proved(comparison):
    assert comparison.optimum == 100.0
    assert comparison.proved == pytest.approx(1e-9)
    assert comparison.nonzeros == 50


def test_a_run_below_the_reference_lowers_the_optimum(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, {"prox-qn": [(0.0, 200.0, 0), (1.0, 99.0, 20)]})
    found = study(SPEC, store, [], 100.0)
    assert found is not None
    assert found.main.optimum == 99.0


def test_moments_are_the_first_ones(comparison):
    sgd = comparison.run("sgd")
    moment = comparison.moment(sgd, 1e-1)
    assert (moment.seconds, moment.passes) == (0.5, 1.0)  # though it rises again
    assert comparison.moment(sgd, 1e-2).seconds == 4.0
    assert comparison.moment(sgd, 1e-3) is None


def test_ranking_is_by_seconds(comparison):
    assert [run.method for run, _ in comparison.ranking(1e-1)] == ["sgd", "prox-qn"]
    assert [run.method for run, _ in comparison.ranking(1e-2)] == ["prox-qn", "sgd"]
    assert comparison.ranking(1e-2, ["sgd"])[0][0].method == "sgd"


def test_nonzeros_settle_when_they_stay_near(comparison):
    assert comparison.run("prox-qn").settled_at(50) == 3.0
    assert comparison.run("sgd").settled_at(50) is None


def test_what_is_missing_is_named_and_other_data_are_left_out(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, RUNS)
    keep(store, ProblemSpec("ocr", quick=True), 50.0, "bcd", RUNS["sgd"])
    found = study(SPEC, store, ["ocr.lam100.bcd", "ocr.lam100.sgd"], 100.0)
    assert found is not None
    assert found.missing == ("ocr.lam100.bcd",)
    assert [each.lam for each in found.comparisons] == [100.0]


def test_without_a_run_there_is_nothing_to_compare(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, {})
    assert study(SPEC, store, [], 100.0) is None


def test_without_a_reference_the_best_run_stands_in(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, RUNS)
    (store.folder / "ocr.lam100.reference.json").unlink()
    found = study(SPEC, store, [], 100.0)
    assert found is not None
    assert found.main.reference.plan.method == "prox-qn"
    assert found.main.optimum == 100.00001
