"""Some hundred mutants of each kind are read or refused; and the fuzzer sees what goes wrong."""

from __future__ import annotations

import ctypes
import os
import time
from collections import Counter

import pytest
from tests.fuzz import __main__ as driver
from tests.fuzz.__main__ import KINDS, Fuzzer, run
from tests.fuzz.kind import Kind


@pytest.mark.parametrize("name", KINDS)
def test_three_hundred_mutants_are_read_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "OUT", tmp_path)
    found: Counter[str] = Counter()
    fuzzer = Fuzzer(name, seed=7)
    for number in range(300):
        fuzzer.try_one(number, found)
    assert set(found) <= {"read", "refused"}, found
    assert found["read"] > 3
    assert found["refused"] > 3


def _bad_reader(data: bytes) -> None:
    """Do with a file what no reader should."""
    number = data[0] if data else 0
    if number == 1:
        raise KeyError("no refusal")
    if number == 2:
        ctypes.string_at(0)
    if number == 3:
        time.sleep(60)
    if number == 4:
        bytearray(os.urandom(1) * (200 << 20))
    if number == 5:
        raise ValueError
    if number == 6:
        began = time.process_time()
        while time.process_time() < began + 0.3:
            pass


def test_what_goes_wrong_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "OUT", tmp_path)
    monkeypatch.setattr(driver, "HUNG", 6.0)
    monkeypatch.setattr(driver, "SLOW", 0.25)
    monkeypatch.setattr(driver, "BLOCK", 7)
    kind = Kind(
        lambda: [b"\0"], _bad_reader, (ValueError,), lambda data, rng: bytes([rng.randrange(7)])
    )
    monkeypatch.setitem(KINDS, "bad", kind)
    fuzzer = Fuzzer("bad", seed=94)
    assert {fuzzer.mutant(number)[0] for number in range(12)} == set(range(7))
    found = run(fuzzer, 12, jobs=4, resume=False)
    for what in ("FAULT KeyError", "CRASH -11", "HANG", "LARGE", "SLOW 0", "read", "refused"):
        assert any(key.startswith(what) for key in found), (what, found)
    assert run(fuzzer, 12, jobs=1, resume=True) == found  # nothing is left to do
