"""Files of sequences on the command line: four formats, one set of options, faults told by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, TypeVar, final

import click

from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import TemplateError
from proxqn.io.container import ModelFileError
from proxqn.io.readers import (
    CONLLU_COLUMNS,
    DataFileError,
    read_columns,
    read_conllu,
    read_crfsuite,
    read_jsonl,
)

FORMATS = ("columns", "conllu", "crfsuite", "jsonl")

_F = TypeVar("_F", bound=Callable[..., Any])


@final
@dataclass(frozen=True)
class Reading:
    """How a file of sequences is read; stored with the model, so that predict reads alike."""

    format: str = "columns"
    separator: str | None = None
    label_column: int = -1
    comment: str | None = None
    label: str = "UPOS"
    encoding: str = "utf-8"

    @property
    def needs_templates(self) -> bool:
        """Whether the file holds columns, of which templates make features."""
        return self.format in ("columns", "conllu")

    def records(self, source: str, *, labelled: bool) -> Iterator[SequenceRecord]:
        """Stream a file; without ``labelled`` a label column is a column like others."""
        match self.format:
            case "columns":
                column = self.label_column if labelled else None
                return read_columns(
                    source,
                    separator=self.separator,
                    label_column=column,
                    comment=self.comment,
                    encoding=self.encoding,
                )
            case "conllu":
                return read_conllu(source, label=self.label if labelled else None)
            case "crfsuite":
                return read_crfsuite(source, encoding=self.encoding)
            case _:
                return read_jsonl(source)

    def to_json(self) -> dict[str, Any]:
        """Return the options, for the model file."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any] | None) -> Self:
        """Return the options a model was trained with; unknown ones are left alone."""
        if not isinstance(stored, dict | None):
            raise _not_readable("no object")
        known = {k: v for k, v in (stored or {}).items() if k in cls.__dataclass_fields__}
        for name, value in known.items():
            optional = getattr(cls, name) is None
            wanted = str if optional else type(getattr(cls, name))
            if type(value) is not wanted and not (optional and value is None):
                raise _not_readable(f"{name} is {value!r:.40}")
        found = cls(**known)
        if (
            found.format not in FORMATS
            or found.label not in CONLLU_COLUMNS
            or found.separator == ""
        ):
            raise _not_readable(f"{found.format!r:.40}, {found.label!r:.40}")
        try:
            _known_encoding(found.encoding)
        except ValueError as error:
            raise _not_readable(str(error)) from None
        return found

    def changed(self, options: dict[str, Any]) -> Reading:
        """Return the reading with the options that were given on the command line."""
        return replace(self, **{k: v for k, v in options.items() if v is not None})


def reading_options(command: _F) -> _F:
    """Add the options of :class:`Reading` to a command; not given means None."""
    options = (
        click.option(
            "--format", "format", type=click.Choice(FORMATS), default=None,
            help="The file's format: columns (CoNLL; the default), CoNLL-U, CRFsuite's attributes, "
            "JSON lines. A model remembers it.",
        ),
        click.option("--separator", default=None, callback=_unescape,
                     help="Between columns; runs of spaces and tabs by default. \\t is a tab."),
        click.option("--label-column", type=int, default=None,
                     help="Column of the label, from 0; -1, the last, by default."),
        click.option("--comment", default=None,
                     help="Lines that begin with this are left out."),
        click.option("--label", type=click.Choice(CONLLU_COLUMNS), default=None,
                     help="CoNLL-U: the column to predict; UPOS by default."),
        click.option("--encoding", default=None, callback=_given_encoding,
                     help="UTF-8 by default."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _not_readable(why: str) -> ModelFileError:
    return ModelFileError(f"how the training file was read cannot be read: {why}.")


def _unescape(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return None if value is None else value.replace("\\t", "\t")


def _given_encoding(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    try:
        return _known_encoding(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _known_encoding(value: str | None) -> str | None:
    try:
        with suppress(UnicodeError):  # a letter of UTF-8 is none in all of them
            b"a".decode(value or "utf-8")
    except (LookupError, ValueError):  # a zero in its name
        raise ValueError(f"no encoding {value!r:.40} is known; utf-8 and latin-1 are") from None
    return value


def require_labels(records: Iterator[SequenceRecord], source: str) -> Iterator[SequenceRecord]:
    """Pass sequences on; refuse one without labels."""
    for record in records:
        if record.labels is None:
            raise DataFileError(source, record.line, "expected labels, but the sequence has none")
        yield record


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
