"""One sequence of a file, as every reader yields it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class SequenceRecord:
    """One sequence of a file.

    Attributes
    ----------
    tokens : list
        Rows of columns (column files, CoNLL-U) or features (attribute files, JSON lines).
    labels : list of str, or None
        One a token, where the file has them.
    line : int
        Line of the first token.
    weight : float
        The sequence's weight.
    label_column : int or None
        Which column of the rows holds the label; templates must not read it.
    """

    tokens: list[Any]
    labels: list[str] | None
    line: int
    weight: float = 1.0
    label_column: int | None = None
