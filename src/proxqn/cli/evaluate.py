"""``proxqn evaluate``: score a model, or a file with predictions."""

from __future__ import annotations

import json
from typing import Any

import click

from proxqn.cli.chain.files import Reading, reading_options
from proxqn.cli.chain.scores import column_scores
from proxqn.cli.kind import Scores, Wishes, commands_of
from proxqn.io import model_file


@click.command(
    epilog="\b\n"
    "Examples:\n"
    "  proxqn evaluate test.txt --model model.proxqn\n"
    "  proxqn predict model.proxqn test.txt | proxqn evaluate -\n"
)
@click.argument("data")
@click.option("--model", metavar="FILE",
              help="The model to score. Without it the last two columns of the data are compared: "
              "the true label and a prediction, as conlleval does.")  # fmt: skip
@reading_options
@click.option("--scheme", help="IOB1, IOB2 or IOBES, followed strictly; else as conlleval reads.")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object.")
def evaluate(
    data: str, model: str | None, scheme: str | None, as_json: bool, **options: Any
) -> None:
    """Score a model, or predictions, against true labels (`-`: standard input).

    Chains: precision, recall and F1 of entities by type (equal to seqeval's and conlleval's) and
    token accuracy. Trees: hierarchical precision, recall and F1, and leaf accuracy.
    """
    scores: Scores
    if model is None:
        scores = column_scores(data, Reading().changed(options), scheme=scheme)
    else:
        saved = model_file.read(model)
        scores = commands_of(saved.model.kind).evaluate(saved, data, Wishes(options, scheme))
    click.echo(json.dumps(scores.to_json()) if as_json else scores.text())
