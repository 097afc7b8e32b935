"""``proxqn predict``: label new data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from proxqn.cli.labelling import Batch, batches
from proxqn.cli.outputs import check_writable, write_lines
from proxqn.cli.sequence_files import Reading, reading_options
from proxqn.cli.tree_files import TreeReading, fitted_columns
from proxqn.estimators.inference.constraints import Constraints
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io import model_file
from proxqn.io.chain_file import SavedChain
from proxqn.io.readers.svmlight import read_svmlight
from proxqn.io.tree_file import SavedTree

_DIGITS = 6  # of probabilities


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
    label column of the input is passed through.
    """
    if n_best is not None and (marginals is not None or scheme is not None):
        raise click.UsageError("--n-best excludes --marginals and --scheme.")
    check_writable(output)
    saved = model_file.read(model)
    counted = [0]
    if isinstance(saved, SavedChain):
        reading = Reading.from_json(saved.reading).changed(options)
        lines = _chain_lines(saved, data, reading, marginals, n_best, scheme, counted)
    else:
        lines = _tree_lines(saved, data, marginals, n_best, counted)
    write_lines((f"{line}\n" for line in lines), output)
    if counted[0] and not quiet:
        click.echo(f"{counted[0]:,} occurrences of features without a weight", err=True)


def _chain_lines(
    saved: SavedChain,
    source: str,
    reading: Reading,
    marginals: str | None,
    n_best: int | None,
    scheme: str | None,
    counted: list[int],
) -> Iterator[str]:
    classes = [str(label) for label in saved.model.classes_.tolist()]
    rules = None if scheme is None else Constraints.from_scheme(classes, scheme)
    for batch in batches(saved, reading.records(source, labelled=False), source, reading):
        counted[0] += batch.encoded.n_unseen
        if n_best is not None:
            yield from _n_best_lines(saved, batch, reading, n_best)
            continue
        X, lengths, edges = batch.encoded.X, batch.encoded.lengths, batch.encoded.edges
        best: Any = saved.model.predict(X, lengths, edges=edges, constraints=rules)
        added = [[str(label)] for label in best.tolist()]
        if marginals is not None:
            p: Any = saved.model.predict_marginals(X, lengths, edges=edges)
            number = {label: j for j, label in enumerate(classes)}
            for cells, row in zip(added, p.tolist(), strict=True):
                cells += _probabilities(row, number[cells[0]], classes, marginals)
        start = 0
        for record in batch.records:
            stop = start + len(record.tokens)
            yield from _sequence_lines(record, added[start:stop], reading)
            start = stop


def _probabilities(row: list[float], best: int, classes: list[str], which: str) -> list[str]:
    if which == "best":
        return [f"{row[best]:.{_DIGITS}f}"]
    return [f"{label}/{p:.{_DIGITS}f}" for label, p in zip(classes, row, strict=True)]


def _n_best_lines(saved: SavedChain, batch: Batch, reading: Reading, n_best: int) -> Iterator[str]:
    """Write CRF++'s form: each labelling under a line ``# rank probability``."""
    encoded = batch.encoded
    found = saved.model.predict_n_best(encoded.X, encoded.lengths, edges=encoded.edges, n=n_best)
    for record, labellings in zip(batch.records, found, strict=True):
        if reading.format == "jsonl":
            yield json.dumps(
                {"n_best": [{"labels": y.tolist(), "probability": p} for y, p in labellings]}
            )
            continue
        for rank, (labels, p) in enumerate(labellings):
            yield f"# {rank} {p:.{_DIGITS}f}"
            yield from _sequence_lines(record, [[str(y)] for y in labels.tolist()], reading)


def _sequence_lines(
    record: SequenceRecord, added: list[list[str]], reading: Reading
) -> Iterator[str]:
    if reading.format == "jsonl":
        yield json.dumps({"tokens": record.tokens, "predicted": [cells[0] for cells in added]} | (
            {"marginals": [cells[1:] for cells in added]} if len(added[0]) > 1 else {}
        ), ensure_ascii=False)  # fmt: skip
        return
    separator = "\t" if reading.format != "columns" else reading.separator or " "
    for row, cells in zip(record.tokens, added, strict=True):
        yield separator.join([*(row if reading.needs_templates else []), *cells])
    yield ""


def _tree_lines(
    saved: SavedTree, source: str, marginals: str | None, n_best: int | None, counted: list[int]
) -> Iterator[str]:
    model = saved.model
    rows = read_svmlight(source, ignore=TreeReading.from_json(saved.reading).ignore)
    if not rows.labels:
        return
    X, counted[0] = fitted_columns(rows.X, model.n_features_in_)
    if marginals == "all":
        for row in model.predict_proba(X).tolist():
            pairs = zip(model.classes_.tolist(), row, strict=True)
            yield "\t".join(f"{name}/{p:.{_DIGITS}f}" for name, p in pairs)
        return
    k = min(n_best or 1, len(model.classes_))
    names, p = model.top_k(X, k)
    with_p = n_best is not None or marginals is not None
    for leaves, chances in zip(names.tolist(), np.asarray(p).tolist(), strict=True):
        cells = zip(leaves, chances, strict=True)
        yield "\t".join(f"{leaf}\t{c:.{_DIGITS}f}" if with_p else f"{leaf}" for leaf, c in cells)
