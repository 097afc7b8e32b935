"""``proxqn crfsuite``: learn, tag and dump with CRFsuite's arguments, files and output."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import TextIO, final

import click
import numpy as np

from proxqn.cli.outputs import STANDARD, check_outputs
from proxqn.cli.stand_ins.training import warn
from proxqn.compat.pycrfsuite.messages import score_lines
from proxqn.compat.pycrfsuite.parameters import ALGORITHMS, ALIASES
from proxqn.compat.pycrfsuite.tagger import Tagger
from proxqn.compat.pycrfsuite.trainer import BaseTrainer
from proxqn.features.sequence_record import SequenceRecord
from proxqn.io.readers import read_crfsuite

_BATCH = 1024  # sequences labelled at once
_HELP = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=_HELP)
def crfsuite() -> None:
    """Stand in for CRFsuite: its arguments, data, models and output."""


@final
class _Trainer(BaseTrainer):
    """Writes its log to a file."""

    file: TextIO = sys.stdout

    def message(self, message: str) -> None:
        self.file.write(message)
        self.file.flush()


@crfsuite.command(context_settings=_HELP)
@click.argument("data", nargs=-1)
@click.option("-t", "--type", "kind", type=click.Choice(["1d"]), default="1d", help="1d.")
@click.option("-a", "--algorithm", type=click.Choice([*ALGORITHMS, *ALIASES]), default="lbfgs",
              show_default=True, help="Others than lbfgs with a warning.")  # fmt: skip
@click.option("-p", "--set", "--param", "parameters", metavar="NAME=VALUE", multiple=True,
              help="Set a parameter of the algorithm; see -H.")  # fmt: skip
@click.option("-m", "--model", default="", help="Write the model to a file; by default none.")
@click.option("-g", "--split", type=click.IntRange(min=2), help="Split the data into N groups.")
@click.option("-e", "--holdout", type=click.IntRange(min=1), help="Test on the M-th group.")
@click.option("-x", "--cross-validate", is_flag=True, help="Hold out each group in turn.")
@click.option("-l", "--log-to-file", is_flag=True, help="Write the log to a file.")
@click.option("-L", "--logbase", default="log.crfsuite", help="What its name begins with.")
@click.option("-H", "--help-parameters", is_flag=True, help="Show the algorithm's parameters.")
def learn(
    data: tuple[str, ...],
    kind: str,
    algorithm: str,
    parameters: tuple[str, ...],
    model: str,
    split: int | None,
    holdout: int | None,
    cross_validate: bool,
    log_to_file: bool,
    logbase: str,
    help_parameters: bool,
) -> None:
    """Train on DATA files (standard input), each of which is a group."""
    trainer = _Trainer(algorithm)
    for setting in parameters:
        name, _, value = setting.partition("=")
        try:
            trainer.set(name, value)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if help_parameters:
        click.echo(f"PARAMETERS for {algorithm} ({kind}):\n")
        for name in trainer.params():
            click.echo(f"{name} = {trainer.get(name)}\n{trainer.help(name)}\n")
        return
    files = data or (STANDARD,)
    log_name = "_".join([logbase, algorithm, *parameters]) if log_to_file else None
    check_outputs(
        {"--model": model or None, "--log-to-file": log_name},
        {f"DATA {k}": file for k, file in enumerate(files, 1)},
    )
    if log_name is not None:
        with open(log_name, "w", encoding="utf-8") as log:
            trainer.file = log
            _train(trainer, files, model, split, holdout, cross_validate=cross_validate)
    else:
        trainer.file = sys.stdout
        _train(trainer, files, model, split, holdout, cross_validate=cross_validate)


def _train(
    trainer: _Trainer,
    files: tuple[str, ...],
    model: str,
    split: int | None,
    holdout: int | None,
    *,
    cross_validate: bool,
) -> None:
    trainer.message(f"Start time of the training: {_now()}\n\nReading the data set(s)\n")
    records: list[tuple[SequenceRecord, int]] = []
    for group, file in enumerate(files):
        found = list(read_crfsuite(file))
        trainer.message(f"[{group + 1}] {file}\nNumber of instances: {len(found)}\n")
        records += [(record, group) for record in found]
    n_groups = split or len(files)
    if split:
        order = np.random.default_rng(0).permutation(len(records)).tolist()
        records = [(records[i][0], place % split) for place, i in enumerate(order)]
    for record, group in records:
        trainer.append(record.tokens, record.labels or [], group, weight=record.weight)
    n_tokens = sum(len(record.tokens) for record, _ in records)
    trainer.message(
        f"\nStatistics the data set(s)\nNumber of data sets (groups): {n_groups}\n"
        f"Number of instances: {len(records)}\nNumber of items: {n_tokens}\n\n"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        if cross_validate:
            for group in range(n_groups):
                trainer.message(f"===== Cross validation ({group + 1}/{n_groups}) =====\n")
                trainer.train("", group)
        else:
            trainer.train(model, -1 if holdout is None else holdout - 1)
    for text in dict.fromkeys(str(one.message) for one in caught):
        warn(text)
    trainer.message(f"End time of the training: {_now()}\n\n")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@crfsuite.command(context_settings=_HELP)
@click.argument("data", default="-")
@click.option("-m", "--model", required=True, help="The model.")
@click.option("-t", "--test", is_flag=True, help="Tell how well the data are labelled.")
@click.option("-r", "--reference", is_flag=True, help="Write the labels that the data have, too.")
@click.option("-p", "--probability", is_flag=True, help="Write probabilities of labellings.")
@click.option("-i", "--marginal", is_flag=True, help="Write the probability of each label.")
@click.option("-l", "--marginal-all", is_flag=True, help="Write those of all labels.")
@click.option("-q", "--quiet", is_flag=True, help="Write no labels.")
def tag(data: str, model: str, **options: bool) -> None:
    """Label DATA (standard input)."""
    tagger = Tagger()
    tagger.open(model)
    start = time.perf_counter()
    labels = tagger.labels()
    y_true: list[list[str]] = []
    y_pred: list[list[str]] = []
    records = read_crfsuite(data)
    out = sys.stdout
    while batch := list(islice(records, _BATCH)):
        found = tagger.tag_many(record.tokens for record in batch)
        if not options["quiet"]:
            for record, path in zip(batch, found, strict=True):
                out.writelines(_shown(tagger, record, path, labels, options))
        if options["test"]:
            y_true += [record.labels or [] for record in batch]
            y_pred += found
    if options["test"]:
        seconds = max(time.perf_counter() - start, 1e-9)
        out.writelines(score_lines(y_true, y_pred, labels))
        rate = len(y_true) / seconds
        out.write(f"Elapsed time: {seconds:f} [sec] ({rate:.1f} [instance/sec])\n")


def _shown(
    tagger: Tagger,
    record: SequenceRecord,
    path: list[str],
    labels: list[str],
    options: dict[str, bool],
) -> Iterator[str]:
    """Yield the lines of a sequence."""
    tagger.set(record.tokens)
    if options["probability"]:
        score, probability = tagger.score(path), tagger.probability(path)
        yield f"@score\t{score:f}\t{score - np.log(probability):f}\n@probability\t{probability:f}\n"
    for t, label in enumerate(path):
        line = f"{(record.labels or path)[t]}\t{label}" if options["reference"] else label
        if options["marginal"]:
            line += f":{tagger.marginal(label, t):f}"
        if options["marginal_all"]:
            line += "".join(f"\t{name}:{tagger.marginal(name, t):f}" for name in labels)
        yield f"{line}\n"
    yield "\n"


@crfsuite.command(context_settings=_HELP)
@click.argument("model")
def dump(model: str) -> None:
    """Write MODEL as text."""
    tagger = Tagger()
    with tagger.open(model):
        tagger.dump()
