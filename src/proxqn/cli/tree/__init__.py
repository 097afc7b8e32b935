"""Label trees on the command line: files of samples in SVMlight's lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

import click

from proxqn.cli.kind import Commands, Scores, Wishes
from proxqn.io.model_file import SavedModel


@final
class TreeCommands(Commands):
    """What the command line can do with a tree model."""

    def train(self) -> click.Command:
        """Return ``proxqn train tree``."""
        from proxqn.cli.tree.train import tree

        return tree

    def predict(self, saved: SavedModel, source: str, wishes: Wishes) -> Iterator[str]:
        """Yield a line of leaves a sample."""
        from proxqn.cli.tree.predict import lines

        return lines(saved, source, wishes)

    def evaluate(self, saved: SavedModel, source: str, wishes: Wishes) -> Scores:
        """Return hierarchical scores and leaf accuracy."""
        from proxqn.cli.tree.scores import tree_scores

        return tree_scores(saved, source)


COMMANDS: Final = TreeCommands()
