"""Column files: one token a line, an empty line between sequences (CoNLL-2000, CoNLL-2003)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers.record import DataFileError, Source, numbered_lines, source_name

__all__ = ["read_columns"]

_BLANKS = re.compile("[ \t]+")


def read_columns(
    source: Source,
    *,
    separator: str | None = None,
    label_column: int | None = -1,
    comment: str | None = None,
    document_mark: str | None = "-DOCSTART-",
    encoding: str = "utf-8",
) -> Iterator[SequenceRecord]:
    r"""Stream the sequences of a column file.

    Parameters
    ----------
    source : path, "-" or binary file
    separator : str, optional
        What stands between columns; runs of spaces and tabs by default.
    label_column : int or None, default=-1
        Column of the label, the last by default; None if there is none.
    comment : str, optional
        Lines that start with this are left out.  None by default: in CoNLL-2000 ``#`` is a word.
    document_mark : str or None, default="-DOCSTART-"
        A line whose first column is this is left out, and ends a sequence.
    encoding : str, default="utf-8"

    Yields
    ------
    SequenceRecord
        Its tokens are rows of all columns, the label's included, so that numbers stay as they
        are in the file.

    Raises
    ------
    DataFileError
        With file and line, where a line has another number of columns than the first.

    Examples
    --------
    >>> import io
    >>> record, = read_columns(io.BytesIO(b"the DT B-NP\ndog NN I-NP\n"))
    >>> record.tokens[1], record.labels
    (['dog', 'NN', 'I-NP'], ['B-NP', 'I-NP'])
    """
    name = source_name(source)
    split = _splitter(separator)
    shape: _Shape | None = None
    rows: list[list[str]] = []
    first_line = 0
    for n, line in numbered_lines(source, encoding):
        if comment is not None and line.startswith(comment):
            continue
        row = split(line) if line.strip(" \t") else []
        if row and row[0] != document_mark:
            if shape is None:
                shape = _Shape(name, n, len(row), label_column)
            if len(row) != shape.n_columns:
                shape.refuse(n, line, len(row))
            first_line = first_line if rows else n
            rows.append(row)
        elif rows and shape is not None:
            yield _record(rows, shape.label_column, first_line)
            rows = []
    if rows and shape is not None:
        yield _record(rows, shape.label_column, first_line)


def _record(rows: list[list[str]], label_column: int | None, line: int) -> SequenceRecord:
    labels = None if label_column is None else [row[label_column] for row in rows]
    return SequenceRecord(rows, labels, line, label_column=label_column)


class _Shape:
    """How many columns the first line has, and which holds the label."""

    def __init__(self, name: str, line: int, n_columns: int, label_column: int | None) -> None:
        self.name, self.line, self.n_columns = name, line, n_columns
        if label_column is not None and not -n_columns <= label_column < n_columns:
            problem = f"expected a label in column {label_column}, but there are {n_columns}"
            raise DataFileError(name, line, problem)
        self.label_column = None if label_column is None else label_column % n_columns

    def refuse(self, line: int, text: str, n_columns: int) -> None:
        problem = (
            f"expected {self.n_columns} columns as in line {self.line}, got {n_columns} "
            f"({text[:60]!r})"
        )
        raise DataFileError(self.name, line, problem)


def _splitter(separator: str | None) -> Callable[[str], list[str]]:
    if separator is not None:
        return lambda line: line.split(separator)

    def split(line: str) -> list[str]:
        # str.split is quicker but also takes a no-break space for a separator.
        return line.split() if line.isascii() else _BLANKS.split(line.strip(" \t"))

    return split
