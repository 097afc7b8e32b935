"""What a kind of model brings to the command line: its files, its options, its scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, final

import click

from proxqn.estimators.model import HOMES
from proxqn.io.model_file import SavedModel


@final
@dataclass
class Wishes:
    """What was asked for on the command line, beside the model and the data."""

    reading: dict[str, Any]  # options of how sequences are read; None where not given
    scheme: str | None = None
    marginals: str | None = None
    n_best: int | None = None
    n_unseen: int = field(default=0, init=False)  # told back: features the model does not know


class Scores(Protocol):
    """How good predictions are."""

    @property
    def headline(self) -> float:
        """The score that a column of progress shows."""

    def line(self) -> str:
        """Return the scores in a line."""

    def text(self) -> str:
        """Return the table."""

    def to_json(self) -> dict[str, Any]:
        """Return the scores for JSON."""


class Dev(Protocol):
    """Labelled data, read once, to score the iterates of a fit on."""

    name: str

    def scores(self, model: Any) -> Scores:
        """Return the scores of a model."""


class Commands(Protocol):
    """A kind's side of the command line."""

    def train(self) -> click.Command:
        """Return its command below ``proxqn train``."""

    def predict(self, saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
        """Yield the lines of ``proxqn predict``, without their ends."""

    def evaluate(self, saved: SavedModel, source: str, wishes: Wishes) -> Scores:
        """Return the scores of a model on a labelled file."""


def commands_of(kind: str) -> Commands:
    """Import a kind's side of the command line."""
    home = HOMES[kind]
    return cast("Commands", home.find(home.commands))
