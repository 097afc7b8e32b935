"""A fit that can be watched and stopped: progress, JSON lines, SIGINT and SIGTERM."""

from __future__ import annotations

import json
import math
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum
from types import FrameType, SimpleNamespace
from typing import Any, final

import click
from sklearn.exceptions import ConvergenceWarning

from proxqn.minimization import Solver
from proxqn.problem import Oracle, Penalty, SparseVector
from proxqn.solvers.recording import Callback, Solution
from proxqn.solvers.trace import Row


class Display(Enum):
    """What a training run shows."""

    PROGRESS = "progress"  # a table on a terminal, lines elsewhere; on standard error
    JSON = "json"  # an object a line, on standard output
    QUIET = "quiet"

    @classmethod
    def chosen(cls, *, quiet: bool, as_json: bool) -> Display:
        """Return what the options ask for."""
        if quiet and as_json:
            raise click.UsageError("--quiet and --json exclude each other.")
        return cls.JSON if as_json else cls.QUIET if quiet else cls.PROGRESS

    def say(self, text: str) -> None:
        """Write a sentence for people."""
        if self is Display.PROGRESS:
            click.echo(text, err=True)

    def tell(self, event: str, **values: Any) -> None:
        """Write an object for programs."""
        if self is Display.JSON:
            found = {"event": event} | {k: plain(v) for k, v in values.items()}
            print(json.dumps(found), flush=True)


def plain(value: Any) -> Any:
    """Return a value for JSON, which has no infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@final
class Stop:
    """Turns SIGINT and SIGTERM into a request, which a fit obeys after its iteration.

    Before the fit, and at a second signal, they interrupt at once.
    """

    def __init__(self) -> None:
        self.requested = False
        self._patient = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals inside."""
        old = {s: signal.signal(s, self._heard) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def be_patient(self) -> None:
        """From now on the first signal only makes a request."""
        self._patient = True

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.requested or not self._patient:
            raise KeyboardInterrupt
        self.requested = True
        click.echo("proxqn: stopping after this iteration; again to stop at once.", err=True)


@final
@dataclass(frozen=True)
class Watched:
    """A solver whose iterations are shown, and that ends when asked to."""

    settings: Solver
    display: Display
    stop: Stop

    def minimize(
        self,
        oracle: Oracle,
        penalty: Penalty,
        start: SparseVector,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Minimise as the solver inside does."""
        with self._shown() as show:

            def watch(row: Row) -> bool:
                if show is not None:
                    show(row)
                return self.stop.requested

            self.stop.be_patient()
            solution = self.settings.minimize(
                oracle, penalty, start, tol=tol, max_iter=max_iter, callback=watch
            )
            if self.display is Display.PROGRESS and show is not None:
                message = solution.status.value
                show.finish(SimpleNamespace(trace=solution.trace, message=message))
        return solution

    def _shown(self) -> Any:
        match self.display:
            case Display.PROGRESS:
                from proxqn.solvers.progress import Progress

                return Progress(sys.stderr)
            case Display.JSON:
                return nullcontext(_json_line)
            case Display.QUIET:
                return nullcontext(None)


def _json_line(row: Row) -> None:
    names = ("iteration", "epoch", "objective", "gap", "kkt", "nnz", "working_set", "seconds")
    Display.JSON.tell("iteration", **{name: getattr(row, name) for name in names})


def fit(model: Any, *data: Any, **more: Any) -> None:
    """Fit without the warning for a fit that ended early: the command says so itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data, **more)
