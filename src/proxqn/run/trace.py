"""The record of a run: one row per iteration, as data."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, final

import numpy as np

from proxqn.problem.sparse import Floats
from proxqn.replacing import write_atomically

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Row:
    """The state after an iteration; calls (passes over all data) and seconds are totals."""

    iteration: int
    epoch: int
    objective: float
    gap: float  # objective minus the best lower bound known; inf before the first
    kkt: float  # largest subgradient entry over the variables looked at
    certified: bool  # whether all variables were looked at here
    nnz: int
    working_set: int
    step: float
    trials: int
    inner_passes: float
    seconds: float
    calls: dict[str, float] = field(default_factory=dict)
    phase_seconds: dict[str, float] = field(default_factory=dict)
    estimate: float = math.inf  # objective minus the optimum that a model tells; inf where not made
    score: float = math.nan  # on data set aside, where a watcher has scored this iterate
    event: str = ""  # what went wrong and how it was handled, in words

    def flat(self) -> dict[str, Any]:
        """Return the row under flat names, such as ``n_forward`` and ``s_forward``."""
        row = asdict(self)
        row |= {f"n_{name}": count for name, count in row.pop("calls").items()}
        row |= {f"s_{name}": seconds for name, seconds in row.pop("phase_seconds").items()}
        return row


@final
class Trace:
    """Rows of a run; indexable, iterable, and convertible.

    Examples
    --------
    >>> trace = Trace()
    >>> len(trace)
    0
    """

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __getitem__(self, index: int) -> Row:
        return self._rows[index]

    def append(self, row: Row) -> None:
        """Add a row."""
        self._rows.append(row)

    def amend(self, row: Row) -> None:
        """Replace the last row."""
        self._rows[-1] = row

    def column(self, name: str) -> Floats:
        """Return one column, such as ``"objective"`` or ``"n_forward"``, as an array."""
        return np.array([row.flat()[name] for row in self._rows], dtype=float)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one row per iteration (needs pandas)."""
        import pandas as pd

        return pd.DataFrame([row.flat() for row in self._rows])

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the trace as a CSV file; what was there is replaced when all of it is written."""
        names = [f.name for f in fields(Row) if f.name not in ("calls", "phase_seconds")]
        rows = [row.flat() for row in self._rows]
        # A phase that begins later is in later rows alone; before, its seconds are 0.
        names = list(dict.fromkeys(name for row in rows for name in row)) if rows else names
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, names, restval=0.0)
        writer.writeheader()
        writer.writerows(rows)
        write_atomically(text.getvalue().encode(), path)
