"""``proxqn train chain``: fit a linear-chain CRF to a file of labelled sequences."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from proxqn.cli.chain.files import Reading, encode, reading_options
from proxqn.cli.chain.scores import ChainDev
from proxqn.cli.train_options import fit_options, requested
from proxqn.cli.training import Job, Request, check_files, run
from proxqn.cli.watching import Display
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io.container import ModelFileError


@click.command(
    epilog="\b\n"
    "Example:\n"
    "  proxqn train chain train.txt --template chunking.template --lam 1 -o model.proxqn\n"
)
@click.argument("data")
@click.option("--template", metavar="FILE",
              help="Feature templates in CRF++'s language, for columns and conllu.")  # fmt: skip
@reading_options
@click.option("--pairs", type=click.Choice(["observed", "all"]), default="observed",
              show_default=True,
              help="Weights for pairs of label and feature that occur, or for all.")  # fmt: skip
@click.option("--transition-pairs", type=click.Choice(["observed", "all"]), default=None,
              help="The same for pairs of labels; as --pairs by default.")  # fmt: skip
@click.option("--end-weights", is_flag=True,
              help="Weights for labels at the ends of a sequence.")  # fmt: skip
@click.option("--min-freq", type=int, default=1, show_default=True,
              help="Leave out features that occur fewer times.")  # fmt: skip
@fit_options
def chain(data: str, template: str | None, **options: Any) -> None:
    """Fit a linear-chain CRF to a file of labelled sequences (`-`: standard input)."""
    names = ("format", "separator", "label_column", "comment", "label", "encoding")
    reading = Reading().changed({name: options.pop(name) for name in names})
    if reading.needs_templates and template is None:
        raise click.UsageError(f"--template is needed: features of {reading.format} come from it.")
    if template is not None and not reading.needs_templates:
        raise click.UsageError(f"--template is for columns; {reading.format} has features.")
    request, stop = requested(options)
    with stop.listening():
        check_files(request, {"DATA": data, "--template": template})
        structure = {name: options[name] for name in ("pairs", "transition_pairs", "end_weights")}
        templates = None if template is None else _templates(template, request.display)
        encoder = SequenceEncoder(templates, min_freq=options["min_freq"])
        run(request, _job(request, data, reading, encoder, structure))


def _job(
    request: Request,
    data: str,
    reading: Reading,
    encoder: SequenceEncoder,
    structure: dict[str, Any],
) -> Job:
    """Read the files; a fit needs no more of them then."""
    encoded = encode(encoder, reading, data, fit=True)
    X, edges = encoded.X, encoded.edges
    more = "" if edges is None else f", {edges.shape[1]:,} edge features"
    request.display.say(
        f"{len(encoded.lengths):,} sequences, {X.shape[0]:,} tokens, {X.shape[1]:,} features{more} "
        f"({request.elapsed})"
    )
    labels = np.array([label for labels in encoded.labels or [] for label in labels])
    pairs, steps = structure["pairs"], structure["transition_pairs"]
    identity = (X.indptr, X.indices, X.data, labels, encoded.lengths,
                pairs, steps or pairs, structure["end_weights"],
                *(() if edges is None else (edges.indptr, edges.indices)))  # fmt: skip
    return Job(
        ChainCRF,
        structure,
        {"X": encoded},
        identity,
        reading.to_json(),
        None if request.dev is None else ChainDev(encoder, request.dev, reading),
        _named,
    )


def _named(earlier: Any) -> Any:
    """Return an earlier model if its features have names, by which alone they can be matched."""
    if earlier.encoder_ is None:
        raise ModelFileError("--resume: expected a chain model with its features, as train writes.")
    return earlier


def _templates(path: str, display: Display) -> Templates:
    templates = Templates.from_file(path)
    if not templates.has_transitions:
        display.say(f"{path}: no B template; transitions between labels are learned all the same.")
    return templates
