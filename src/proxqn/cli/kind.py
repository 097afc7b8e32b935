"""What a kind of model brings to the command line: its files, its options, its scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, final

import click

from proxqn.estimators.homes import home_of
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


class Commands:
    """A kind's side of the command line; what it leaves out is said not to be there."""

    def train(self) -> click.Command:
        """Return its command below ``proxqn train``."""
        self._lacks("train")

    def predict(self, saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
        """Yield a sample's lines at a time, for ``proxqn predict``; the last end is left off."""
        self._lacks("predict")

    def evaluate(self, saved: SavedModel, source: str, wishes: Wishes) -> Scores:
        """Return the scores of a model on a labelled file."""
        self._lacks("evaluate")

    def _lacks(self, command: str) -> NoReturn:
        raise click.UsageError(
            f"models of this kind have no `proxqn {command}`; inspect shows them, and in Python "
            "proxqn.load(path) gives the estimator."
        )


def commands_of(kind: str) -> Commands:
    """Import a kind's side of the command line."""
    home = home_of(kind)
    found: Commands | None = None if home is None else home.find_commands()
    return found or Commands()
