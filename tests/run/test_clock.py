"""The seconds that count, those of each phase, and those that are off the clock."""

from __future__ import annotations

import time

import pytest

from proxqn.run.clock import Clock

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
