"""Runs in processes of their own, several side by side, and what they tell of themselves.

Each process makes one run (all of them for ``--quick``, where starting would take longer than
running) and keeps it itself. So nothing finished is lost, whatever ends this process or that one,
and a run that needs too much memory takes no other along.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Protocol, final

from replication.runs.records import Origin, Plan, Store
from replication.runs.worker import Request, failure

_CHECKOUT: Final = Path(__file__).parents[2]


@final
@dataclass(frozen=True)
class News:
    """What a run says: loading, training (with figures), done or failed."""

    run: str
    state: str
    seconds: float = 0.0
    objective: float | None = None
    nnz: int | None = None


class Listener(Protocol):
    """Whoever is told, from one thread at a time."""

    def __call__(self, news: News) -> None:
        """Take note."""


def make_runs(requests: Sequence[Request], *, jobs: int, listener: Listener) -> None:
    """Make all requested runs, ``jobs`` processes at a time.

    Ctrl-C ends the processes and is raised again; what they had finished stays.
    """
    crew = _Crew(requests, listener)
    threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():  # a join without end would not let Ctrl-C through
                thread.join(timeout=0.2)
    except BaseException:
        crew.stop()
        raise
    if crew.error is not None:
        raise crew.error


@final
class _Crew:
    """Threads that each look after one process at a time."""

    def __init__(self, requests: Sequence[Request], listener: Listener) -> None:
        self._waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        for request in requests:
            self._waiting.put(request)
        self._listener, self._lock = listener, threading.Lock()
        self._running: list[subprocess.Popen[str]] = []
        self._stopped = False
        self.error: BaseException | None = None

    def work(self) -> None:
        """Take requests until none is left."""
        try:
            while not self._stopped:
                self._make(self._waiting.get_nowait())
        except queue.Empty:
            return
        except BaseException as error:  # shown by the main thread
            self.error = error
            self.stop()

    def stop(self) -> None:
        """End all processes."""
        self._stopped = True
        with self._lock:
            running = list(self._running)
        for process in running:
            process.kill()

    def _make(self, request: Request) -> None:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
            process = self._start(request, complaints)
            assert process.stdout is not None
            for line in process.stdout:
                self._pass_on(line)
            code = process.wait()
            with self._lock:
                self._running.remove(process)
            if code != 0 and not self._stopped:
                self._note_failures(request, _reason(code, complaints))

    def _start(self, request: Request, complaints: IO[str]) -> subprocess.Popen[str]:
        with self._lock:
            process = subprocess.Popen(
                [sys.executable, "-m", "replication.runs.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                encoding="utf-8",
                env=_environment(),
                start_new_session=True,  # Ctrl-C is ours to handle
            )
            self._running.append(process)
        assert process.stdin is not None
        with process.stdin as given:
            given.write(request.to_json() + "\n")
        return process

    def _pass_on(self, line: str) -> None:
        try:
            told: dict[str, Any] = json.loads(line)
        except ValueError:
            return  # not ours: a library's own output
        with self._lock:
            self._listener(News(**told))

    def _note_failures(self, request: Request, reason: str) -> None:
        """Keep as failed what the process has left undone."""
        store, origin = Store(Path(request.folder)), Origin(request.spec.identity)
        for plan in request.plans:
            if not _is_kept(store, plan, origin):
                store.save(failure(plan, origin, reason), [])
                with self._lock:
                    self._listener(News(plan.name, "failed"))


def _is_kept(store: Store, plan: Plan, origin: Origin) -> bool:
    kept = store.find(plan.name)
    return kept is not None and kept.plan == plan and kept.origin == origin


def _environment() -> dict[str, str]:
    """Return this one, with NumPy's libraries held to one thread, and this checkout to import."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    places = [str(_CHECKOUT), os.environ.get("PYTHONPATH", "")]
    found = {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    return dict(os.environ) | dict.fromkeys(names, "1") | found


def _reason(code: int, complaints: IO[str]) -> str:
    if code < 0:
        return f"its process was ended by signal {-code}; perhaps the memory was not enough"
    complaints.seek(0)
    said = [line.strip() for line in complaints if line.strip()]
    return said[-1] if said else f"its process ended with code {code}"
