"""SVMlight's lines for single-label documents: ``label feature:value …``."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy.sparse as sp

from proxqn.io.readers.record import DataFileError, Source, numbered_lines, source_name

__all__ = ["LabelledRows", "Sample", "read_svmlight", "stream_svmlight"]

_MAX_FEATURE = 2**31 - 2


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """A line of a file: its label, None where it begins with a feature, and its features."""

    label: str | None
    columns: list[int]
    values: list[float]


@final
@dataclass(frozen=True)
class LabelledRows:
    """Samples of a file.

    Attributes
    ----------
    X : csr_array of shape (n_samples, largest feature + 1)
        Column j holds feature j of the file; repeated features are added up.
    labels : list of str or None
        None where a line begins with a feature.
    """

    X: sp.csr_array
    labels: list[str | None]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Self:
        """Put samples below each other."""
        labels: list[str | None] = []
        columns, values = array("i"), array("d")
        starts = [0]
        for sample in samples:
            labels.append(sample.label)
            columns.extend(sample.columns)
            values.extend(sample.values)
            starts.append(len(columns))
        width = max(columns, default=0) + 1
        entries: Any = (
            np.array(values, np.float64), np.array(columns, np.int32), np.array(starts, np.int64)
        )  # fmt: skip
        X = sp.csr_array(entries, shape=(len(labels), width))
        X.sum_duplicates()
        return cls(X, labels)


def read_svmlight(source: Source, *, ignore: Collection[int] = ()) -> LabelledRows:
    r"""Read a file of lines ``label feature:value …``; ``#`` begins a comment.

    Parameters
    ----------
    source : path, "-" or binary file
    ignore : collection of int
        Features to leave out, such as LSHTC's 0, the number of the document.

    Examples
    --------
    >>> import io
    >>> rows = read_svmlight(io.BytesIO(b"cat 1:0.5 3:2 # a comment\n2:1\n"))
    >>> rows.labels, rows.X.toarray().tolist()
    (['cat', None], [[0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]])
    """
    return LabelledRows.of(stream_svmlight(source, ignore=ignore))


def stream_svmlight(source: Source, *, ignore: Collection[int] = ()) -> Iterator[Sample]:
    """Yield the samples of a file, one by one."""
    name = source_name(source)
    for n, line in numbered_lines(source):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        label = None if ":" in fields[0] else fields.pop(0)
        if label is not None and "," in label:
            problem = f"several labels ({label}), expected one: the model picks one leaf a sample"
            raise DataFileError(name, n, problem)
        entries = [_entry(field, name, n) for field in fields]
        kept = [(feature, value) for feature, value in entries if feature not in ignore]
        yield Sample(label, [feature for feature, _ in kept], [value for _, value in kept])


def _entry(field: str, name: str, n: int) -> tuple[int, float]:
    feature, _, number = field.partition(":")
    try:
        column, value = int(feature), float(number)
    except ValueError:
        problem = f"expected feature:value with numbers, got {field!r:.60}"
        raise DataFileError(name, n, problem) from None
    if not 0 <= column <= _MAX_FEATURE:
        problem = f"expected a feature from 0 to {_MAX_FEATURE}, got {column}"
        raise DataFileError(name, n, problem)
    if not np.isfinite(value):
        raise DataFileError(name, n, f"expected a finite number, got {field!r:.60}")
    return column, value
