"""``proxqn evaluate``: score a model, or a file with predictions."""

from __future__ import annotations

import json
from typing import Any

import click

from proxqn.cli.scoring import ChainScores, TreeScores, chain_scores, column_scores, tree_scores
from proxqn.cli.sequence_files import Reading, reading_options
from proxqn.io import model_file
from proxqn.io.chain_file import SavedChain


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
    scores: ChainScores | TreeScores
    if model is None:
        scores = column_scores(data, Reading().changed(options), scheme=scheme)
    else:
        saved = model_file.read(model)
        if isinstance(saved, SavedChain):
            reading = Reading.from_json(saved.reading).changed(options)
            scores = chain_scores(saved, data, reading, scheme=scheme)
        else:
            scores = tree_scores(saved, data)
    click.echo(json.dumps(scores.to_json()) if as_json else scores.text())
