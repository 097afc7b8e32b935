"""The record of a run while it goes: rows that are added, amended and shown."""

from __future__ import annotations

import math
import time

import pytest

from proxqn.problem.meter import OPERATIONS, Calls
from proxqn.problem.sparse import SparseVector
from proxqn.run.record import Clock, Record

FACTS = {"objective": 3.0, "gap": math.inf, "nnz": 2}


def test_a_row_has_what_it_is_told_where_it_stands_and_what_was_spent():
    calls = Calls()
    record = Record(calls)
    record.iteration, record.epoch = 4, 2
    calls.charge(("forward", "backward"), 0.5, 1.25)
    with record.clock.timed("inner"):
        pass
    record.append(**FACTS, step=0.25)
    row = record.trace[-1]
    assert (row.objective, row.nnz, row.step) == (3.0, 2, 0.25)
    assert (row.iteration, row.epoch) == (4, 2)
    assert (row.calls["forward"], row.calls["backward"], row.calls["sweep"]) == (0.5, 0.5, 0.0)
    assert row.phase_seconds["forward"] == 1.25
    assert row.phase_seconds["inner"] == record.clock.phases["inner"]
    assert set(row.calls) == set(OPERATIONS)


def test_what_is_not_known_says_so():
    record = Record(Calls())
    record.append(**FACTS)
    row = record.trace[-1]
    assert (row.kkt, row.certified, row.working_set) == (math.inf, False, 0)
    assert math.isnan(row.step)
    assert row.event == ""


def test_rows_keep_the_calls_of_their_time():
    calls = Calls()
    record = Record(calls)
    record.append(**FACTS)
    calls.charge(("sweep",), 1.0, 0.0)
    record.append(**FACTS)
    assert [row.calls["sweep"] for row in record.trace] == [0.0, 1.0]


def test_amending_changes_the_last_row_and_charges_it():
    calls = Calls()
    record = Record(calls)
    record.append(**FACTS)
    record.append(**FACTS)
    calls.charge(("sweep",), 1.0, 0.0)
    record.amend(kkt=0.5, certified=True)
    first, last = record.trace
    assert (first.kkt, first.calls["sweep"]) == (math.inf, 0.0)
    assert (last.kkt, last.certified, last.calls["sweep"]) == (0.5, True, 1.0)
    assert last.objective == 3.0
    assert len(record.trace) == 2


@pytest.mark.parametrize(("answer", "ends"), [(None, False), (False, False), (True, True)])
def test_the_callback_is_shown_the_last_row_and_may_ask_for_an_end(answer, ends):
    seen = []
    record = Record(Calls(), lambda row: seen.append(row) or answer)
    record.append(**FACTS)
    assert record.show(SparseVector.empty()) is ends
    assert seen == [record.trace[-1]]


def test_without_a_callback_nothing_asks_for_an_end():
    record = Record(Calls())
    record.append(**FACTS)
    assert record.show(SparseVector.empty()) is False
    assert "evaluation" not in record.clock.phases  # no one to be shown anything


def test_a_part_of_a_run_shares_its_clock():
    clock = Clock()
    assert Record(Calls(), clock=clock).clock is clock


# --- the clock -----------------------------------------------------------------------------------


PAUSE = 0.02


def test_seconds_run_and_phases_are_parts_of_them():
    clock = Clock()
    for _ in range(2):
        with clock.timed("inner"):
            time.sleep(PAUSE)
    assert 2 * PAUSE <= clock.phases["inner"] <= clock.seconds
    assert list(clock.phases) == ["inner"]


def test_a_phase_that_fails_is_timed_as_well():
    clock = Clock()
    with pytest.raises(ZeroDivisionError), clock.timed("inner"):
        raise ZeroDivisionError
    assert clock.phases["inner"] > 0.0


def test_declared_phases_are_there_from_the_start():
    clock = Clock()
    clock.declare("inner", "memory")
    assert clock.phases == {"inner": 0.0, "memory": 0.0}
    with clock.timed("inner"):
        pass
    clock.declare("inner")
    assert clock.phases["inner"] > 0.0  # declaring it again resets nothing


def test_evaluation_is_off_the_clock():
    clock = Clock()
    with clock.evaluation():
        seconds, cpu = clock.seconds, clock.cpu_seconds
        time.sleep(PAUSE)
        sum(range(200_000))
        assert (clock.seconds, clock.cpu_seconds) == (seconds, cpu)  # it stands still
    assert clock.phases["evaluation"] >= PAUSE
    assert clock.seconds < seconds + PAUSE
    assert clock.cpu_seconds < cpu + PAUSE
    before = clock.seconds
    time.sleep(PAUSE)
    assert clock.seconds >= before + PAUSE  # and goes on


def test_an_evaluation_that_fails_lets_the_clock_go_on():
    clock = Clock()
    with pytest.raises(ZeroDivisionError), clock.evaluation():
        raise ZeroDivisionError
    before = clock.seconds
    time.sleep(0.001)
    assert clock.seconds > before
