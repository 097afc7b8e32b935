"""What the runs of an experiment are doing: a live table on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Self, TextIO, final

from replication.runs.methods import METHODS
from replication.runs.processes import News
from replication.runs.records import Plan, Record, Store

_LINE_SECONDS = 10.0  # a pipe gets a line for a run at most this often
_REFRESH_SECONDS = 0.2


@final
class Display:
    """A listener for :func:`~replication.runs.processes.make_runs`.

    Parameters
    ----------
    plans : sequence of Plan
        The runs to come.
    store : Store
        Where they are kept.
    stream : text file, optional
        Standard error by default.
    """

    def __init__(self, plans: Sequence[Plan], store: Store, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._plans, self._store = {plan.name: plan for plan in plans}, store
        self._latest: dict[str, News] = {}
        self._ended: dict[str, Record | None] = {}
        self._said_at: dict[str, float] = {}
        self._began = time.monotonic()
        self._live = _Live.on(self._stream) if self._stream.isatty() else None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.draw(self._table(), always=True)
            self._live.close()

    def __call__(self, news: News) -> None:
        """Show the news."""
        self._latest[news.run] = news
        ended = news.state in ("done", "failed")
        if ended:
            self._ended[news.run] = self._store.find(news.run)
        if self._live is not None:
            self._live.draw(self._table(), always=ended)
        elif ended or time.monotonic() - self._said_at.get(news.run, -math.inf) >= _LINE_SECONDS:
            self._said_at[news.run] = time.monotonic()
            count = f"[{len(self._ended)} of {len(self._plans)}]"
            print(count, "  ".join(self._cells(news.run)), file=self._stream, flush=True)

    def _table(self) -> list[list[str]]:
        """Return the rows to show: runs at work last."""
        minutes = (time.monotonic() - self._began) / 60
        head = [f"{len(self._ended)} of {len(self._plans)} runs, {minutes:.1f} min", "", "", "", ""]
        ended = [self._cells(name) for name in self._ended]
        at_work = [self._cells(name) for name in self._latest if name not in self._ended]
        return [head, *ended[-_visible() :], *at_work]

    def _cells(self, name: str) -> list[str]:
        plan, news = self._plans[name], self._latest[name]
        title = f"{plan.problem} λ={plan.lam:g} {METHODS[plan.method].title}"
        if name in self._ended:
            record = self._ended[name]
            if record is None or record.failed:
                return [title, "failed", record.message if record else "", "", ""]
            return [title, record.outcome, *self._figures(plan, record.seconds, record)]
        if news.objective is None:
            return [title, news.state, "", "", ""]
        return [title, f"{news.state}, of {plan.seconds:g} s", *self._figures(plan, news.seconds)]

    def _figures(self, plan: Plan, seconds: float, record: Record | None = None) -> list[str]:
        news = self._latest[plan.name]
        objective = news.objective if record is None else record.objective
        nonzeros = news.nnz if record is None else record.nonzeros
        return [f"{seconds:.1f} s", f"objective {objective:,.4f}", f"{nonzeros:,} nonzeros"]


def _visible() -> int:
    """Return how many ended runs fit on the screen."""
    import shutil

    return max(shutil.get_terminal_size().lines - 8, 3)


class _Live:
    """A table redrawn in place, with rich."""

    def __init__(self, live: Any, new_table: Callable[..., Any]) -> None:
        self._live, self._new_table = live, new_table
        self._drawn_at = -math.inf

    @classmethod
    def on(cls, stream: TextIO) -> _Live:
        from rich.console import Console
        from rich.live import Live
        from rich.table import Table

        live = Live(console=Console(file=stream, highlight=False), auto_refresh=False)
        live.start()
        return cls(live, Table)

    def draw(self, rows: list[list[str]], *, always: bool) -> None:
        if not always and time.monotonic() - self._drawn_at < _REFRESH_SECONDS:
            return
        from rich.text import Text

        table = self._new_table(box=None, pad_edge=False, show_header=False)
        for row in rows:
            table.add_row(*(Text(cell, overflow="ellipsis", no_wrap=True) for cell in row))
        self._live.update(table, refresh=True)
        self._drawn_at = time.monotonic()

    def close(self) -> None:
        self._live.stop()
