"""The group of commands. A new command is a module and a line in the table below."""

from __future__ import annotations

from importlib import import_module
from typing import Final, final

import click

import proxqn as package

# Loaded when called for: `proxqn --help` and a mistyped option answer at once.
_COMMANDS: Final = {
    "train": ("proxqn.cli.train", "Fit a model to a file and write it."),
    "predict": ("proxqn.cli.predict", "Label new data with a model."),
    "evaluate": ("proxqn.cli.evaluate", "Score a model, or predictions, against true labels."),
    "inspect": ("proxqn.cli.inspect", "Show what a model has learned, and its certificate."),
    "crfsuite": ("proxqn.cli.stand_ins.crfsuite", "Stand in for CRFsuite: learn, tag, dump."),
    "wapiti": ("proxqn.cli.stand_ins.wapiti", "Stand in for Wapiti: train, label, dump."),
    "crf_learn": ("proxqn.cli.stand_ins.crfpp", "Stand in for CRF++'s crf_learn."),
    "crf_test": ("proxqn.cli.stand_ins.crfpp", "Stand in for CRF++'s crf_test."),
    "export": ("proxqn.cli.export", "Write a model as CRFsuite's or CRF++'s text."),
}


@final
class _Commands(click.Group):
    """A group that imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the work."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command: the function of its name in its module."""
        if cmd_name == "experiment":
            ctx.fail("the experiments have moved: run `python -m replication` in a checkout.")
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


_EPILOG = (
    "\b\n"
    "Example:\n"
    "  proxqn train chain train.txt --template t.txt --lam 1 -o model.proxqn\n"
    "  proxqn evaluate test.txt --model model.proxqn\n"
    "\n"
    "Exit codes: 0 done; 2 wrong options; 65 bad data, template or model file; 66 a file cannot be "
    "read; 71 not enough memory; 73 or 74 the output cannot be written; 130 interrupted. Messages "
    "name file and line."
)


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"max_content_width": 100})
@click.version_option(package.__version__, prog_name="proxqn")
def proxqn() -> None:
    """Sparse models for sequences and label trees, fitted with a proof."""
