"""``proxqn export``: a chain as another program's text."""

from __future__ import annotations

import click

from proxqn.cli.outputs import check_writable, write_lines
from proxqn.io import model_file
from proxqn.io.chain_file import SavedChain
from proxqn.io.container import ModelFileError
from proxqn.io.exports import to_crfpp, to_crfsuite


@click.command(epilog="\b\nExample:\n  proxqn export model.proxqn --to crfsuite -o model.txt\n")
@click.argument("model")
@click.option("--to", "program", type=click.Choice(["crfsuite", "crfpp"]), required=True,
              help="CRFsuite's text dump, or CRF++'s text model.")  # fmt: skip
@click.option("-o", "--output", default="-", show_default=True, help="File to write.")
def export(model: str, program: str, output: str) -> None:
    """Write a chain MODEL as text that tools for CRFsuite or CRF++ read."""
    check_writable(output)
    saved = model_file.read(model)
    if not isinstance(saved, SavedChain):
        raise ModelFileError(f"{model}: a tree model; only chains can be exported.")
    if program == "crfsuite":
        lines = to_crfsuite(saved.model, saved.encoder)
    elif saved.encoder is not None:
        lines = to_crfpp(saved.model, saved.encoder)
    else:
        raise ModelFileError(f"{model}: saved without an encoder, which CRF++'s form needs.")
    write_lines(lines, output)
