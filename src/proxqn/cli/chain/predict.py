"""Sequences of a file with what a chain predicts for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from proxqn.cli.chain.files import Reading
from proxqn.cli.chain.labelling import Batch, batches
from proxqn.cli.kind import Wishes
from proxqn.estimators.inference.constraints import Constraints
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.model_file import SavedModel

_DIGITS = 6  # of probabilities


def lines(saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
    """Yield each sequence of a file with what is predicted, in the form of the file."""
    model, reading = saved.model, Reading.from_json(saved.reading).changed(wishes.reading)
    classes = [str(label) for label in model.classes_.tolist()]
    rules = None if wishes.scheme is None else Constraints.from_scheme(classes, wishes.scheme)
    records = reading.records(source, labelled=False)
    for batch in batches(saved.encoder, records, source, reading):
        wishes.n_unseen += batch.encoded.n_unseen
        if wishes.n_best is not None:
            yield from _n_best_lines(model, batch, reading, wishes.n_best)
            continue
        best = model.predict(batch.encoded, constraints=rules)
        added = [[[str(label)] for label in labels.tolist()] for labels in best]
        if wishes.marginals is not None:
            _add_probabilities(added, model.predict_marginals(batch.encoded), classes, wishes)
        for record, cells in zip(batch.records, added, strict=True):
            yield _sequence_text(record, cells, reading)


def _add_probabilities(
    added: list[list[list[str]]], marginals: Any, classes: list[str], wishes: Wishes
) -> None:
    """Put the probabilities that are asked for behind each token's label."""
    number = {label: j for j, label in enumerate(classes)}
    for sequence, rows in zip(added, marginals, strict=True):
        for cells, row in zip(sequence, rows.tolist(), strict=True):
            cells += _probabilities(row, number[cells[0]], classes, str(wishes.marginals))


def _probabilities(row: list[float], best: int, classes: list[str], which: str) -> list[str]:
    if which == "best":
        return [f"{row[best]:.{_DIGITS}f}"]
    return [f"{label}/{p:.{_DIGITS}f}" for label, p in zip(classes, row, strict=True)]


def _n_best_lines(model: Any, batch: Batch, reading: Reading, n_best: int) -> Iterator[str]:
    """Write CRF++'s form: each labelling under a line ``# rank probability``."""
    found = model.predict_n_best(batch.encoded, n=n_best)
    for record, labellings in zip(batch.records, found, strict=True):
        if reading.format == "jsonl":
            yield json.dumps(
                {"n_best": [{"labels": y.tolist(), "probability": p} for y, p in labellings]}
            )
            continue
        for rank, (labels, p) in enumerate(labellings):
            yield f"# {rank} {p:.{_DIGITS}f}"
            yield _sequence_text(record, [[str(y)] for y in labels.tolist()], reading)


def _sequence_text(record: SequenceRecord, added: list[list[str]], reading: Reading) -> str:
    if reading.format == "jsonl":
        found = {"tokens": record.tokens, "predicted": [cells[0] for cells in added]}
        if any(len(cells) > 1 for cells in added):
            found["marginals"] = [cells[1:] for cells in added]
        return json.dumps(found, ensure_ascii=False)
    separator = "\t" if reading.format != "columns" else reading.separator or " "
    lines = [
        separator.join([*(row if reading.needs_templates else []), *cells])
        for row, cells in zip(record.tokens, added, strict=True)
    ]
    return "\n".join([*lines, ""])
