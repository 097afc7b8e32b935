"""Chains on the command line: files of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

import click

from proxqn.cli.kind import Commands, Scores, Wishes
from proxqn.io.model_file import SavedModel


@final
class ChainCommands(Commands):
    """What the command line can do with a chain."""

    def train(self) -> click.Command:
        """Return ``proxqn train chain``."""
        from proxqn.cli.chain.train import chain

        return chain

    def predict(self, saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
        """Yield the lines of a file with labels, in the form of the file."""
        from proxqn.cli.chain.predict import lines

        return lines(saved, source, wishes)

    def evaluate(self, saved: SavedModel, source: str, wishes: Wishes) -> Scores:
        """Return scores of entities and tokens."""
        from proxqn.cli.chain.scores import chain_scores

        return chain_scores(saved, source, wishes)


COMMANDS: Final = ChainCommands()
