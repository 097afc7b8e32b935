"""Column files as Wapiti and CRF++ read them: bytes, cut at their own blanks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, final

from proxqn.features.byte_text import text_of
from proxqn.io.readers import DataFileError
from proxqn.io.readers.record import LONGEST

BATCH: Final = 1000  # sequences worked on at once


@final
@dataclass(frozen=True)
class RawSequence:
    """Lines of a file that belong together."""

    source: str
    line: int  # number of the first
    lines: list[bytes]  # without their ends
    rows: list[list[bytes]]

    def features(self, n_columns: int | None) -> list[list[str]]:
        """Return the columns that templates read, or all; refuse a row with fewer."""
        if n_columns is None:
            return [[text_of(cell) for cell in row] for row in self.rows]
        for i, row in enumerate(self.rows):
            if len(row) < n_columns:
                problem = f"expected {n_columns} columns at least, got {len(row)}"
                raise DataFileError(self.source, self.line + i, problem)
        return [[text_of(cell) for cell in row[: max(1, n_columns)]] for row in self.rows]

    def split_labels(self) -> tuple[RawSequence, list[str]]:
        """Take the last column off."""
        for i, row in enumerate(self.rows):
            if len(row) < 2:
                problem = f"expected columns and a label behind them, got {len(row)}"
                raise DataFileError(self.source, self.line + i, problem)
        rest = [row[:-1] for row in self.rows]
        labels = [text_of(row[-1]) for row in self.rows]
        return RawSequence(self.source, self.line, self.lines, rest), labels


def wapiti_sequences(source: str | None) -> Iterator[RawSequence]:
    """Read as Wapiti does: any blanks between columns, lines of blanks between sequences."""
    return _sequences(source, bytes.split, lambda line: not line.strip())


def crfpp_sequences(source: str | None) -> Iterator[RawSequence]:
    """Read as CRF++ does: spaces and tabs between columns; a line that begins with one ends."""
    return _sequences(source, _split, lambda line: line[:1] in (b"", b" ", b"\t"))


def _split(line: bytes) -> list[bytes]:
    return [cell for cell in line.replace(b"\t", b" ").split(b" ") if cell]


def _sequences(
    source: str | None, split: Callable[[bytes], list[bytes]], ends: Callable[[bytes], bool]
) -> Iterator[RawSequence]:
    name = "<stdin>" if source in (None, "-") else str(source)
    lines: list[bytes] = []
    opened = nullcontext(sys.stdin.buffer) if name == "<stdin>" else open(name, "rb")  # noqa: SIM115
    with opened as file:
        n = 0
        for n, ended in enumerate(iter(partial(file.readline, LONGEST + 1), b""), 1):
            if len(ended) > LONGEST:
                raise DataFileError(name, n, f"expected a line of at most {LONGEST:,} bytes")
            line = ended.removesuffix(b"\n")
            if not ends(line):
                lines.append(line)
            elif lines:
                yield RawSequence(name, n - len(lines), lines, list(map(split, lines)))
                lines = []
        if lines:
            yield RawSequence(name, n - len(lines) + 1, lines, list(map(split, lines)))


def batches(sequences: Iterable[RawSequence]) -> Iterator[list[RawSequence]]:
    """Cut a stream, so that memory does not grow with the file."""
    stream = iter(sequences)
    while some := list(islice(stream, BATCH)):
        yield some
