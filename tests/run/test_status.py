"""Why a run ended, in words."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from proxqn.run.status import Status, distance


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


# --- the distance --------------------------------------------------------------------------------


TOLD = "estimated 0.01 % above the optimum"


@pytest.mark.parametrize(
    ("estimate", "gap", "gap_box", "box", "expected"),
    [
        (0.01, 13.0, 13.0, math.inf, f"{TOLD}; proved within 13 % of the optimum"),
        (0.01, math.inf, 13.0, 35.0, f"{TOLD}; proved within 13 % among weights up to 35"),
        (0.01, math.inf, math.inf, math.inf, TOLD),
        (math.inf, math.inf, math.inf, math.inf, ""),
        (2.0, 2.0, 1.9, 35.0, "proved within 2 % of the optimum"),  # hardly better among some
        (1234.4, 99.9, 99.9, math.inf, "proved within 100 % of the optimum"),
        (0.01, 1234.4, 1234.4, math.inf, f"{TOLD}; proved within 1234 % of the optimum"),
    ],
)  # fmt: skip
def test_words(estimate, gap, gap_box, box, expected):
    known = SimpleNamespace(estimate=estimate, gap=gap, gap_box=gap_box, box=box)
    assert distance(100.0, known) == distance(-100.0, known) == expected


def test_an_objective_that_is_not_known_has_no_distance():
    known = SimpleNamespace(estimate=0.1, gap=1.0, gap_box=1.0, box=math.inf)
    assert distance(math.nan, known) == distance(0.0, known) == ""
