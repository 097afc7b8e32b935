from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.replication.made_runs import keep, origin

from replication.problems.spec import ProblemSpec
from replication.runs.records import Outcome, Plan, Store, why_not_reused

SPEC = ProblemSpec("ocr")
POINTS = [(0.0, 200.0, 0), (0.5, 150.0, 30), (1.0, 101.0, 55)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_a_run_is_read_back_as_it_was_kept(store):
    record = keep(store, SPEC, 100.0, "prox-gd", POINTS)
    assert store.find("ocr.lam100.prox-gd") == record
    assert store.records() == [record]
    trace = store.trace("ocr.lam100.prox-gd")
    assert trace["objective"].tolist() == [200.0, 150.0, 101.0]
    assert trace["seconds"].dtype == np.float64


def test_phases_that_begin_late_are_zero_before(store):
    record = keep(store, SPEC, 100.0, "prox-gd", POINTS)
    store.save(record, [{"seconds": 0.0}, {"seconds": 1.0, "s_memory": 0.5}])
    assert store.trace(record.plan.name)["s_memory"].tolist() == [0.0, 0.5]


def test_a_damaged_record_counts_as_none(store):
    record = keep(store, SPEC, 100.0, "prox-gd", POINTS)
    path = store.folder / f"{record.plan.name}.json"
    path.write_text(path.read_text()[:100])
    assert store.find(record.plan.name) is None
    assert store.records() == []


def test_nothing_else_is_left_in_the_folder(store):
    record = keep(store, SPEC, 100.0, "prox-gd", POINTS)
    names = {path.name for path in store.folder.iterdir()}
    assert names == {f"{record.plan.name}.json", f"{record.plan.name}.csv"}


def test_a_kept_run_is_used_again_only_for_what_it_answers(store):
    kept = keep(store, SPEC, 100.0, "prox-gd", POINTS)
    plan, here = kept.plan, origin(SPEC)
    assert why_not_reused(kept, plan, here) is None
    assert why_not_reused(kept, replace(plan, seconds=5.0), here) is None  # a longer run is there
    assert why_not_reused(kept, replace(plan, scored=False), here) is None
    unscored = replace(kept, plan=replace(plan, scored=False))
    assert why_not_reused(unscored, plan, here) == "other settings"
    assert why_not_reused(None, plan, here) == "not made yet"
    longer = replace(plan, seconds=20.0)
    assert why_not_reused(kept, longer, here) == "ended after 10 s"
    by_itself = replace(kept, outcome=Outcome.CONVERGED)
    assert why_not_reused(by_itself, longer, here) is None
    assert why_not_reused(kept, replace(plan, tol=1e-3), here) == "other settings"
    assert why_not_reused(replace(kept, outcome=Outcome.FAILED), plan, here) == "failed before"
    other_data = origin(ProblemSpec("ocr", threads=2))
    assert why_not_reused(kept, plan, other_data) == "other data"
    other_code = replace(here, versions={"python": "3.12", "code": "def"})
    assert "code" in str(why_not_reused(kept, plan, other_code))
    assert why_not_reused(kept, plan, replace(here, machine={})) == "another machine"


def test_the_name_says_which_run_it_is():
    assert Plan("generated", "owl-qn", 0.5, 1.0).name == "generated.lam0.5.owl-qn"
