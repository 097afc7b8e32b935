"""``proxqn wapiti train``: Wapiti's objective, minimised by proxqn's solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from proxqn.cli.outputs import STANDARD, check_outputs, write_bytes
from proxqn.cli.stand_ins.columns import batches, wapiti_sequences
from proxqn.cli.stand_ins.error_rates import ErrorRates
from proxqn.cli.stand_ins.labelling import Labeller
from proxqn.cli.stand_ins.training import Objective, fit, read_templates, warn, warn_of_ignored
from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.template_dialect import Dialect
from proxqn.features.templates import Templates
from proxqn.io.pattern_chain import pattern_model_of
from proxqn.io.pattern_model import PatternModel
from proxqn.io.wapiti import model_bytes
from proxqn.run.trace import Row

_ALGORITHMS: Final = ("l-bfgs", "sgd-l1", "bcd", "rprop", "rprop+", "rprop-")
_IGNORED: Final[dict[str, tuple[str, Any]]] = {  # short form, default; False is a flag
    "jobsize": ("-j", 64), "sparse": ("-s", False), "objwin": ("-o", 5), "stopwin": ("-w", 5),
    "clip": ("", False), "histsz": ("", 5), "maxls": ("", 40),
    "eta0": ("", 0.8), "alpha": ("", 0.85), "kappa": ("", 1.5), "stpmin": ("", 1e-8),
    "stpmax": ("", 50.0), "stpinc": ("", 1.2), "stpdec": ("", 0.5), "cutoff": ("", False),
}  # fmt: skip
_EPS_SHARE: Final = 1 / 200  # Wapiti's 0.02 leaves its fits far from their ends
_MANY: Final = 10_000  # iterations, where Wapiti has no bound

_F = TypeVar("_F", bound=Callable[..., Any])


def _ignored_options(command: _F) -> _F:
    for name, (short, default) in _IGNORED.items():
        forms = [f"--{name}", *([short] if short else [])]
        more = {"is_flag": True} if default is False else {"type": type(default)}
        command = click.option(*forms, default=default, hidden=True, **more)(command)
    return command


@click.command(epilog="What has no effect is named in a warning: docs/migrating-wapiti-crfpp.md")
@click.argument("data", required=False)
@click.argument("model", required=False)
@click.option("-p", "--pattern", metavar="FILE", help="Patterns that make features.")
@click.option("-m", "--model", "earlier", metavar="FILE",
              help="Start from the weights of this model.")  # fmt: skip
@click.option("-d", "--devel", metavar="FILE",
              help="Labelled data; the errors on them are told at the end.")  # fmt: skip
@click.option("-c", "--compact", is_flag=True, help="Leave out observations without a weight.")
@click.option("-t", "--nthread", type=click.IntRange(min=1), default=1, help="Threads.")
@click.option("-i", "--maxiter", type=click.IntRange(min=0), default=0,
              help="At most so many iterations.")  # fmt: skip
@click.option("-1", "--rho1", type=click.FloatRange(min=0), default=0.5, show_default=True,
              help="The ℓ1 penalty.")  # fmt: skip
@click.option("-2", "--rho2", type=click.FloatRange(min=0), default=0.0001, show_default=True,
              help="The ℓ2 penalty.")  # fmt: skip
@click.option("--tol", type=float, default=1e-4, show_default=True,
              help="proxqn's own: how far above the optimum to end, as a share of it.")  # fmt: skip
@click.option("-e", "--stopeps", type=click.FloatRange(min=0), default=0.02, show_default=True,
              help="End when ten iterations gain less than a 200th of this share.")  # fmt: skip
@click.option("-T", "--type", "kind", default="crf", hidden=True)
@click.option("-a", "--algo", type=click.Choice(_ALGORITHMS), default="l-bfgs", hidden=True)
@click.option("--me", is_flag=True, hidden=True)
@click.option("--rstate", hidden=True)
@click.option("--sstate", hidden=True)
@_ignored_options
def train(data: str | None, model: str | None, **options: Any) -> None:
    """Train on DATA (standard input) and write MODEL (standard output)."""
    _refuse(options)
    if options["algo"] != "l-bfgs":
        warn(
            f"--algo {options['algo']}: proxqn's solver takes its place; the objective is the same."
        )
    warn_of_ignored({name: (options[name], default) for name, (_, default) in _IGNORED.items()})
    check_outputs(
        {"MODEL": model or STANDARD},
        {
            "DATA": data or STANDARD,
            **{f"--{name}": options[name] for name in ("pattern", "devel")},
        },  # a model may go on in its own file, as in Wapiti
    )
    objective = Objective(
        options["rho1"],
        options["rho2"],
        max_iter=options["maxiter"] or _MANY,
        tol=options["tol"],
        stop=options["stopeps"] * _EPS_SHARE,
        n_jobs=options["nthread"],
    )
    initial = None if options["earlier"] is None else ChainCRF.from_wapiti(options["earlier"])
    templates = _templates(options["pattern"], initial)
    crf = fit(templates, wapiti_sequences(data), objective, _show, initial)
    written = pattern_model_of(crf, Dialect.WAPITI, compact=options["compact"])
    write_bytes(b"".join(model_bytes(written)), model or STANDARD)
    if options["devel"] is not None:
        _tell_errors(written, options["devel"])


def _templates(pattern: str | None, initial: ChainCRF | None) -> Templates:
    if pattern is not None:
        return read_templates(pattern, Dialect.WAPITI)
    if initial is not None and initial.encoder_ is not None and initial.encoder_.templates:
        return initial.encoder_.templates
    raise click.UsageError("--pattern is needed: proxqn makes features of patterns alone.")


def _refuse(options: dict[str, Any]) -> None:
    if options["kind"] != "crf" or options["me"]:
        raise click.UsageError("proxqn trains CRFs alone: leave out --type and --me.")
    if options["rstate"] or options["sstate"]:
        raise click.UsageError(
            "--rstate and --sstate hold the state of Wapiti's solver, which proxqn does not have; "
            "--model starts from a model's weights."
        )


def _show(row: Row, seconds: float) -> None:
    """Write a line with the fields of Wapiti's, but for the error rates."""
    line = f"  [{row.iteration:4d}] obj={row.objective:<10.2f} act={row.nnz:<8d}"
    click.echo(f"{line} time={row.seconds:.2f}s/{seconds:.2f}s", err=True)


def _tell_errors(model: PatternModel, source: str) -> None:
    labeller = Labeller(model, "the model")
    rates = ErrorRates(labeller.labels)
    for batch in batches(wapiti_sequences(source)):
        given = [sequence.split_labels() for sequence in batch]
        paths = labeller.best(labeller.encoded([rest for rest, _ in given]), 1)
        for (_, labels), found in zip(given, paths, strict=True):
            rates.add(labels, found[0].labels)
    rates.tell()
