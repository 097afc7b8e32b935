"""Why a run ended, in words."""

from __future__ import annotations

from proxqn.run.status import Status


def test_every_status_is_a_sentence():
    for status in Status:
        assert ": " in status.value or " to a " in status.value
        assert len(status.value) > 20
    assert len({status.value for status in Status}) == len(Status)


def test_success_means_that_the_tolerance_was_reached():
    reached = {
        Status.GAP, Status.ESTIMATE, Status.KKT, Status.UNPENALISED, Status.STATIONARY
    }  # fmt: skip
    assert {status for status in Status if status.success} == reached
    assert all(status.value.startswith("converged") == status.success for status in Status)


def test_what_proves_nothing_says_why():
    assert "no gap is known" in Status.KKT.value
    assert "no penalty" in Status.UNPENALISED.value
    assert "bounds on them would give one" in Status.UNPENALISED.value
    assert "not convex" in Status.STATIONARY.value
