"""CoNLL-U: the ten tab-separated columns of Universal Dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers.record import DataFileError, Source, numbered_lines, source_name

__all__ = ["CONLLU_COLUMNS", "read_conllu"]

CONLLU_COLUMNS: Final = (
    *("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"),
)
"""The columns, in order: a template's ``%x[0,1]`` is FORM."""

_NOT_A_TOKEN = re.compile(r"\d+[-.]\d+")  # 3-4: a multiword token; 5.1: an empty node
_TOKEN = re.compile(r"\d+")


def read_conllu(source: Source, *, label: str | None = "UPOS") -> Iterator[SequenceRecord]:
    r"""Stream the sentences of a CoNLL-U file.

    Comments, multiword-token lines (``3-4``) and empty nodes (``5.1``) are left out.

    Parameters
    ----------
    source : path, "-" or binary file
    label : str or None, default="UPOS"
        Name of the column to predict, one of `CONLLU_COLUMNS`; None for none.

    Examples
    --------
    >>> import io
    >>> text = "# text = Dogs bark\n1\tDogs\tdog\tNOUN" + "\t_" * 6 + "\n"
    >>> record, = read_conllu(io.BytesIO(text.encode()))
    >>> record.tokens[0][1], record.labels
    ('Dogs', ['NOUN'])
    """
    if label is not None and label not in CONLLU_COLUMNS:
        msg = f"expected label to be one of {', '.join(CONLLU_COLUMNS)} or None, got {label!r}"
        raise ValueError(msg)
    column = None if label is None else CONLLU_COLUMNS.index(label)
    name = source_name(source)
    rows: list[list[str]] = []
    first_line = 0
    for n, line in numbered_lines(source):
        if line.startswith("#"):
            continue
        if line:
            row = _row(name, n, line)
            if row is not None:
                first_line = first_line if rows else n
                rows.append(row)
        elif rows:
            yield _record(rows, column, first_line)
            rows = []
    if rows:
        yield _record(rows, column, first_line)


def _record(rows: list[list[str]], column: int | None, line: int) -> SequenceRecord:
    labels = None if column is None else [row[column] for row in rows]
    return SequenceRecord(rows, labels, line, label_column=column)


def _row(name: str, n: int, line: str) -> list[str] | None:
    """Columns of a line, None if it is not a token of the sentence."""
    row = line.split("\t")
    if len(row) != len(CONLLU_COLUMNS):
        problem = f"expected 10 tab-separated columns, got {len(row)} ({line[:60]!r})"
        raise DataFileError(name, n, problem)
    if _NOT_A_TOKEN.fullmatch(row[0]):
        return None
    if not _TOKEN.fullmatch(row[0]):
        problem = f"expected an ID such as 3, 3-4 or 5.1 in the first column, got {row[0]!r}"
        raise DataFileError(name, n, problem)
    return row
