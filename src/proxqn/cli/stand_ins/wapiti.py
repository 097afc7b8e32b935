"""``proxqn wapiti``: train, label and dump with Wapiti's arguments, files and output."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import numpy as np

from proxqn.cli.outputs import STANDARD, check_outputs, opened
from proxqn.cli.stand_ins.columns import batches, wapiti_sequences
from proxqn.cli.stand_ins.error_rates import ErrorRates
from proxqn.cli.stand_ins.labelling import Labeller, Path
from proxqn.cli.stand_ins.wapiti_train import train
from proxqn.features.byte_text import bytes_of
from proxqn.io.pattern_model import PatternModel
from proxqn.io.wapiti import parse_model, read_model


class _Modes(click.Group):
    """Modes go by their first letters, too."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = [name for name in self.commands if cmd_name in (name, name[0])]
        return super().get_command(ctx, found[0] if found else cmd_name)


@click.group(cls=_Modes)
def wapiti() -> None:
    """Stand in for Wapiti: its arguments, patterns, models and output."""


wapiti.add_command(train)


@wapiti.command()
@click.argument("data", required=False)
@click.argument("output", required=False)
@click.option("-m", "--model", "path", metavar="FILE", required=True, help="The model.")
@click.option("-l", "--label", "labels_only", is_flag=True, help="Write labels alone.")
@click.option("-c", "--check", is_flag=True, help="The data are labelled: tell errors.")
@click.option("-s", "--score", is_flag=True, help="Write scores.")
@click.option("-p", "--post", is_flag=True, help="Label by posterior probabilities.")
@click.option("-n", "--nbest", type=click.IntRange(min=1), default=1, help="So many labellings.")
@click.option("--force", is_flag=True, help="Keep the labels that the data have.")
@click.option("--me", is_flag=True, hidden=True)
def label(
    data: str | None,
    output: str | None,
    path: str,
    labels_only: bool,
    check: bool,
    score: bool,
    post: bool,
    nbest: int,
    force: bool,
    me: bool,
) -> None:
    """Label DATA (standard input) and write OUTPUT (standard output)."""
    if me:
        raise click.UsageError("proxqn has CRFs alone: leave out --me.")
    if check and force:
        raise click.UsageError("--check and --force cannot be used together.")
    if force and nbest > 1 and not post:
        raise click.UsageError("--force with --nbest needs --post here.")
    output = output or STANDARD
    check_outputs({"OUTPUT": output}, {"DATA": data or STANDARD, "--model": path})
    labeller = Labeller(read_model(path), path)
    rates = ErrorRates(labeller.labels)
    names = [bytes_of(name) for name in labeller.labels]
    with opened(output) as file:
        for batch in batches(wapiti_sequences(data)):
            given = [s.split_labels() for s in batch] if check or force else None
            rows = batch if given is None else [rest for rest, _ in given]
            forced = None
            if force and given is not None:
                known = set(labeller.labels)
                forced = [[y if y in known else None for y in labels] for _, labels in given]
            encoded = labeller.encoded(rows)
            find = labeller.most_probable if post else labeller.best
            for sequence, paths in zip(batch, find(encoded, nbest, forced), strict=True):
                for rank, found in enumerate(paths):
                    lines = [] if labels_only else sequence.lines
                    file.writelines(_lines(found, rank, lines, names, scored=score))
                if check:
                    rates.add(sequence.split_labels()[1], paths[0].labels)
    if check:
        rates.tell()


def _lines(
    found: Path, rank: int, lines: list[bytes], names: list[bytes], *, scored: bool
) -> Iterator[bytes]:
    """Yield the paragraph of a labelling."""
    if scored:
        yield b"# %d %f\n" % (rank, found.score)
    for t, number in enumerate(found.labels):
        before = lines[t] + b"\t" if lines else b""
        more = b"\t%s/%f" % (names[number], found.scores[t]) if scored else b""
        yield before + names[number] + more + b"\n"
    yield b"\n"


@wapiti.command()
@click.argument("model", required=False)
@click.argument("output", required=False)
@click.option("-p", "--prec", type=click.IntRange(0, 100), default=5, help="Decimals.")
@click.option("--all", "everything", is_flag=True, help="Weights of 0, too.")
def dump(model: str | None, output: str | None, prec: int, everything: bool) -> None:
    """Write the weights of MODEL (standard input) as text to OUTPUT (standard output)."""
    output = output or STANDARD
    check_outputs({"OUTPUT": output}, {"MODEL": model or STANDARD})
    with opened(output) as file:
        found = parse_model(sys.stdin.buffer.read()) if model is None else read_model(model)
        file.writelines(_dumped(found, prec, everything=everything))


def _dumped(model: PatternModel, digits: int, *, everything: bool) -> Iterator[bytes]:
    """Yield a line a weight, ``observation label-before label weight``, and empty ones between."""
    labels, n = [bytes_of(label) for label in model.labels], len(model.labels)
    blocks = model.blocks
    for i, name in enumerate(map(bytes_of, model.names)):
        lines = []
        for weights, is_there, width in (
            (model.weights, blocks.of_tokens[i], n),
            (model.edge_weights, blocks.of_steps[i], n * n),
        ):
            if not is_there:
                continue
            row = weights[[i]].toarray()[0]
            for j in range(width) if everything else np.flatnonzero(row).tolist():
                before = b"#" if weights is model.weights else labels[j // n]
                cells = name, before, labels[j % n], b"%.*f" % (digits, row[j])
                lines.append(b"\t".join(cells) + b"\n")
        yield from lines
        if lines:
            yield b"\n"
