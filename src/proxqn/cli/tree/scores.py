"""Scores of a tree model on a labelled file: leaves and paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from proxqn.cli.tree.files import TreeReading, fitted_columns, read_labelled
from proxqn.io.model_file import SavedModel
from proxqn.metrics import HierarchicalScores, hierarchical_scores


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


def tree_scores(saved: SavedModel, source: str) -> TreeScores:
    """Predict the samples of a labelled file and compare."""
    return TreeDev(source, TreeReading.from_json(saved.reading)).scores(saved.model)


@final
class TreeDev:
    """A labelled file, read once, to score a tree on, also while it is being fitted."""

    name = "hier. F1"

    def __init__(self, source: str, reading: TreeReading) -> None:
        self._rows = read_labelled(source, reading, None)

    def scores(self, model: Any) -> TreeScores:
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
