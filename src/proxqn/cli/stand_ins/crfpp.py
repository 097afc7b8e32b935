"""``proxqn crf_learn`` and ``proxqn crf_test``, with CRF++'s arguments, files and output."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import click

from proxqn.cli.outputs import STANDARD, check_outputs, opened, write_bytes
from proxqn.cli.stand_ins.columns import RawSequence, batches, crfpp_sequences
from proxqn.cli.stand_ins.labelling import Labeller
from proxqn.cli.stand_ins.training import Objective, fit, read_templates, warn_of_ignored
from proxqn.features.byte_text import bytes_of
from proxqn.features.template_dialect import Dialect
from proxqn.io.crfpp import model_bytes, model_lines, read_model
from proxqn.io.pattern_chain import pattern_model_of
from proxqn.io.pattern_names import Translation
from proxqn.run.trace import Row

_ETA_SHARE: Final = 1 / 10  # CRF++ ends after three iterations of so little, here it is ten


@click.command(epilog="What has no effect is named in a warning: docs/migrating-wapiti-crfpp.md")
@click.argument("files", nargs=-1)
@click.option("-f", "--freq", type=click.IntRange(min=0), default=1, show_default=True,
              help="Leave out features that occur fewer times.")  # fmt: skip
@click.option("-m", "--maxiter", type=click.IntRange(min=1), default=100_000, show_default=True,
              help="At most so many iterations.")  # fmt: skip
@click.option("-c", "--cost", type=click.FloatRange(min=0, min_open=True), default=1.0,
              show_default=True, help="1 / the strength of the penalty.")  # fmt: skip
@click.option("-a", "--algorithm", default="CRF", show_default=True,
              help="CRF (CRF-L2) or CRF-L1; any case.")  # fmt: skip
@click.option("-t", "--textmodel", is_flag=True, help="Write the model as text, too.")
@click.option("-C", "--convert", is_flag=True, help="Make a model of one that is text.")
@click.option("-p", "--thread", type=click.IntRange(min=0), default=0, help="Threads; 0: all.")
@click.option("--tol", type=float, default=1e-5, show_default=True,
              help="proxqn's own: how far above the optimum to end, as a share of it.")  # fmt: skip
@click.option("-e", "--eta", type=click.FloatRange(min=0), default=1e-4, show_default=True,
              help="End when ten iterations gain less than a tenth of this share.")  # fmt: skip
@click.option("-H", "--shrinking-size", "shrinking", type=int, default=20, hidden=True)
def crf_learn(files: tuple[str, ...], **options: Any) -> None:
    """Train: FILES are template, data and model; with -C text model and model."""
    if options["convert"]:
        text, model = _named(files, ("TEXT-MODEL", "MODEL"))
        check_outputs({"MODEL": model}, {"TEXT-MODEL": text})
        write_bytes(model_bytes(read_model(text)), model)
        return
    template, data, model = _named(files, ("TEMPLATE", "DATA", "MODEL"))
    lam, l2 = _penalties(options["algorithm"].lower(), options["cost"])
    warn_of_ignored({"shrinking-size": (options["shrinking"], 20)})
    as_text = f"{model}.txt" if options["textmodel"] else None
    check_outputs({"MODEL": model, "--textmodel": as_text}, {"TEMPLATE": template, "DATA": data})
    templates = read_templates(template, Dialect.CRFPP)
    Translation(templates, Dialect.CRFPP)  # refuses what the model file could not hold
    objective = Objective(
        lam,
        l2,
        min_freq=options["freq"],
        max_iter=options["maxiter"],
        tol=options["tol"],
        stop=options["eta"] * _ETA_SHARE,
        n_jobs=options["thread"] or -1,
    )
    show = partial(_show, err=model == STANDARD)
    crf = fit(templates, crfpp_sequences(data), objective, show)
    written = pattern_model_of(crf, Dialect.CRFPP, compact=False)
    write_bytes(model_bytes(written), model)
    if as_text is not None:
        write_bytes(b"".join(model_lines(written)), as_text)


def _named(files: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    if len(files) != len(names):
        raise click.UsageError(f"expected {' '.join(names)}, got {len(files)} names of files.")
    return files


def _penalties(algorithm: str, cost: float) -> tuple[float, float]:
    """Return λ and ridge: CRF++ adds ‖w‖₁/C or ‖w‖²/(2C) to the loss."""
    match algorithm:
        case "crf" | "crf-l2":
            return 0.0, 1.0 / cost
        case "crf-l1":
            return 1.0 / cost, 0.0
        case "mira":
            raise click.UsageError("MIRA has another objective, which proxqn does not have.")
    raise click.UsageError(f"unknown algorithm {algorithm!r}; expected CRF, CRF-L2 or CRF-L1.")


def _show(row: Row, seconds: float, *, err: bool) -> None:
    """Write a line with the fields of CRF++'s, but for the error rates."""
    line = f"iter={row.iteration} act={row.nnz} obj={row.objective:.5f} gap={row.gap:.5f}"
    line += f" time={seconds:.2f}"
    click.echo(line, err=err)


@click.command()
@click.argument("files", nargs=-1)
@click.option("-m", "--model", metavar="FILE", required=True, help="The model.")
@click.option("-n", "--nbest", type=click.IntRange(min=0), default=0, help="So many labellings.")
@click.option("-v", "--verbose", type=click.IntRange(min=0), default=0,
              help="1: probabilities; 2: those of all labels.")  # fmt: skip
@click.option("-c", "--cost-factor", "factor", type=click.FloatRange(min=0, min_open=True),
              default=1.0, help="Factor of all weights.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Standard output without it.")
def crf_test(
    files: tuple[str, ...], model: str, nbest: int, verbose: int, factor: float, output: str | None
) -> None:
    """Label FILES (standard input)."""
    output = output or STANDARD
    named = {f"FILES {k}": name for k, name in enumerate(files or (STANDARD,), 1)}
    check_outputs({"--output": output}, {**named, "--model": model})
    labeller = Labeller(read_model(model), model)
    labeller.scale(factor)
    with opened(output) as file:
        for source in files or (None,):
            for batch in batches(crfpp_sequences(source)):
                file.writelines(_labelled(labeller, batch, nbest, verbose))


def _labelled(
    labeller: Labeller, batch: list[RawSequence], nbest: int, verbose: int
) -> Iterator[bytes]:
    """Yield the lines of some sequences."""
    names = [bytes_of(label) for label in labeller.labels]
    encoded = labeller.encoded(batch)
    rows: list[Any] = [None] * len(batch)
    if verbose:
        rows = [part.tolist() for part in labeller.probabilities(encoded)]
    needs_probability = bool(nbest or verbose)
    found = labeller.likeliest(encoded, max(1, nbest), with_probability=needs_probability)
    for sequence, probabilities, labellings in zip(batch, rows, found, strict=True):
        for rank, (labels, probability) in enumerate(labellings):
            if nbest:
                yield b"# %d %f\n" % (rank, probability)
            elif verbose:
                yield b"# %f\n" % probability
            for t, label in enumerate(labels):
                cells = [*sequence.rows[t], names[label]]
                if verbose:
                    cells[-1] += b"/%f" % probabilities[t][label]
                if verbose > 1:
                    cells += [b"%s/%f" % pair for pair in zip(names, probabilities[t], strict=True)]
                yield b"\t".join(cells) + b"\n"
            yield b"\n"
