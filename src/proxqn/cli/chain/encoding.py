"""From a file of sequences to numbers, with faults told by file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from proxqn.cli.chain.files import Reading, require_labels
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import TemplateError
from proxqn.io.readers import DataFileError

_PLACE = re.compile(r"sequence (\d+), position (\d+): (.*)", re.DOTALL)

_T = TypeVar("_T")


def encode(
    encoder: SequenceEncoder, reading: Reading, source: str, *, fit: bool
) -> EncodedSequences:
    """Encode a labelled file; with ``fit`` learn its features."""
    records = require_labels(reading.records(source, labelled=True), source)
    encoded = in_file(records, source, reading, encoder.fit_transform if fit else encoder.transform)
    if not len(encoded.lengths):
        raise DataFileError(_shown(source), 0, "expected at least one sequence, got none")
    return encoded


def in_file(
    records: Iterable[SequenceRecord],
    source: str,
    reading: Reading,
    work: Callable[[Iterator[SequenceRecord]], _T],
) -> _T:
    """Do some work on a stream of records; what it refuses is told with file and line."""
    lines: list[int] = []

    def noted() -> Iterator[SequenceRecord]:
        for record in records:
            lines.append(record.line)
            yield record

    try:
        return work(noted())
    except (DataFileError, TemplateError):
        raise
    except (ValueError, TypeError) as error:
        if not lines:
            raise DataFileError(
                _shown(source), 0, "expected at least one sequence, got none"
            ) from None
        raise _located(error, source, reading, lines) from None


def _located(error: Exception, source: str, reading: Reading, lines: list[int]) -> DataFileError:
    place = _PLACE.fullmatch(str(error))
    if place is None:
        return DataFileError(_shown(source), 0, str(error))
    sequence, position = int(place[1]), int(place[2])
    line = lines[sequence] if sequence < len(lines) else 0
    if reading.format == "jsonl":
        return DataFileError(_shown(source), line, f"token {position}: {place[3]}")
    return DataFileError(_shown(source), line + position, place[3])


def _shown(source: str) -> str:
    return "<stdin>" if source == "-" else source
