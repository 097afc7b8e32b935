"""``proxqn export``: a model as another program's text."""

from __future__ import annotations

import click

from proxqn.cli.outputs import check_outputs, write_lines
from proxqn.io import model_file
from proxqn.io.container import ModelFileError


@click.command(epilog="\b\nExample:\n  proxqn export model.proxqn --to crfsuite -o model.txt\n")
@click.argument("model")
@click.option("--to", "program", type=click.Choice(["crfsuite", "crfpp"]), required=True,
              help="CRFsuite's text dump, or CRF++'s text model.")  # fmt: skip
@click.option("-o", "--output", default="-", show_default=True, help="File to write.")
def export(model: str, program: str, output: str) -> None:
    """Write a chain MODEL as text that tools for CRFsuite or CRF++ read."""
    check_outputs({"--output": output}, {"MODEL": model})
    exports = model_file.read(model).model.exports()
    if program not in exports:
        known = ", ".join(exports) or "none"
        raise ModelFileError(
            f"{model}: cannot be exported to {program}; expected a model that can, this one's "
            f"forms: {known}."
        )
    write_lines(exports[program](), output)
