"""What an experiment found, ready to be shown: plain words, tables and curves, no layout.

An experiment returns these; the command line prints them and the report page draws them. Numbers
stand in tables as the text to show, since only the experiment knows how many digits are worth
showing; curves hold numbers.

Examples
--------
>>> table = Table("Two squares", ("n", "n²"), (("2", "4"), ("3", "9")))
>>> curve = Curves("Squares", "n", "n²", log_y=False, series=(Series("n²", (2, 3), (4, 9)),))
>>> section = Section("Squares", ("They grow.",), (table,), (curve,), holds=True)
>>> TheoryReport((section,)).holds
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Table:
    """A caption, a header, and rows as long as the header."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"a row of {self.caption!r} must have {len(self.header)} entries like its "
                    f"header, got {len(row)}: {row}."
                )


@final
@dataclass(frozen=True)
class Series:
    """One line of a figure; x and y are equally long."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(
                f"series {self.label!r} must have as many x as y, got {len(self.x)} and "
                f"{len(self.y)}."
            )


@final
@dataclass(frozen=True)
class Curves:
    """A figure: lines over common axes. With ``log_y`` only values above 0 can be drawn."""

    title: str
    x_label: str
    y_label: str
    log_y: bool
    series: tuple[Series, ...]


@final
@dataclass(frozen=True)
class Section:
    """One question and its answer.

    Attributes
    ----------
    paragraphs : tuple of str
        Plain text, written from the numbers found.
    holds : bool
        Whether the numbers bear out what the paper says; where not, the paragraphs say so.
    """

    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...]
    curves: tuple[Curves, ...]
    holds: bool


@final
@dataclass(frozen=True)
class TheoryReport:
    """The sections of ``python -m replication theory``, in reading order."""

    sections: tuple[Section, ...]

    @property
    def holds(self) -> bool:
        """Whether every section's claim was borne out."""
        return all(section.holds for section in self.sections)
