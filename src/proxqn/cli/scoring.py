"""Scores of a model on a labelled file: entities of chains, paths of trees."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, final

from proxqn.cli.labelling import predicted_labels
from proxqn.cli.sequence_files import Reading, require_labels
from proxqn.cli.tree_files import TreeReading, fitted_columns, read_labelled
from proxqn.metrics import (
    EntityScores,
    HierarchicalScores,
    Scheme,
    entity_scores,
    hierarchical_scores,
)
from proxqn.persistence import ModelFileError, SavedChain, SavedTree


@final
@dataclass(frozen=True)
class ChainScores:
    """Entity scores and token accuracy of predicted sequences."""

    entities: EntityScores
    n_sequences: int
    n_unseen: int | None = None

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
    true: list[list[str]] = []
    guessed: list[list[str]] = []
    unseen = 0
    records = require_labels(reading.records(source, labelled=True), source)
    for batch in predicted_labels(saved, records, source, reading):
        true += [record.labels or [] for record in batch.records]
        guessed += batch.labels
        unseen += batch.n_unseen
    _refuse_nothing(true, source)
    return ChainScores(entity_scores(true, guessed, scheme=scheme), len(true), unseen)


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
    model = saved.model
    rows = read_labelled(source, TreeReading.from_json(saved.reading), None)
    X, n_unseen = fitted_columns(rows.X, model.n_features_in_)
    guessed = [str(name) for name in model.predict(X).tolist()]
    true = [str(label) for label in rows.labels]
    right = sum(a == b for a, b in zip(true, guessed, strict=True))
    micro, macro = (
        hierarchical_scores(true, guessed, model.hierarchy_, average=average)
        for average in ("micro", "macro")
    )
    return TreeScores(right / len(true), micro, macro, len(true), n_unseen)


def _refuse_nothing(sequences: list[list[str]], source: str) -> None:
    if not sequences:
        raise ValueError(f"{source}: expected at least one sequence, got none.")
