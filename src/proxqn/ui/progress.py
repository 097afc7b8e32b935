"""Progress of a fit while it runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, TextIO, final

from proxqn.run.trace import Row
from proxqn.ui.time_left import TimeLeft

_REFRESH_SECONDS = 0.1  # a terminal is redrawn at most this often
_LINE_SECONDS = 1.0  # a pipe gets a line at most this often, and at every new epoch
_UNKNOWN = "—"


@final
@dataclass(frozen=True)
class _State:
    """What a line shows."""

    row: Row
    score: float | None = None  # on the dev data
    left: float | None = None  # seconds


def _relative_gap(state: _State) -> str:
    """Say how far the objective may still fall, as a fraction of itself."""
    row = state.row
    if not math.isfinite(row.gap) or row.objective == 0.0:
        return _UNKNOWN
    return f"{row.gap / abs(row.objective):.1e}"


def _score(state: _State) -> str:
    return _UNKNOWN if state.score is None else f"{state.score:.4f}"


def clock(seconds: float | None) -> str:
    """Return a time for people.

    Examples
    --------
    >>> clock(3.14159), clock(59.97), clock(125), clock(3725), clock(400_000), clock(None)
    ('3.1 s', '1:00', '2:05', '1:02:05', '4.6 d', '—')
    """
    if seconds is None:
        return _UNKNOWN
    if round(seconds, 1) < 60.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if whole < 3600:
        return f"{minutes}:{rest:02d}"
    if whole >= 36_000:
        return f"{seconds / 3600:.0f} h" if whole < 360_000 else f"{seconds / 86_400:.1f} d"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


_Column = tuple[str, int, Callable[[_State], str]]


def _columns(score_name: str | None, *, left: bool) -> tuple[_Column, ...]:
    """Return name, width and content of each column: 80 characters in all, at most."""
    time_left: tuple[_Column, ...] = (("left", 7, lambda state: clock(state.left)),)
    score: tuple[_Column, ...] = () if score_name is None else ((score_name, 7, _score),)
    return (
        ("iteration", 9, lambda state: f"{state.row.iteration:,}"),
        ("objective", 14, lambda state: f"{state.row.objective:,.4f}"),
        ("rel. gap", 8, _relative_gap),
        ("nonzeros", 9, lambda state: f"{state.row.nnz:,}"),
        ("working set", 11, lambda state: f"{state.row.working_set:,}"),
        *score,
        ("elapsed", 7, lambda state: clock(state.row.seconds)),
        *(time_left if left else ()),
    )


@final
class Progress:
    """A callback for ``minimize`` that shows how far the run is.

    On a terminal one table is kept up to date (with rich, where it is installed): a line for the
    beginning of every epoch and one for the present state. The gap is known once an epoch has
    looked at all variables; where it is to end the run, the time left is estimated from its fall.
    Elsewhere lines are written, each time an epoch begins and about once a second.

    Parameters
    ----------
    stream : text file, optional
        Where to write; the standard error stream by default, so that output can be piped.
    every_iteration : bool
        Write a line for each iteration instead, also on a terminal.
    tol : float
        The relative gap that ends the run, for the time left.
    stop : {"estimate", "gap"}
        What ends it, as for ``minimize``. An estimated error comes too late to foretell the end
        from, and the gap's fall foretells another one: the time left is shown with "gap" alone.
    score_name : str, optional
        Head of a column for scores of the iterates, which are given to :meth:`note`.

    Examples
    --------
    >>> import numpy as np, sys
    >>> from proxqn import minimize
    >>> def loss(w):
    ...     return float(((w - 3) ** 2).sum()), 2 * (w - 3)
    >>> with Progress(sys.stdout) as progress:
    ...     result = minimize(loss, lam=1.0, x0=np.zeros(2), callback=progress)
    ...     progress.finish(result)
    iteration      objective rel. gap ...
    ...
    converged: ...
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        every_iteration: bool = False,
        tol: float = 1e-4,
        stop: Literal["estimate", "gap"] = "estimate",
        score_name: str | None = None,
    ) -> None:
        stream = sys.stderr if stream is None else stream
        columns = _columns(score_name, left=stop == "gap")
        table = None if every_iteration or not stream.isatty() else _LiveTable.on(stream, columns)
        self._display: _LiveTable | _Lines = table or _Lines(stream, columns, every_iteration)
        self._time_left = TimeLeft(tol)
        self._last_score: float | None = None

    def __enter__(self) -> Self:
        """Begin; nothing is shown before the first iteration."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was, also after an error."""
        self._display.close()

    def note(self, score: float) -> None:
        """Take note of the present iterate's score; it is shown until the next one comes."""
        self._last_score = score

    def __call__(self, row: Row) -> None:
        """Take note of an iteration."""
        if not math.isnan(row.score):
            self.note(row.score)
        self._display.show(_State(row, self._last_score, self._time_left(row)))

    def finish(self, result: Any) -> None:
        """Show the last state and why the run ended."""
        last = None
        if len(result.trace):
            last = _State(result.trace[-1], self._last_score, self._time_left(result.trace[-1]))
        self._display.end(last, result.message)


def _header(columns: tuple[_Column, ...]) -> str:
    return " ".join(f"{name:>{width}}" for name, width, _ in columns)


def _line(columns: tuple[_Column, ...], state: _State) -> str:
    return " ".join(f"{text(state):>{width}}" for _, width, text in columns)


class _Lines:
    """Plain lines of fixed width."""

    def __init__(self, stream: TextIO, columns: tuple[_Column, ...], every_iteration: bool) -> None:
        self._stream, self._columns = stream, columns
        self._every_iteration = every_iteration
        self._shown: _State | None = None
        self._shown_at = -math.inf

    def show(self, state: _State) -> None:
        now = time.monotonic()
        new_epoch = self._shown is not None and state.row.epoch != self._shown.row.epoch
        if self._every_iteration or new_epoch or now - self._shown_at >= _LINE_SECONDS:
            self._write(state)
            self._shown_at = now

    def end(self, state: _State | None, message: str) -> None:
        # The last row is shown again if the closing sweep has found a better gap for it.
        if state is not None and (self._shown is None or state.row != self._shown.row):
            self._write(state)
        print(message, file=self._stream, flush=True)

    def close(self) -> None:
        self._stream.flush()

    def _write(self, state: _State) -> None:
        if self._shown is None:
            print(_header(self._columns), file=self._stream)
        print(_line(self._columns, state), file=self._stream, flush=True)
        self._shown = state


class _LiveTable:
    """The same lines on a terminal: one for each epoch, one redrawn in place."""

    def __init__(
        self, live: Any, new_text: Callable[..., Any], columns: tuple[_Column, ...]
    ) -> None:
        self._live, self._new_text, self._columns = live, new_text, columns
        self._epochs: list[_State] = []  # where every epoch looked at all variables
        self._now: _State | None = None
        self._drawn_at = -math.inf

    @classmethod
    def on(cls, stream: TextIO, columns: tuple[_Column, ...]) -> _LiveTable | None:
        """Return a table on this terminal, or None where rich is not installed."""
        try:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text
        except ImportError:
            return None
        return cls(Live(console=Console(file=stream), auto_refresh=False), Text, columns)

    def show(self, state: _State) -> None:
        if self._now is None:
            self._live.start()
        if self._now is None or state.row.epoch != self._now.row.epoch:
            self._epochs.append(state)
        self._now = state
        if time.monotonic() - self._drawn_at >= _REFRESH_SECONDS:
            self._draw()

    def end(self, state: _State | None, message: str) -> None:
        self._now = state or self._now
        if self._now is not None:
            self._live.vertical_overflow = "visible"  # what has scrolled away may be looked at now
            self._draw(everything=True)
        self.close()
        self._live.console.print(message, highlight=False)

    def close(self) -> None:
        if self._live.is_started:
            self._live.stop()

    def _draw(self, *, everything: bool = False) -> None:
        text = self._new_text(no_wrap=True, overflow="crop")
        text.append(_header(self._columns), style="bold")
        room = max(self._live.console.height - 3, 0)  # header, present state, the cursor's line
        hidden = 0 if everything else max(len(self._epochs) - room, 0)
        for state in self._epochs[hidden:]:
            text.append("\n" + _line(self._columns, state), style="dim")
        if self._now is not None and self._now.row != self._epochs[-1].row:
            text.append("\n" + _line(self._columns, self._now))
        self._live.update(text, refresh=True)
        self._drawn_at = time.monotonic()
