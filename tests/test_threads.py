"""Whole fits: the same bits for any number of threads, and after a fork."""

from __future__ import annotations

import os
import pickle
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.problems import random_chain

from proxqn import ProxQN, minimize
from proxqn.problem.sparse import SparseVector

LAM = 30.0


@cache
def problem():
    return random_chain(
        0, n_labels=5, n_features=60, n_sequences=2500, max_length=12, density=0.1, binary=False
    )


def fit(n_jobs: int, settings: ProxQN, lam=LAM, **penalty):
    oracle = problem().oracle(n_jobs=n_jobs)
    result = minimize(oracle, lam, solver=settings, tol=1e-7, stop="gap", **penalty)
    rows = [row.flat() for row in result.trace]
    for row in rows:
        for name in [n for n in row if n.startswith("s_") or n == "seconds"]:
            del row[name]
    return result.x.coords[0].tobytes(), result.x.data.tobytes(), repr(rows), result.nit


@pytest.mark.parametrize("settings", [ProxQN(), ProxQN.paper()], ids=["default", "paper"])
def test_weights_and_traces_are_identical_bit_for_bit(settings):
    assert len(problem().oracle().layout.chunks(5)) > 4
    alone = fit(1, settings)
    assert alone[-1] > 10
    for n_jobs in (2, 3):
        assert fit(n_jobs, settings) == alone


def test_they_are_with_a_penalty_of_each_weight_s_own():
    n = problem().oracle().n_coordinates
    penalty = {
        "lam": np.linspace(0.5 * LAM, 1.5 * LAM, n),
        "l2": np.where(np.arange(n) % 2 == 0, 0.5, 0.0),
        "bounds": (np.where(np.arange(n) % 3 == 0, 0.0, -np.inf), 0.3),
    }
    alone = fit(1, ProxQN(), **penalty)
    assert alone[-1] > 5
    for n_jobs in (2, 3):
        assert fit(n_jobs, ProxQN(), **penalty) == alone


def in_a_child(work):
    """Return what ``work()`` returns in a process of its own, forked from this one."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # no pytest in here: only work, write, and leave
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    return pickle.loads(answer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_work_after_a_fork():
    """Threads were used in the parent first: an OpenMP runtime would hang in the child here."""
    parent = fit(2, ProxQN())
    assert in_a_child(lambda: fit(2, ProxQN())) == parent


def fit_without_room_for_threads():
    """Fit with room for a fit, and not for a thread's stack; print how many threads were made."""
    expected = fit(1, ProxQN())
    before = len(os.listdir("/proc/self/task"))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + threading_stack() // 2
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    assert fit(16, ProxQN()) == expected
    print(len(os.listdir("/proc/self/task")) - before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no /proc on this system")
def test_where_no_thread_can_be_made_the_bits_are_the_same():
    """In a process of its own: stacks of threads that are gone would serve again."""
    program = "from tests.test_threads import fit_without_room_for_threads as f; f()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 15


def threading_stack() -> int:
    """Return the bytes of address space that a new thread takes."""
    size, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return size if 0 < size < 1 << 30 else 8 << 20


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no /proc on this system")
def test_threads_serve_every_call():
    """They are asked for again and again, and there are never more than the largest n_jobs."""

    def n_threads():
        return len(os.listdir("/proc/self/task"))

    def serve(n_jobs):
        point = problem().oracle(n_jobs=n_jobs).at(SparseVector.empty())
        point.sweep(np.inf)
        point.along(SparseVector(np.array([3]), np.array([0.5]))).accept(1.0)

    serve(5)
    after_one = n_threads()
    for n_jobs in (2, 3, 5, 4):
        serve(n_jobs)
    assert n_threads() == after_one


def test_callers_at_the_same_time_do_not_wait_for_each_other():
    alone = fit(2, ProxQN())
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda _: fit(2, ProxQN()), range(3)))
    assert together == [alone] * 3
