"""The forms in which people hold sequences, each cut into stretches of named entries."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from proxqn.features.name_finder import NameFinder
from proxqn.features.named_entries import FoundEntries, NamedEntries
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.template_columns import ColumnStretch
from proxqn.features.templates import Templates

__all__ = ["Stretch", "stretches"]


@dataclass(slots=True)
class Stretch:
    """Some whole sequences with their features, still named or found in a vocabulary.

    ``labels`` and ``weights`` are empty where the input has none.
    """

    tokens: NamedEntries | FoundEntries
    edges: NamedEntries | FoundEntries | None
    lengths: NDArray[np.int64]
    labels: list[list[str]] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


def stretches(
    sequences: Any,
    *,
    templates: Templates | None,
    sequence_id: str | None,
    chunk_tokens: int,
    finder: NameFinder,
) -> Iterator[Stretch]:
    """Cut sequences of any supported form into stretches of about ``chunk_tokens`` tokens.

    The features of the usual forms are found, or numbered, at once.
    """
    pandas = sys.modules.get("pandas")  # who holds a DataFrame has imported it
    if pandas is not None and isinstance(sequences, pandas.DataFrame):
        sequences = _sequences_of_frame(sequences, sequence_id, as_rows=templates is not None)
    elif sequence_id is not None:
        msg = f"expected a DataFrame with the column {sequence_id!r}, got {_type(sequences)}"
        raise TypeError(msg)
    elif isinstance(sequences, str | bytes | Mapping) or not isinstance(sequences, Iterable):
        msg = f"expected an iterable of sequences, got {_type(sequences)}"
        raise TypeError(msg)
    n_before = 0
    for batch in _batches(_same_width(sequences), chunk_tokens):
        yield _stretch(batch, n_before, templates, finder)
        n_before += len(batch)


def _same_width(sequences: Iterable[Any]) -> Iterator[Any]:
    """Pass sequences on; arrays among them must all have as many features as the first."""
    width: int | None = None
    for s, sequence in enumerate(sequences):
        if type(sequence) is not list and _is_array(sequence):
            if sequence.ndim != 2:
                msg = f"expected an array (tokens, features), got shape {sequence.shape}"
                raise ValueError(f"sequence {s}: {msg}")
            width = sequence.shape[1] if width is None else width
            if sequence.shape[1] != width:
                msg = f"sequence {s}: expected {width} features, got {sequence.shape[1]}"
                raise ValueError(msg)
        yield sequence


def _is_array(sequence: Any) -> bool:
    return bool(sparse.issparse(sequence)) or isinstance(sequence, np.ndarray)


def _batches(sequences: Iterable[Any], chunk_tokens: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    n_tokens = 0
    for s, sequence in enumerate(sequences):
        batch.append(sequence)
        n_tokens += _length(sequence, s)
        if n_tokens >= chunk_tokens:
            yield batch
            batch, n_tokens = [], 0
    if batch:
        yield batch


def _length(sequence: Any, s: int) -> int:
    if type(sequence) is list:  # the usual case first: this is asked for every sequence
        return len(sequence)
    if isinstance(sequence, SequenceRecord):
        return len(sequence.tokens)
    if _is_array(sequence):
        return int(sequence.shape[0])
    if isinstance(sequence, str | bytes | Mapping) or not isinstance(sequence, Sequence):
        msg = f"sequence {s}: expected a list of tokens, got {_type(sequence)}"
        raise TypeError(msg)
    return len(sequence)


def _stretch(
    batch: list[Any], n_before: int, templates: Templates | None, finder: NameFinder
) -> Stretch:
    """Encode one batch; ``n_before`` sequences came before it."""
    labels: list[list[str]] = []
    weights = [1.0] * len(batch)
    label_column = None
    if isinstance(batch[0], SequenceRecord):
        label_column = batch[0].label_column
        labels = [record.labels for record in batch if record.labels is not None]
        weights = [record.weight for record in batch]
        batch = [record.tokens for record in batch]
    lengths = np.array([_length(sequence, s) for s, sequence in enumerate(batch)], np.int64)
    tokens: NamedEntries | FoundEntries
    edges: NamedEntries | None = None
    if templates is not None:
        found = finder.find(batch, label_column)
        if found is not None:
            return Stretch(*found, lengths, labels, weights)
        columns = _column_stretch(batch, n_before, lengths, templates, label_column)
        tokens = columns.entries(templates.unigram)
        if templates.edge:
            edges = columns.entries(templates.edge, skip_first_tokens=True)
    elif _is_array(batch[0]):
        tokens = _entries_of_arrays(batch, n_before)
    elif label_column is not None:
        msg = "columns from a file need templates that say which features to make of them"
        raise ValueError(msg)
    else:
        tokens = finder.find_items(batch, first_sequence=n_before)
    return Stretch(tokens, edges, lengths, labels, weights)


def _column_stretch(
    batch: list[Any],
    n_before: int,
    lengths: NDArray[np.int64],
    templates: Templates,
    label_column: int | None,
) -> ColumnStretch:
    rows = [row for sequence in batch for row in sequence]
    widths = {len(row) if isinstance(row, list | tuple) else -1 for row in rows}
    if len(widths) > 1 or -1 in widths:
        _refuse_rows(batch, n_before)
    if widths:
        templates.check_columns(widths.pop(), label_column)
    for column in {c.column for template in templates for c in template.commands}:
        if {type(row[column]) for row in rows} - {str}:
            _refuse_texts(batch, n_before, column)
    return ColumnStretch(rows, lengths)


def _refuse_rows(batch: list[Any], n_before: int) -> None:
    """Name the first row that has no columns, or not as many as the first."""
    width: int | None = None
    for s, sequence in enumerate(batch, n_before):
        for t, row in enumerate(sequence):
            if not isinstance(row, list | tuple):
                msg = f"sequence {s}, position {t}: expected a row of columns, got {_type(row)}"
                raise TypeError(msg)
            width = len(row) if width is None else width
            if len(row) != width:
                msg = f"sequence {s}, position {t}: expected {width} columns, got {len(row)}"
                raise ValueError(msg)


def _refuse_texts(batch: list[Any], n_before: int, column: int) -> None:
    """Name the first row whose column is not text (subclasses of str are)."""
    for s, sequence in enumerate(batch, n_before):
        for t, row in enumerate(sequence):
            if not isinstance(row[column], str):
                msg = (
                    f"sequence {s}, position {t}: expected text in column {column}, "
                    f"got {row[column]!r} ({type(row[column]).__name__})"
                )
                raise TypeError(msg)


def _entries_of_arrays(batch: list[Any], n_before: int) -> NamedEntries:
    blocks: list[sparse.csr_array] = []
    for s, block in enumerate(batch, n_before):
        csr = sparse.csr_array(block, dtype=np.float64)
        csr.sum_duplicates()
        _refuse_not_finite(csr, s)
        csr.eliminate_zeros()
        blocks.append(csr)
    joined = sparse.vstack(blocks, format="csr")
    return NamedEntries(
        names=[f"x{j}" for j in range(joined.shape[1])],
        codes=joined.indices.astype(np.int64),
        values=None if (joined.data == 1.0).all() else joined.data,
        row_sizes=np.diff(joined.indptr).astype(np.int64),
    )


def _refuse_not_finite(block: sparse.csr_array, s: int) -> None:
    bad = np.flatnonzero(~np.isfinite(block.data))
    if len(bad):
        t = int(np.searchsorted(block.indptr, bad[0], side="right")) - 1
        msg = (
            f"sequence {s}, position {t}: feature 'x{block.indices[bad[0]]}' is "
            f"{block.data[bad[0]]}; expected a finite number"
        )
        raise ValueError(msg)


def _sequences_of_frame(
    frame: Any, sequence_id: str | None, *, as_rows: bool
) -> Iterator[list[Any]]:
    """Sequences of a DataFrame: dicts of its other columns, or rows of their texts."""
    if sequence_id is None or sequence_id not in frame.columns:
        msg = f"expected sequence_id to name one of the columns {list(frame.columns)}"
        raise ValueError(f"{msg}, got {sequence_id!r}")
    ids = frame[sequence_id]
    if ids.isna().any():
        row = int(np.flatnonzero(ids.isna())[0])
        msg = f"row {row}: expected a sequence id in column {sequence_id!r}, got a missing value"
        raise ValueError(msg)
    changes = ids.to_numpy()[1:] != ids.to_numpy()[:-1]
    begins = np.flatnonzero(np.append(np.full(min(1, len(ids)), True), changes))
    again = ids.iloc[begins].duplicated().to_numpy()
    if again.any():
        row = int(begins[again][0])
        msg = (
            f"row {row}: sequence {ids.iloc[row]!r} starts again; expected the rows of a "
            f"sequence together (sort the frame by {sequence_id!r} first)"
        )
        raise ValueError(msg)
    features = frame.drop(columns=[sequence_id])
    names = [str(name) for name in features.columns]
    is_missing = sys.modules["pandas"].isna
    rows = list(features.itertuples(index=False, name=None))
    for a, b in itertools.pairwise([*begins, len(frame)]):
        if as_rows:
            yield [[_cell_text(value, is_missing) for value in row] for row in rows[a:b]]
        else:
            yield [dict(zip(names, row, strict=True)) for row in rows[a:b]]


def _cell_text(value: Any, is_missing: Callable[[Any], bool]) -> str | None:
    if isinstance(value, str):
        return value
    return None if is_missing(value) else str(value)  # None is refused as not being text


def _type(value: object) -> str:
    return f"a {type(value).__name__}"
