"""The page says what the runs say, also where that is not what one would like."""

from __future__ import annotations

import pytest
from tests.replication.made_runs import keep, made_store

from replication.problems.spec import ProblemSpec
from replication.report.claims import Verdict, claims
from replication.report.comparison import study
from replication.runs.methods import REFERENCE

SPEC = ProblemSpec("ocr")
START = (0.0, 200.0, 0)


def line(seconds: float, nonzeros: int = 50) -> list[tuple[float, float, int]]:
    """A run that is at the optimum after so many seconds, in five even steps of its error."""
    steps = [(seconds * i / 7, 100.0 + 10.0 ** (2 - i), nonzeros) for i in range(1, 7)]
    return [START, *steps, (seconds, 100.0, nonzeros)]


def judged(tmp_path, runs, spec=SPEC, lam=100.0):
    found = study(spec, made_store(tmp_path, spec, lam, runs), [], lam)
    assert found is not None
    return {claim.text: claim for claim in claims(found)}


def test_first_everywhere(tmp_path):
    found = judged(tmp_path, {"prox-qn": line(1.0), "owl-qn": line(5.0), "sgd": line(9.0)})
    claim = found["λ = 100: Prox-QN is much faster than the other methods."]
    assert claim.verdict is Verdict.AGREES
    assert "OWL-QN takes 5.0 times and SGD takes 9.0 times as long" in claim.evidence
    assert "first at every level from 10⁻¹ to 10⁻⁶" in claim.evidence


def test_the_papers_own_settings_are_spoken_of(tmp_path):
    runs = {"prox-qn": line(1.0), "prox-qn-paper": line(4.0), "owl-qn": line(2.0), "bcd": line(9.0)}
    text = "λ = 100: Prox-QN is much faster than the other methods."
    evidence = judged(tmp_path / "a", runs)[text].evidence
    assert "ahead of the others at no level" in evidence
    evidence = judged(tmp_path / "b", runs | {"owl-qn": [START, (5.0, 105.0, 9)]})[text].evidence
    assert "ahead of the others at every level from 10⁻¹ to 10⁻⁶" in evidence


def test_beaten_everywhere(tmp_path):
    found = judged(tmp_path, {"prox-qn": line(3.0), "owl-qn": line(1.0)})
    claim = found["λ = 100: Prox-QN is much faster than the other methods."]
    assert claim.verdict is Verdict.DIFFERS
    assert "At 10⁻⁶ OWL-QN is first (1.00 s against 3.00 s)." in claim.evidence
    sparse = found["λ = 100: Prox-QN obtains a sparse model in much less time."]
    assert sparse.verdict is Verdict.DIFFERS


def test_beaten_at_the_start_only(tmp_path):
    sgd = [START, (0.01, 109.0, 900), (9.0, 105.0, 900)]
    found = judged(tmp_path, {"prox-qn": line(1.0), "sgd": sgd, "bcd": line(7.0)})
    claim = found["λ = 100: Prox-QN is much faster than the other methods."]
    assert claim.verdict is Verdict.PARTLY
    assert "At 10⁻¹ SGD is first (0.01 s against" in claim.evidence
    assert "not there yet: SGD (after 9.00 s)" in claim.evidence
    slows = found["SGD is fast at the beginning, and slow near the optimum."]
    assert slows.verdict is Verdict.AGREES


def test_sgd_may_win_with_the_papers_step(tmp_path):
    runs = {"prox-qn": line(2.0), "sgd": line(9.0), "sgd-paper": line(1.0), "bcd": line(5.0)}
    found = judged(tmp_path, runs)
    claim = found["λ = 100: Prox-QN is much faster than the other methods."]
    assert claim.verdict is Verdict.DIFFERS
    assert "SGD (paper's step) is first" in claim.evidence
    slows = found["SGD is fast at the beginning, and slow near the optimum."]
    assert slows.verdict is Verdict.DIFFERS
    assert "SGD is first of 3 at 10⁻¹ and first at 10⁻⁶" in slows.evidence


def test_a_run_that_never_gets_there_is_not_called_first(tmp_path):
    stuck = [START, (1.0, 150.0, 3)]
    found = judged(tmp_path, {"prox-qn": stuck, "owl-qn": line(2.0)})
    claim = found["λ = 100: Prox-QN is much faster than the other methods."]
    assert claim.verdict is Verdict.DIFFERS
    assert "Prox-QN did not get there" in claim.evidence


def test_the_papers_table_is_compared_by_stated_margins(tmp_path):
    found = judged(tmp_path, {"prox-qn": line(1.0)})
    (claim,) = [claim for text, claim in found.items() if "1,544" in text]
    assert claim.verdict is Verdict.PARTLY  # 50 nonzeros are far from it, 0.75 is near 0.7366
    assert "97 % fewer" in claim.evidence


def test_other_documents_cannot_be_held_against_the_papers_table(tmp_path):
    spec = ProblemSpec("lshtc", train="validation")
    found = judged(tmp_path, {"prox-qn": line(1.0)}, spec, 1.0)
    (claim,) = [claim for text, claim in found.items() if "4,301" in text]
    assert claim.verdict is Verdict.OPEN


def test_nothing_is_said_without_the_runs_for_it(tmp_path):
    found = judged(tmp_path, {"owl-qn": line(1.0)}, ProblemSpec("generated"), 3.0)
    assert found == {}


@pytest.mark.parametrize(("slow", "verdict"), [(50.0, Verdict.AGREES), (500.0, Verdict.DIFFERS)])
def test_iterations_by_lam(tmp_path, slow, verdict):
    store = made_store(tmp_path, SPEC, 100.0, {"prox-qn": line(2.0)})
    for lam in (50.0, 500.0):
        keep(store, SPEC, lam, REFERENCE, line(1.0))
        keep(store, SPEC, lam, "prox-qn", line(4.0 if lam == slow else 1.0))
    found = study(SPEC, store, [], 100.0)
    assert found is not None
    (claim,) = [claim for claim in claims(found) if "larger λ" in claim.text]
    assert claim.verdict is verdict
