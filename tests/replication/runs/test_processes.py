"""Processes that are killed, fail, or are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replication.problems.spec import ProblemSpec
from replication.runs.processes import News, make_runs
from replication.runs.records import Plan, Store
from replication.runs.worker import Request

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses POSIX signals")
PATIENCE = 60.0


def command(folder: Path, challenge: Path, *more: object) -> list[str]:
    options = ["--data", challenge, "--lam", "1", "--seconds", "0.1", "--out", folder, *more]
    return [sys.executable, "-m", "replication", "lshtc", *map(str, options)]


def wait_for(condition) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


@pytest.mark.parametrize(("kill", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_what_is_finished_stays_and_resume_goes_on(tmp_path, challenge, kill, code):
    """A run to an impossible gap ends by time, so there is always one at work."""
    methods = ("--methods", "prox-qn")
    process = subprocess.Popen(
        command(tmp_path, challenge, *methods), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    store = Store(tmp_path)
    wait_for(lambda: len(store.records()) >= 1 or process.poll() is not None)
    process.send_signal(kill)
    assert process.wait(timeout=PATIENCE) == code
    finished = {record.plan.name: record for record in store.records()}
    assert finished
    assert not any(record.failed for record in finished.values())
    assert not (tmp_path / "report.html").exists()

    again = subprocess.run(
        command(tmp_path, challenge, *methods, "--resume"),
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert "Kept" in again.stderr
    assert (tmp_path / "report.html").exists()
    for name, record in finished.items():
        assert store.find(name) == record
    assert len(store.records()) == 2


def test_a_process_that_dies_is_kept_as_failed_and_the_others_go_on(tmp_path, monkeypatch):
    """The data of the first request are not there; the second is unharmed."""
    nowhere = ProblemSpec("lshtc", quick=True, folder=str(tmp_path))
    plans = [Plan("lshtc", "prox-gd", 1.0, 0.1), Plan("generated", "prox-gd", 1.0, 0.1)]
    specs = [nowhere, ProblemSpec("generated", quick=True)]
    news: list[News] = []
    make_runs(
        [Request(s, (p,), str(tmp_path)) for s, p in zip(specs, plans, strict=True)],
        jobs=1,
        listener=news.append,
    )
    failed, fine = (Store(tmp_path).find(plan.name) for plan in plans)
    assert failed is not None
    assert failed.failed
    assert "cat_hier.txt" in failed.message
    assert fine is not None
    assert not fine.failed
    assert [each.state for each in news if each.run == plans[0].name][-1] == "failed"
