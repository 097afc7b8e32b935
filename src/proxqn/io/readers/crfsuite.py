r"""CRFsuite's attribute files: ``label<TAB>attribute[:value]…``, an empty line between sequences.

A colon in a name is written ``\:`` and a backslash ``\\``.  A line ``@weight:2`` before a
sequence's first token gives the sequence a weight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proxqn.features.items import expand_item
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers.record import DataFileError, Source, finite, numbered_lines, source_name

__all__ = ["read_crfsuite", "write_crfsuite"]

_PARTS = re.compile(r"((?:[^:\\]|\\.?)*)(?::(.*))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def read_crfsuite(source: Source, *, encoding: str = "utf-8") -> Iterator[SequenceRecord]:
    r"""Stream the sequences of a CRFsuite attribute file.

    Examples
    --------
    >>> import io
    >>> record, = read_crfsuite(io.BytesIO(b"B-NP\tw=the\tlen:3\nI-NP\tw=\\:\\\\\n"))
    >>> record.labels, record.tokens
    (['B-NP', 'I-NP'], [{'w=the': 1.0, 'len': 3.0}, {'w=:\\': 1.0}])
    """
    name = source_name(source)
    record = SequenceRecord([], [], 0)
    for n, line in numbered_lines(source, encoding):
        if not line:
            if record.tokens:
                yield record
            record = SequenceRecord([], [], 0)
            continue
        label, *fields = line.split("\t")
        if label.startswith("@weight:") and not record.tokens:
            record.weight = _value(label.removeprefix("@weight:"), label, name, n)
            continue
        if not label:
            raise DataFileError(name, n, "expected a label before the first tab, got nothing")
        assert record.labels is not None
        record.line = record.line or n
        record.labels.append(_unescape(label))
        record.tokens.append(_attributes(fields, name, n))
    if record.tokens:
        yield record


def _attributes(fields: Iterable[str], name: str, n: int) -> dict[str, float]:
    item: dict[str, float] = {}
    for text in fields:
        if not text:
            continue  # a tab at the end of the line
        parts = _PARTS.fullmatch(text)
        attribute, number = parts.groups() if parts else (text, None)
        value = 1.0 if number is None else _value(number, text, name, n)
        attribute = _unescape(attribute)
        item[attribute] = item.get(attribute, 0.0) + value  # CRFsuite adds repeated ones up
    return item


def _value(number: str, text: str, name: str, n: int) -> float:
    try:
        return finite(number)
    except ValueError:
        problem = (
            f"expected a finite number after the colon of {text!r:.60}, got {number!r:.60}; "
            "write \\: for a colon that belongs to the name"
        )
        raise DataFileError(name, n, problem) from None


def _unescape(text: str) -> str:
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def write_crfsuite(records: Iterable[SequenceRecord]) -> Iterator[str]:
    r"""Lines of a CRFsuite attribute file, with their ends.

    Examples
    --------
    >>> list(write_crfsuite([SequenceRecord([{"a:b": 2.0, "w": "x"}], ["O"], 1)]))
    ['O\ta\\:b:2.0\tw\\:x\n', '\n']
    """
    for record in records:
        if record.weight != 1.0:
            yield f"@weight:{record.weight!r}\n"
        labels = record.labels or ["O"] * len(record.tokens)
        for label, item in zip(labels, record.tokens, strict=True):
            fields = [_escape(label)]
            for attribute, value in expand_item(item):
                fields.append(_escape(attribute) + ("" if value == 1.0 else f":{value!r}"))
            yield "\t".join(fields) + "\n"
        yield "\n"


def _escape(text: str) -> str:
    if "\t" in text or "\n" in text:
        msg = f"expected a name without tabs and line ends, which this format lacks, got {text!r}"
        raise ValueError(msg)
    return text.replace("\\", "\\\\").replace(":", "\\:")
