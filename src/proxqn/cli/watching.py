"""A fit that can be watched and stopped: progress, JSON lines, SIGINT and SIGTERM."""

from __future__ import annotations

import json
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum
from types import FrameType, SimpleNamespace
from typing import Any, Protocol, final

import click
from sklearn.exceptions import ConvergenceWarning

from proxqn.estimators.fitting import ModelWatcher
from proxqn.minimization import Solver
from proxqn.problem import Oracle, Penalty, SparseVector
from proxqn.run.trace import Row
from proxqn.solvers.recording import Callback, Iterate, Solution, Watcher


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
        print(message, file=sys.stderr, flush=True)


class Dev(Protocol):
    """Data to score the iterates on."""

    name: str

    def scores(self, model: Any) -> Any:
        """Return scores with a ``headline``, a number."""


@final
class Watched(ModelWatcher):
    """A solver whose iterations are shown, and that ends when asked to.

    Parameters
    ----------
    settings : Solver
        The solver.
    display : Display
        What is shown.
    stop : Stop
        Who asks for an end.
    dev : Dev, optional
        Scored at the first iterate of every epoch, off the clock.
    """

    def __init__(
        self, settings: Solver, display: Display, stop: Stop, dev: Dev | None = None
    ) -> None:
        self._settings, self._display, self._stop, self._dev = settings, display, stop, dev
        self._model_at: Callable[[SparseVector], Any] | None = None

    def watch(self, model_at: Callable[[SparseVector], Any]) -> None:
        """Take what makes a model of weights."""
        self._model_at = model_at

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
        with self._shown(tol) as show:
            watch = _Watch(show, self._stop, self._score)
            self._stop.be_patient()
            solution = self._settings.minimize(
                oracle, penalty, start, tol=tol, max_iter=max_iter, callback=watch
            )
            if self._display is Display.PROGRESS:
                message = "interrupted" if self._stop.requested else solution.status.value
                show.finish(SimpleNamespace(trace=solution.trace, message=message))
        return solution

    def _score(self, weights: SparseVector) -> float | None:
        if self._dev is None or self._model_at is None or self._display is Display.QUIET:
            return None
        score: float = self._dev.scores(self._model_at(weights)).headline
        return score

    def _shown(self, tol: float) -> Any:
        match self._display:
            case Display.PROGRESS:
                from proxqn.ui.progress import Progress

                name = None if self._dev is None else self._dev.name
                return Progress(sys.stderr, tol=tol, score_name=name)
            case Display.JSON:
                return nullcontext(_JsonLines())
            case Display.QUIET:
                return nullcontext(_Nothing())


@final
class _Watch(Watcher):
    """Scores the first iterate of every epoch and shows them all."""

    def __init__(
        self, show: Any, stop: Stop, score: Callable[[SparseVector], float | None]
    ) -> None:
        self._show, self._stop, self._score = show, stop, score
        self._epoch = -1

    def see(self, iterate: Iterate) -> None:
        if iterate.row.epoch == self._epoch or self._stop.requested:
            return
        self._epoch = iterate.row.epoch
        score = self._score(iterate.weights)
        if score is not None:
            self._show.note(score)

    def __call__(self, row: Row) -> bool:
        self._show(row)
        return self._stop.requested


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
        Display.JSON.tell("iteration", **values, dev=self._new_score)
        self._new_score = None


@final
class _Nothing:
    def note(self, score: float) -> None:
        pass

    def __call__(self, row: Row) -> None:
        pass


def fit(model: Any, *data: Any, **more: Any) -> None:
    """Fit without the warning for a fit that ended early: the command says so itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*data, **more)
