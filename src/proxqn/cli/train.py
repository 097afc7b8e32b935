"""``proxqn train``: fit a chain or a tree to a file and write the model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from proxqn.cli import training
from proxqn.cli.sequence_files import Reading, reading_options
from proxqn.cli.training import Request
from proxqn.cli.watching import Display, Stop

_F = TypeVar("_F", bound=Callable[..., Any])


def _fit_options(command: _F) -> _F:
    """Add the options that chains and trees share."""
    options = (
        click.option("-o", "--output", required=True, metavar="MODEL",
                     help="The model file to write."),
        click.option("--lam", type=float, default=1.0, show_default=True,
                     help="λ, the ℓ1 penalty against the sum of losses (CRFsuite's c1)."),
        click.option("--l2", type=float, default=0.0, show_default=True,
                     help="A ridge penalty beside it (twice CRFsuite's c2)."),
        click.option("--tol", type=float, default=1e-4, show_default=True,
                     help="Stop when the duality gap is this fraction of the objective."),
        click.option("--max-iter", type=int, default=1000, show_default=True,
                     help="At most this many iterations."),
        click.option("--solver", default="prox-qn", show_default=True,
                     help="prox-qn, prox-gd, owl-qn, sgd or bcd."),
        click.option("--seed", type=int, default=0, show_default=True,
                     help="Of the order of coordinate descent in prox-qn."),
        click.option("--jobs", type=int, default=1, show_default=True,
                     help="Threads; -1 for all processors. The model does not depend on it."),
        click.option("--dev", metavar="FILE", help="Labelled data to score the model on."),
        click.option("--checkpoint", metavar="FILE",
                     help="Write the state of the run to this file, every so many iterations. The "
                     "solver then starts anew from its weights after each, so that a run resumed "
                     "from the file ends at the same bits as one without interruption. That costs "
                     "some more iterations."),
        click.option("--checkpoint-every", type=click.IntRange(min=1), default=None,
                     help="Iterations from one checkpoint to the next; 100 by default."),
        click.option("--resume", metavar="FILE",
                     help="Go on from a checkpoint (same data and objective: same bits as without "
                     "the interruption), or start from the weights of any model (a warm start: "
                     "other data, λ or features are fine)."),
        click.option("--json", "as_json", is_flag=True,
                     help="Write progress and result to standard output, a JSON object a line."),
        click.option("-q", "--quiet", is_flag=True, help="Show errors only."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def train() -> None:
    """Fit a model to a file and write it.

    Ctrl-C (or SIGTERM) ends the run after its iteration: the model is written as it is then, and
    the exit code is 130. Ctrl-C before the first iteration leaves everything as it was.
    """


@train.command(
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
@_fit_options
def chain(data: str, template: str | None, **options: Any) -> None:
    """Fit a linear-chain CRF to a file of labelled sequences (`-`: standard input)."""
    names = ("format", "separator", "label_column", "comment", "label", "encoding")
    reading = Reading().changed({name: options.pop(name) for name in names})
    if reading.needs_templates and template is None:
        raise click.UsageError(f"--template is needed: features of {reading.format} come from it.")
    if template is not None and not reading.needs_templates:
        raise click.UsageError(f"--template is for columns; {reading.format} has features.")
    request, stop = _request(options)
    with stop.listening():
        training.train_chain(
            request,
            data,
            reading,
            template,
            pairs=options["pairs"],
            transition_pairs=options["transition_pairs"],
            end_weights=options["end_weights"],
            min_freq=options["min_freq"],
        )


@train.command(
    epilog="\b\n"
    "Example:\n"
    "  proxqn train tree train.svm --hierarchy cat_hier.txt --lam 0.5 -o model.proxqn\n"
)
@click.argument("data")
@click.option("--hierarchy", metavar="FILE",
              help="The label tree: a path of names from the top to a leaf in each line, as in "
              "LSHTC's cat_hier.txt. Without it the labels are flat.")  # fmt: skip
@click.option("--ignore-feature", type=int, multiple=True,
              help="A feature to leave out, such as LSHTC's 0, the document's number.")  # fmt: skip
@click.option("--no-intercept", is_flag=True, help="Without a constant feature.")
@_fit_options
def tree(data: str, hierarchy: str | None, **options: Any) -> None:
    """Fit a label tree to a file of lines `label feature:value …` (SVMlight)."""
    request, stop = _request(options)
    with stop.listening():
        training.train_tree(
            request,
            data,
            hierarchy,
            ignore=options["ignore_feature"],
            fit_intercept=not options["no_intercept"],
        )


def _request(options: dict[str, Any]) -> tuple[Request, Stop]:
    if options["checkpoint_every"] is not None and options["checkpoint"] is None:
        raise click.UsageError("--checkpoint-every is for runs with --checkpoint FILE.")
    stop = Stop()
    names = ("output", "lam", "l2", "tol", "max_iter", "solver", "seed", "jobs", "dev",
             "checkpoint", "checkpoint_every", "resume")  # fmt: skip
    display = Display.chosen(quiet=options["quiet"], as_json=options["as_json"])
    given = {name: options[name] for name in names}
    return Request(**given, display=display, stop=stop, began=time.perf_counter()), stop
