"""Scores of a chain on a labelled file: entities and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, final

import click

from proxqn.cli.chain.files import Reading, require_labels
from proxqn.cli.chain.labelling import LabelledBatch, batches, labelled
from proxqn.cli.kind import Wishes
from proxqn.features.encoding import SequenceEncoder
from proxqn.io.model_file import SavedModel
from proxqn.metrics import EntityScores, Scheme, entity_scores


@final
@dataclass(frozen=True)
class ChainScores:
    """Entity scores and token accuracy of predicted sequences."""

    entities: EntityScores
    n_sequences: int
    n_unseen: int | None = None

    @property
    def headline(self) -> float:
        """The score that a column of progress shows."""
        return self.entities.overall.f1

    def line(self) -> str:
        """Return the scores in a line."""
        overall = self.entities.overall
        return f"F1 {overall.f1:.4f}, token accuracy {self.entities.token_accuracy:.4f}"

    def text(self) -> str:
        """Return the table."""
        return str(self.entities)

    def to_json(self) -> dict[str, Any]:
        """Return the scores for JSON."""
        return asdict(self.entities) | {
            "macro": asdict(self.entities.macro),
            "sequences": self.n_sequences,
            "unseen_features": self.n_unseen,
        }


def chain_scores(saved: SavedModel, source: str, wishes: Wishes) -> ChainScores:
    """Predict the sequences of a labelled file and compare."""
    reading = Reading.from_json(saved.reading).changed(wishes.reading)
    records = require_labels(reading.records(source, labelled=True), source)
    found = (
        labelled(saved.model, batch) for batch in batches(saved.encoder, records, source, reading)
    )
    return _compared(found, source, wishes.scheme)


def _compared(
    batches_: Iterable[LabelledBatch], source: str, scheme: Scheme | str | None = None
) -> ChainScores:
    true: list[list[str]] = []
    guessed: list[list[str]] = []
    unseen = 0
    for batch in batches_:
        true += [record.labels or [] for record in batch.records]
        guessed += batch.labels
        unseen += batch.n_unseen
    _refuse_nothing(true, source)
    return ChainScores(entity_scores(true, guessed, scheme=scheme), len(true), unseen)


@final
class ChainDev:
    """A labelled file, read once, to score a chain on while it is being fitted."""

    name = "dev F1"

    def __init__(self, encoder: SequenceEncoder, source: str, reading: Reading) -> None:
        records = require_labels(reading.records(source, labelled=True), source)
        self._source = source
        self._batches = list(batches(encoder, records, source, reading))
        _refuse_nothing(self._batches, source)

    def scores(self, model: Any) -> ChainScores:
        """Return the scores of a model with the encoder's columns."""
        return _compared((labelled(model, batch) for batch in self._batches), self._source)


def column_scores(
    source: str, reading: Reading, *, scheme: Scheme | str | None = None
) -> ChainScores:
    """Compare the last two columns of a file, the true label and the prediction, as conlleval."""
    if reading.format != "columns":
        raise click.UsageError(
            f"--model is needed: a file of {reading.format} has no column of predictions beside "
            "that of true labels."
        )
    true: list[list[str]] = []
    guessed: list[list[str]] = []
    for record in reading.records(source, labelled=False):
        if len(record.tokens[0]) < 2:
            raise ValueError(f"{source}: expected two columns or more: true label, prediction.")
        true.append([row[-2] for row in record.tokens])
        guessed.append([row[-1] for row in record.tokens])
    _refuse_nothing(true, source)
    return ChainScores(entity_scores(true, guessed, scheme=scheme), len(true))


def _refuse_nothing(sequences: list[Any], source: str) -> None:
    if not sequences:
        raise ValueError(f"{source}: expected at least one sequence, got none.")
