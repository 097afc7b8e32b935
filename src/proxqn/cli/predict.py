"""``proxqn predict``: label new data."""

from __future__ import annotations

from typing import Any

import click

from proxqn.cli.chain.files import reading_options
from proxqn.cli.kind import Wishes, commands_of
from proxqn.cli.outputs import check_outputs, write_lines
from proxqn.io import model_file


@click.command(epilog="\b\nExample:\n  proxqn predict model.proxqn test.txt -o predicted.txt\n")
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", default="-", show_default=True, help="File to write.")
@reading_options
@click.option("--marginals", type=click.Choice(["best", "all"]),
              help="Add the probability of the predicted label, or of every label.")  # fmt: skip
@click.option("--n-best", type=click.IntRange(min=1), metavar="N",
              help="Write the N most probable labellings (or leaves), with probabilities."
              )  # fmt: skip
@click.option("--scheme", help="Keep to IOB1, IOB2 (BIO) or IOBES (BIOES).")
@click.option("-q", "--quiet", is_flag=True, help="Do not tell of unseen features.")
def predict(
    model: str,
    data: str,
    output: str,
    marginals: str | None,
    n_best: int | None,
    scheme: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Label DATA with MODEL (`-`: standard input).

    Columns and CoNLL-U come back with the prediction as a new last column; CRFsuite's files as one
    label a line; JSON lines with a field "predicted"; samples for a tree as one leaf a line. A
    label column of the input is passed through. From a pipe, each sequence is labelled as it comes.
    """
    if n_best is not None and (marginals is not None or scheme is not None):
        raise click.UsageError("--n-best excludes --marginals and --scheme.")
    check_outputs({"--output": output}, {"MODEL": model, "DATA": data})
    saved = model_file.read(model)
    wishes = Wishes(options, scheme, marginals, n_best)
    lines = commands_of(saved.model.kind).predict(saved, data, wishes)
    write_lines(lines, output)
    if wishes.n_unseen and not quiet:
        click.echo(f"{wishes.n_unseen:,} occurrences of features without a weight", err=True)
