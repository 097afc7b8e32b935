"""Progress of a fit while it runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self, TextIO, final

from proxqn.solvers.trace import Row

_REFRESH_SECONDS = 0.1  # a terminal is redrawn at most this often
_LINE_SECONDS = 1.0  # a pipe gets a line at most this often, and at every new epoch


def _step(row: Row) -> str:
    return "" if math.isnan(row.step) else f"{row.step:.3g}"


def _relative_gap(row: Row) -> str:
    """Say how far the objective may still fall, as a fraction of itself."""
    if not math.isfinite(row.gap) or row.objective == 0.0:
        return "?"
    return f"{row.gap / abs(row.objective):.1e}"


_COLUMNS: tuple[tuple[str, int, Callable[[Row], str]], ...] = (
    ("iteration", 9, lambda row: f"{row.iteration:,}"),
    ("objective", 15, lambda row: f"{row.objective:,.4f}"),
    ("relative gap", 12, _relative_gap),
    ("nonzeros", 10, lambda row: f"{row.nnz:,}"),
    ("working set", 11, lambda row: f"{row.working_set:,}"),
    ("step", 6, _step),
    ("seconds", 8, lambda row: f"{row.seconds:.2f}"),
)


@final
class Progress:
    """A callback for ``minimize`` that shows how far the run is.

    On a terminal one table is kept up to date (with rich, where it is installed): a line for every
    finished epoch and one for the present state. The gap is known once an epoch has looked at all
    variables. Elsewhere lines are written, each time an epoch begins and about once a second.

    Parameters
    ----------
    stream : text file, optional
        Where to write; the standard error stream by default, so that output can be piped.
    every_iteration : bool
        Write a line for each iteration instead, also on a terminal.

    Examples
    --------
    >>> import numpy as np, sys
    >>> from proxqn import minimize
    >>> def loss(w):
    ...     return float(((w - 3) ** 2).sum()), 2 * (w - 3)
    >>> with Progress(sys.stdout) as progress:
    ...     result = minimize(loss, lam=1.0, x0=np.zeros(2), callback=progress)
    ...     progress.finish(result)
    iteration       objective relative gap ...
    ...
    converged: ...
    """

    def __init__(self, stream: TextIO | None = None, *, every_iteration: bool = False) -> None:
        stream = sys.stderr if stream is None else stream
        table = None if every_iteration or not stream.isatty() else _LiveTable.on(stream)
        self._display: _LiveTable | _Lines = table or _Lines(stream, every_iteration)

    def __enter__(self) -> Self:
        """Begin; nothing is shown before the first iteration."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was, also after an error."""
        self._display.close()

    def __call__(self, row: Row) -> None:
        """Take note of an iteration."""
        self._display.show(row)

    def finish(self, result: Any) -> None:
        """Show the last state and why the run ended."""
        last = result.trace[-1] if len(result.trace) else None
        self._display.end(last, result.message)


def _header() -> str:
    return " ".join(f"{name:>{width}}" for name, width, _ in _COLUMNS)


def _line(row: Row) -> str:
    return " ".join(f"{text(row):>{width}}" for _, width, text in _COLUMNS)


class _Lines:
    """Plain lines of fixed width."""

    def __init__(self, stream: TextIO, every_iteration: bool) -> None:
        self._stream = stream
        self._every_iteration = every_iteration
        self._shown: Row | None = None
        self._shown_at = -math.inf

    def show(self, row: Row) -> None:
        now = time.monotonic()
        new_epoch = self._shown is not None and row.epoch != self._shown.epoch
        if self._every_iteration or new_epoch or now - self._shown_at >= _LINE_SECONDS:
            self._write(row)
            self._shown_at = now

    def end(self, row: Row | None, message: str) -> None:
        # The last row is shown again if the closing sweep has found a better gap for it.
        if row is not None and row != self._shown:
            self._write(row)
        print(message, file=self._stream, flush=True)

    def close(self) -> None:
        self._stream.flush()

    def _write(self, row: Row) -> None:
        if self._shown is None:
            print(_header(), file=self._stream)
        print(_line(row), file=self._stream, flush=True)
        self._shown = row


class _LiveTable:
    """The same lines on a terminal: one for each finished epoch, one redrawn in place."""

    def __init__(self, live: Any, new_text: Callable[..., Any]) -> None:
        self._live, self._new_text = live, new_text
        self._epochs: list[Row] = []  # the last row of every finished epoch
        self._now: Row | None = None
        self._drawn_at = -math.inf

    @classmethod
    def on(cls, stream: TextIO) -> _LiveTable | None:
        """Return a table on this terminal, or None where rich is not installed."""
        try:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text
        except ImportError:
            return None
        return cls(Live(console=Console(file=stream), auto_refresh=False), Text)

    def show(self, row: Row) -> None:
        if self._now is None:
            self._live.start()
        elif row.epoch != self._now.epoch:
            # The sweep between the two rows has proved a bound, which holds for both.
            bound = row.objective - row.gap
            self._epochs.append(replace(self._now, gap=self._now.objective - bound))
        self._now = row
        if time.monotonic() - self._drawn_at >= _REFRESH_SECONDS:
            self._draw()

    def end(self, row: Row | None, message: str) -> None:
        self._now = row or self._now
        if self._now is not None:
            self._draw()
        self.close()
        self._live.console.print(message, highlight=False)

    def close(self) -> None:
        if self._live.is_started:
            self._live.stop()

    def _draw(self) -> None:
        text = self._new_text(no_wrap=True, overflow="crop")
        text.append(_header() + "\n", style="bold")
        for row in self._epochs:
            text.append(_line(row) + "\n", style="dim")
        if self._now is not None:
            text.append(_line(self._now))
        self._live.update(text, refresh=True)
        self._drawn_at = time.monotonic()
