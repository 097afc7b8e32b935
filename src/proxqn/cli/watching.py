"""A fit that can be watched and stopped: progress, JSON lines, SIGINT and SIGTERM."""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from types import FrameType, SimpleNamespace
from typing import Any, Literal, final

import click

from proxqn.cli.kind import Dev
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.run.trace import Row


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
        # Not click.echo: a live table puts itself between print and the terminal.
        message = "proxqn: stopping after this iteration; again to stop at once."
        with suppress(RuntimeError):  # in the midst of another line, which may not be broken
            print(message, file=sys.stderr, flush=True)


@final
class Watch(ModelWatcher):
    """Shows the iterates of a fit, scores the first of every epoch, and ends when asked to.

    Parameters
    ----------
    show : callable
        Takes each row; ``show.note(score)`` comes before the row that was scored.
    stop : Stop
        Who asks for an end.
    dev : Dev, optional
        What to score on, off the clock.
    """

    def __init__(self, show: Any, stop: Stop, dev: Dev | None) -> None:
        self._show, self._stop, self._dev = show, stop, dev
        self._epoch = -1

    def look(self, row: Row, model: Callable[[], Any]) -> None:
        """Score the model at the beginning of an epoch."""
        self._stop.be_patient()
        if self._dev is None or row.epoch == self._epoch or self._stop.requested:
            return
        self._epoch = row.epoch
        self._show.note(self._dev.scores(model()).headline)

    def __call__(self, row: Row) -> bool:
        """Show the row; True once an end is asked for."""
        self._stop.be_patient()
        self._show(row)
        return self._stop.requested

    def finish(self, result: Any) -> None:
        """Show the last row and why the fit ended."""
        message = "interrupted" if self._stop.requested else result.status.value
        self._show.finish(SimpleNamespace(trace=result.trace, message=message))


@contextmanager
def watching(
    display: Display,
    stop: Stop,
    dev: Dev | None,
    tol: float,
    stop_by: Literal["estimate", "gap"],
    *,
    scored: bool = False,
) -> Iterator[Watch]:
    """Show a fit as it goes; give :meth:`Watch.finish` its result.

    Parameters
    ----------
    scored : bool
        The rows come with scores on the development set.
    """
    to_score = None if scored else dev
    match display:
        case Display.PROGRESS:
            from proxqn.ui.progress import Progress

            name = None if dev is None else dev.name
            with Progress(sys.stderr, tol=tol, stop=stop_by, score_name=name) as show:
                yield Watch(show, stop, to_score)
        case Display.JSON:
            yield Watch(_JsonLines(), stop, to_score)
        case Display.QUIET:
            yield Watch(_Nothing(), stop, None)


@final
class _JsonLines:
    """Writes an object an iteration; the score stands where it was computed."""

    _NAMES = ("iteration", "epoch", "objective", "gap", "kkt", "nnz", "working_set", "seconds")

    def __init__(self) -> None:
        self._new_score: float | None = None

    def note(self, score: float) -> None:
        self._new_score = score

    def __call__(self, row: Row) -> None:
        values = {name: getattr(row, name) for name in self._NAMES}
        score = plain(row.score) if self._new_score is None else self._new_score
        Display.JSON.tell("iteration", **values, dev=score)
        self._new_score = None

    def finish(self, result: Any) -> None:
        pass


@final
class _Nothing:
    def note(self, score: float) -> None:
        pass

    def finish(self, result: Any) -> None:
        pass

    def __call__(self, row: Row) -> None:
        pass
