"""CoNLL-2000 in the forms of NLTK's corpora."""

from __future__ import annotations

from benchmarks.data import data_file

from proxqn.io.readers import read_columns


def chunked(part: str) -> list[list[tuple[str, ...]]]:
    """Return sentences of (word, part of speech, chunk)."""
    records = read_columns(data_file("conll2000", f"{part}.txt"))
    return [[tuple(row) for row in record.tokens] for record in records]


def tagged(part: str, n: int | None) -> list[list[tuple[str, str]]]:
    """Return the first sentences as (word, part of speech)."""
    return [[(row[0], row[1]) for row in sentence] for sentence in chunked(part)[:n]]
