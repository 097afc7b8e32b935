"""JSON lines: one sequence a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers.record import DataFileError, Source, numbered_lines, source_name

__all__ = ["read_jsonl"]


def read_jsonl(
    source: Source, *, tokens: str = "tokens", labels: str | None = "labels"
) -> Iterator[SequenceRecord]:
    r"""Stream the sequences of a JSON-lines file.

    A line is an object with the tokens (dicts, lists of strings or strings), and, if known, the
    labels and a ``"weight"``; or just the array of tokens.

    Parameters
    ----------
    source : path, "-" or binary file
    tokens, labels : str, default="tokens" and "labels"
        The keys.  ``labels=None``: do not read labels.

    Examples
    --------
    >>> import io
    >>> line = b'{"tokens": [{"w": "the"}, {"w": "dog"}], "labels": ["DT", "NN"]}\n'
    >>> record, = read_jsonl(io.BytesIO(line))
    >>> record.tokens, record.labels
    ([{'w': 'the'}, {'w': 'dog'}], ['DT', 'NN'])
    """
    name = source_name(source)
    for n, line in numbered_lines(source):
        if line.strip():
            yield _record(_parse(line, name, n), tokens, labels, name, n)


def _parse(line: str, name: str, n: int) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise DataFileError(name, n, f"expected finite numbers, got {constant}")

    try:
        return json.loads(line, parse_constant=refuse)
    except DataFileError:
        raise
    except json.JSONDecodeError as error:
        problem = f"expected JSON: {error.msg} at column {error.colno}"
        raise DataFileError(name, n, problem) from None
    except ValueError:  # Python reads no whole number of thousands of digits
        raise DataFileError(name, n, "expected numbers of at most 4,300 digits") from None
    except RecursionError:
        raise DataFileError(name, n, "expected a sequence, got JSON nested too deeply") from None


def _record(value: Any, tokens: str, labels: str | None, name: str, n: int) -> SequenceRecord:
    if isinstance(value, list):
        return SequenceRecord(value, None, n)
    if not isinstance(value, dict):
        raise DataFileError(name, n, f"expected an object or an array, got {value!r:.60}")
    items = value.get(tokens)
    if not isinstance(items, list):
        problem = f"expected an array under {tokens!r}; the keys are {sorted(value)}"
        raise DataFileError(name, n, problem)
    known = None if labels is None else value.get(labels)
    weight = value.get("weight", 1.0)
    plain = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not plain or not abs(weight) <= sys.float_info.max:
        raise DataFileError(name, n, f"expected a finite number under 'weight', got {weight!r:.60}")
    if known is None:
        return SequenceRecord(items, None, n, float(weight))
    if not isinstance(known, list) or not all(isinstance(label, str) for label in known):
        raise DataFileError(name, n, f"expected an array of strings under {labels!r}")
    if len(known) != len(items):
        problem = f"expected as many labels as tokens, got {len(known)} and {len(items)}"
        raise DataFileError(name, n, problem)
    return SequenceRecord(items, known, n, float(weight))
