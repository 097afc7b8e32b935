from __future__ import annotations

from replication.problems.spec import ProblemSpec
from replication.runs.methods import FIVE, REFERENCE, WITHOUT_SHRINKING
from replication.runs.plans import Choice, default_seconds, plans, work_to_do

OCR = ProblemSpec("ocr")


def test_the_papers_runs_are_the_default():
    made = plans(OCR, Choice())
    assert {plan.lam for plan in made} == {100.0, 50.0, 500.0}
    for lam in (100.0, 50.0, 500.0):
        assert {plan.method for plan in made if plan.lam == lam} >= {*FIVE, REFERENCE}
    without = [plan for plan in made if plan.method in WITHOUT_SHRINKING]
    assert {plan.lam for plan in without} == {100.0}
    assert all(plan.scored == (plan.lam == 100.0) for plan in made if plan.method in FIVE)


def test_all_of_ocr_fits_in_half_an_hour():
    made = plans(OCR, Choice())
    # Prox-QN, and the reference, end by themselves long before their time.
    slow = [p for p in made if p.method in ("prox-gd", "owl-qn", "sgd", "sgd-paper", "bcd")]
    slow += [p for p in made if p.method in WITHOUT_SHRINKING]
    assert len(slow) * default_seconds(OCR) <= 1250


def test_a_choice_is_kept_to():
    made = plans(OCR, Choice((7.0,), ("bcd",), 3.0))
    assert [(p.method, p.lam) for p in made] == [(REFERENCE, 7.0), ("bcd", 7.0)]
    assert made[1].seconds == 3.0
    assert made[1].scored  # the only λ is the main one


def test_references_come_first_and_each_run_has_a_process(tmp_path):
    work = work_to_do([OCR], Choice(), tmp_path, jobs=2, resume=False)
    references, others = work.stages
    assert {r.plans[0].method for r in references} == {REFERENCE}
    assert all(len(request.plans) == 1 for request in others)
    assert len(references) + len(others) == len(work.plans)


def test_small_runs_share_processes(tmp_path):
    quick = ProblemSpec("ocr", quick=True)
    work = work_to_do([quick], Choice(), tmp_path, jobs=2, resume=False)
    assert [request.plans[0].method for request in work.stages[1]] == [REFERENCE, REFERENCE]
