"""Scores of a model on a labelled file: entities of chains, paths of trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, final

from proxqn.cli.labelling import LabelledBatch, batches, labelled, predicted_labels
from proxqn.cli.sequence_files import Reading, require_labels
from proxqn.cli.tree_files import TreeReading, fitted_columns, read_labelled
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.features.encoding import SequenceEncoder
from proxqn.io.chain_file import SavedChain
from proxqn.io.container import ModelFileError
from proxqn.io.tree_file import SavedTree
from proxqn.metrics import (
    EntityScores,
    HierarchicalScores,
    Scheme,
    entity_scores,
    hierarchical_scores,
)


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


@final
@dataclass(frozen=True)
class TreeScores:
    """Leaf accuracy and hierarchical scores."""

    accuracy: float
    micro: HierarchicalScores
    macro: HierarchicalScores
    n_samples: int
    n_unseen: int

    @property
    def headline(self) -> float:
        """The score that a column of progress shows."""
        return self.micro.f1

    def line(self) -> str:
        """Return the scores in a line."""
        return f"hierarchical F1 {self.micro.f1:.4f}, leaf accuracy {self.accuracy:.4f}"

    def text(self) -> str:
        """Return the table."""
        rows = [f"{'':20s}  precision  recall      F1"]
        for name, score in (("micro", self.micro), ("macro", self.macro)):
            rows.append(
                f"hierarchical, {name:6s}  {score.precision:9.4f}  {score.recall:6.4f}  "
                f"{score.f1:6.4f}"
            )
        return "\n".join([*rows, "", f"leaf accuracy  {self.accuracy:.4f}"])

    def to_json(self) -> dict[str, Any]:
        """Return the scores for JSON."""
        return {
            "accuracy": self.accuracy,
            "micro": self.micro._asdict(),
            "macro": self.macro._asdict(),
            "samples": self.n_samples,
            "unseen_features": self.n_unseen,
        }


def chain_scores(
    saved: SavedChain | SavedTree,
    source: str,
    reading: Reading,
    *,
    scheme: Scheme | str | None = None,
) -> ChainScores:
    """Predict the sequences of a labelled file and compare."""
    if not isinstance(saved, SavedChain):
        raise ModelFileError("expected a chain model.")
    records = require_labels(reading.records(source, labelled=True), source)
    return _compared(predicted_labels(saved, records, source, reading), source, scheme)


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
        self._batches = list(batches(SavedChain(ChainCRF(), encoder), records, source, reading))
        _refuse_nothing(self._batches, source)

    def scores(self, model: ChainCRF) -> ChainScores:
        """Return the scores of a model with the encoder's columns."""
        return _compared((labelled(model, batch) for batch in self._batches), self._source)


def column_scores(
    source: str, reading: Reading, *, scheme: Scheme | str | None = None
) -> ChainScores:
    """Compare the last two columns of a file, the true label and the prediction, as conlleval."""
    true: list[list[str]] = []
    guessed: list[list[str]] = []
    for record in reading.records(source, labelled=False):
        if len(record.tokens[0]) < 2:
            raise ValueError(f"{source}: expected two columns or more: true label, prediction.")
        true.append([row[-2] for row in record.tokens])
        guessed.append([row[-1] for row in record.tokens])
    _refuse_nothing(true, source)
    return ChainScores(entity_scores(true, guessed, scheme=scheme), len(true))


def tree_scores(saved: SavedTree, source: str) -> TreeScores:
    """Predict the samples of a labelled file and compare."""
    return TreeDev(source, TreeReading.from_json(saved.reading)).scores(saved.model)


@final
class TreeDev:
    """A labelled file, read once, to score a tree on, also while it is being fitted."""

    name = "hier. F1"

    def __init__(self, source: str, reading: TreeReading) -> None:
        self._rows = read_labelled(source, reading, None)

    def scores(self, model: HierarchicalClassifier) -> TreeScores:
        """Return the scores of a model."""
        X, n_unseen = fitted_columns(self._rows.X, model.n_features_in_)
        guessed = [str(name) for name in model.predict(X).tolist()]
        true = [str(label) for label in self._rows.labels]
        right = sum(a == b for a, b in zip(true, guessed, strict=True))
        micro, macro = (
            hierarchical_scores(true, guessed, model.hierarchy_, average=average)
            for average in ("micro", "macro")
        )
        return TreeScores(right / len(true), micro, macro, len(true), n_unseen)


def _refuse_nothing(sequences: list[Any], source: str) -> None:
    if not sequences:
        raise ValueError(f"{source}: expected at least one sequence, got none.")
