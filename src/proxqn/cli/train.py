"""``proxqn train``: fit a model to a file and write it; each kind of model has a command."""

from __future__ import annotations

from typing import final

import click

from proxqn.cli.kind import commands_of
from proxqn.estimators.homes import kinds


@final
class _Kinds(click.Group):
    """A group that imports a kind's command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the kinds of models."""
        return kinds()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a kind's command."""
        return commands_of(cmd_name).train() if cmd_name in kinds() else None


@click.group(cls=_Kinds)
def train() -> None:
    """Fit a model to a file and write it.

    Ctrl-C (or SIGTERM) ends the run after its iteration: the model is written as it is then, and
    the exit code is 130. Ctrl-C before the first iteration leaves everything as it was.
    """
