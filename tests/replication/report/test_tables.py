from __future__ import annotations

from tests.replication.made_runs import made_store

from replication.problems.spec import ProblemSpec
from replication.report import tables
from replication.report.comparison import study
from replication.runs.records import Outcome, Plan, Record

SPEC = ProblemSpec("ocr")
RUNS = {
    "prox-qn": [(0.0, 200.0, 0), (1.0, 109.0, 20), (2.0, 100.5, 80), (3.0, 100.00001, 50)],
    "sgd": [(0.0, 200.0, 0), (0.5, 105.0, 90), (1.0, 112.0, 90), (4.0, 100.9, 90)],
}


def made(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, RUNS)
    kept = store.find("ocr.lam100.sgd")
    store.save(
        Record(Plan("ocr", "bcd", 100.0, 1.0), kept.origin, {}, Outcome.FAILED, "no <memory>"), []
    )
    found = study(SPEC, store, [], 100.0)
    assert found is not None
    return found


def test_seconds_name_the_first(tmp_path):
    found = made(tmp_path)
    table = tables.seconds_table(found.main, found.clock)
    assert table.caption.startswith("Seconds of training")
    assert table.rows[0] == ("Prox-QN", "1.00", "2.00", "3.00", "3.00", "3.00", "3.00")
    assert table.rows[1] == ("SGD", "0.5", "4.00", "–", "–", "–", "–")
    assert table.rows[-1][:3] == ("first", "SGD", "Prox-QN")


def test_failed_runs_are_listed_with_the_reason(tmp_path):
    table = tables.end_table(made(tmp_path).main)
    assert table.rows[-1][0] == "BCD"
    assert table.rows[-1][-1] == "failed: no <memory>"


def test_optima_stand_beside_the_papers(tmp_path):
    (row,) = tables.optima_table(made(tmp_path)).rows
    assert row == ("100", "100.0000", "1.0·10⁻⁹", "50", "1,544", "0.7500", "0.7366")


def test_passes(tmp_path):
    found = made(tmp_path)
    table = tables.passes_table(found.main, found.main.shrinking, "as a test")
    assert table.rows[0][1:3] == ("1", "2")


def test_a_shared_machine_is_timed_by_the_processor(tmp_path):
    store = made_store(tmp_path, SPEC, 100.0, RUNS)
    path = store.folder / "ocr.lam100.sgd.json"
    path.write_text(path.read_text().replace('"cpu_seconds": 4.0', '"cpu_seconds": 2.0'))
    found = study(SPEC, store, [], 100.0)
    assert found is not None
    assert found.clock == "processor seconds of training"
