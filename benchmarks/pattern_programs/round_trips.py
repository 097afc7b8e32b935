"""Models go from program to program: equal tags, numbers equal to the digits that are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from benchmarks.pattern_programs.cases import Data
from benchmarks.pattern_programs.programs import ours, programs, run

from proxqn import ChainCRF
from proxqn.cli.stand_ins.columns import crfpp_sequences, wapiti_sequences
from proxqn.cli.stand_ins.training import Objective, fit
from proxqn.features.templates import Templates

TOLERANCE: Final = 1e-6
"""Of scores and probabilities, beside a unit of the sixth digit, the last that is printed."""

HEADER: Final = ["model", "tokens", "tags that differ", "numbers", "largest difference"]


class Parsed(NamedTuple):
    """A program's output: all labels and all numbers of it, in order."""

    labels: list[str]
    numbers: list[float]


@final
@dataclass(frozen=True)
class Trip:
    """One file, labelled with by two."""

    name: str
    n_tokens: int
    n_different: int  # tags
    n_numbers: int
    worst: float

    @property
    def is_equal(self) -> bool:
        """Whether every tag is equal, and every number to the tolerance."""
        return not self.n_different and self.worst <= TOLERANCE + 1e-6

    def row(self) -> list[str]:
        """Return a row of a table."""
        counts = f"{self.n_tokens:,}", f"{self.n_different}", f"{self.n_numbers:,}"
        return [self.name, *counts, f"{self.worst:.2g}"]


def trips(data: Data, folder: Path, train: Path, iterations: int) -> Iterator[Trip]:
    """Yield both directions, for Wapiti's file and CRF++'s two."""
    wapiti, learn = programs() / "wapiti", programs() / "crf_learn"
    patterns, template = folder / "patterns", folder / "template"
    patterns.write_text(data.wapiti)
    template.write_text(data.crfpp)
    few = str(iterations)
    theirs = folder / f"{data.name}.wapiti"
    run(wapiti, "train", "-i", few, "-c", "-p", patterns, train, theirs)
    yield _compared(data, theirs, "Wapiti, their file", None)
    objective = Objective(0.5, 1e-4, max_iter=iterations)
    crf = fit(Templates.parse(data.wapiti, dialect="wapiti"), wapiti_sequences(str(train)),
              objective, lambda *_: None)  # fmt: skip
    crf.to_wapiti(folder / "back.wapiti")
    yield _compared(data, folder / "back.wapiti", "Wapiti, our file", crf)
    theirs = folder / f"{data.name}.crfpp"
    run(learn, "-p", "1", "-t", "-m", few, template, train, theirs)
    yield _compared(data, theirs, "CRF++, their file", None)
    converted = folder / "converted.crfpp"
    ours("crf_learn", "-C", f"{theirs}.txt", converted)
    yield _compared(data, converted, "CRF++, their text", None)
    crf = fit(Templates.parse(data.crfpp), crfpp_sequences(str(train)),
              Objective(1.0, 0.0, max_iter=iterations), lambda *_: None)  # fmt: skip
    crf.to_crfpp(folder / "back.crfpp")
    yield _compared(data, folder / "back.crfpp", "CRF++, our file", crf)
    crf.to_crfpp(folder / "back.txt", text=True)
    run(learn, "-C", folder / "back.txt", converted)
    yield _compared(data, converted, "CRF++, our text", crf)


def _compared(data: Data, model: Path, name: str, crf: ChainCRF | None) -> Trip:
    """Label with a file, by the program and by us; and with the chain that it was made of."""
    if name.startswith("Wapiti"):
        commands: list[tuple[Any, ...]] = [
            ("wapiti", "label", "-s", "-m", model, data.test),
            ("wapiti", "label", "-s", "-p", "-m", model, data.test),
        ]
    else:
        commands = [("crf_test", "-v", "2", "-m", model, data.test)]
    different, worst, n_numbers, n_tokens = 0, 0.0, 0, 0
    for command in commands:
        theirs = _parsed(run(programs() / command[0], *command[1:]).output, data.n_columns + 1)
        mine = _parsed(ours(*command).output, data.n_columns + 1)
        for one in [mine, *([] if crf is None else [_of_chain(crf, data, command, theirs)])]:
            different += sum(a != b for a, b in zip(theirs.labels, one.labels, strict=True))
            if one.numbers:
                gaps = np.abs(np.array(theirs.numbers) - np.array(one.numbers))
                worst, n_numbers = max(worst, float(gaps.max())), n_numbers + len(gaps)
        n_tokens = len(theirs.labels)
    return Trip(f"{data.name}: {name}", n_tokens, different, n_numbers, worst)


def _parsed(output: bytes, n_columns: int) -> Parsed:
    """Take the columns of the data off, and ``label/number`` apart."""
    labels: list[str] = []
    numbers: list[float] = []
    for line in output.decode(errors="surrogateescape").split("\n"):
        cells = line.split("\t")
        if line.startswith("# ") and len(cells) == 1:
            numbers.append(float(line.split(" ")[-1]))
            continue
        added = cells[n_columns:] if len(cells) > n_columns else cells[1:]
        for i, cell in enumerate(added):
            label, slash, number = cell.rpartition("/")
            if slash:
                numbers.append(float(number))
            if not i:
                labels.append(label if slash else cell)
    return Parsed(labels, numbers)


def _of_chain(crf: ChainCRF, data: Data, command: tuple[Any, ...], theirs: Parsed) -> Parsed:
    """Return what the chain itself, never written, says of the same sequences."""
    read = wapiti_sequences if command[0] == "wapiti" else crfpp_sequences
    X = [sequence.features(data.n_columns) for sequence in read(str(data.test))]
    if "-p" not in command:
        return Parsed([str(y) for labels in crf.predict(X) for y in labels], [])
    numbers, classes, label = [], {c: i for i, c in enumerate(crf.classes_)}, iter(theirs.labels)
    for rows in crf.predict_marginals(X):
        found = [float(row[classes[next(label)]]) for row in rows]
        numbers += [float(np.prod(found)), *found]
    return Parsed(theirs.labels, numbers)
