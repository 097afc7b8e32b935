"""The options that all commands of ``proxqn train`` share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from proxqn.cli.lam_choice import Lam, check_choice
from proxqn.cli.training import Request
from proxqn.cli.watching import Display, Stop
from proxqn.estimators.early_stopping import PATIENCE
from proxqn.minimization import SOLVERS

_F = TypeVar("_F", bound=Callable[..., Any])
_NOT_NEGATIVE = click.FloatRange(min=0.0)


def fit_options(command: _F) -> _F:
    """Add the options that all kinds of models share."""
    options = (
        click.option("-o", "--output", required=True, metavar="MODEL",
                     help="The model file to write; - for standard output."),
        click.option("--lam", type=Lam(), default="1.0", show_default=True,
                     help="λ, the ℓ1 penalty against the sum of losses (CRFsuite's c1); several, "
                     "with commas, or auto, to choose with --dev or --cv."),
        click.option("--l2", type=_NOT_NEGATIVE, default=0.0, show_default=True,
                     help="A ridge penalty beside it (twice CRFsuite's c2)."),
        click.option("--tol", type=_NOT_NEGATIVE, default=1e-4, show_default=True,
                     help="How far above the optimum to stop, as a fraction of the objective."),
        click.option("--stop", "stop_by", type=click.Choice(["estimate", "gap"]),
                     default="estimate", show_default=True,
                     help="What is to be within --tol: the estimated error, or the gap proved."),
        click.option("--max-weight", type=click.FloatRange(0.0, min_open=True), default=None,
                     help="No weight may be larger in size: more can be proved under small λ."),
        click.option("--max-iter", type=click.IntRange(min=0), default=1000, show_default=True,
                     help="At most this many iterations."),
        click.option("--solver", type=click.Choice(tuple(SOLVERS)), default="prox-qn",
                     show_default=True, help="The algorithm."),
        click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True,
                     help="Of the order of coordinate descent in prox-qn."),
        click.option("--jobs", type=int, default=1, show_default=True,
                     help="Threads; -1 for all processors. The model does not depend on it."),
        click.option("--dev", metavar="FILE", help="Labelled data to score the model on."),
        click.option("--early-stop", type=click.IntRange(min=1), is_flag=False,
                     flag_value=PATIENCE, default=None, metavar="[PATIENCE]",
                     help="Keep the iterate that scores best on --dev, and stop after so many "
                     f"looks without a better one; {PATIENCE} where no number is given."),
        click.option("--cv", type=click.IntRange(min=2), default=None,
                     help="Choose among several λ by so many folds of the data."),
        click.option("--patience", type=click.IntRange(min=1), default=5, show_default=True,
                     help="With several λ and --dev: end after so many without a better score."),
        click.option("--path", "path_file", metavar="FILE",
                     help="With several λ: keep all solutions in this file; go on from it if it "
                     "is there."),
        click.option("--plot", metavar="FILE",
                     help="With several λ: draw weights, proofs and scores (.png, .svg, .pdf)."),
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


def requested(options: dict[str, Any]) -> tuple[Request, Stop]:
    """Take the shared options of a run out of those of a command."""
    if options["checkpoint_every"] is not None and options["checkpoint"] is None:
        raise click.UsageError("--checkpoint-every is for runs with --checkpoint FILE.")
    if options["early_stop"] is not None and options["dev"] is None:
        raise click.UsageError(
            "--early-stop needs --dev FILE: labelled data, not trained on, that tell which iterate "
            "is the best."
        )
    stop = Stop()
    names = ("output", "lam", "l2", "tol", "stop_by", "max_weight", "max_iter", "solver", "seed",
             "jobs", "dev", "early_stop", "checkpoint", "checkpoint_every", "resume", "cv",
             "patience", "path_file", "plot")  # fmt: skip
    display = Display.chosen(quiet=options["quiet"], as_json=options["as_json"])
    given = {name: options[name] for name in names}
    given["lam"], given["lams"] = options["lam"]
    check_choice(given)
    return Request(**given, display=display, stop=stop, began=time.perf_counter()), stop
