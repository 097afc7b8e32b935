"""Fits to one objective: the programs' to their own ends, ours in their place to ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from benchmarks.pattern_programs.cases import Data
from benchmarks.pattern_programs.programs import Run, ours, programs, run

from proxqn import ChainCRF
from proxqn.cli.stand_ins.columns import RawSequence, crfpp_sequences, wapiti_sequences

HEADER: Final = [
    "fit", "their objective", "ours", "their s", "our s", "times", "our s to theirs", "times"
]  # fmt: skip
_ROW: Final = re.compile(rb"obj=([0-9.]+).*time=(?:[0-9.]+s/)?([0-9.]+)")


@final
@dataclass(frozen=True)
class Fit:
    """The same objective, minimised twice; seconds of CPU, reading and writing included."""

    name: str
    theirs: float
    mine: float
    their_seconds: float
    my_seconds: float
    until: float | None  # our seconds when our objective was first as low as theirs

    @property
    def is_kept(self) -> bool:
        """Whether ours is at least as low."""
        return self.mine <= self.theirs

    def row(self) -> list[str]:
        """Return a row of a table."""
        until = ["–", "–"]
        if self.until is not None:
            until = [f"{self.until:.1f}", f"{self.their_seconds / self.until:.1f}"]
        return [
            self.name,
            f"{self.theirs:.3f}",
            f"{self.mine:.3f}",
            f"{self.their_seconds:.1f}",
            f"{self.my_seconds:.1f}",
            f"{self.their_seconds / self.my_seconds:.1f}",
            *until,
        ]


def fits(data: Data, folder: Path, train: Path) -> Iterator[Fit]:
    """Yield Wapiti's defaults, CRF++'s ℓ1 and its default, ℓ2."""
    patterns, template = folder / "patterns", folder / "template"
    patterns.write_text(data.wapiti)
    template.write_text(data.crfpp)
    models = folder / "theirs", folder / "ours"
    commands: tuple[tuple[str, list[Any], float, float], ...] = (
        ("wapiti", ["train", "-p", patterns, train], 0.5, 1e-4),
        ("crf_learn", ["-t", "-p", "1", "-a", "CRF-L1", template, train], 1.0, 0.0),
        ("crf_learn", ["-t", "-p", "1", template, train], 0.0, 1.0),
    )
    for program, arguments, lam, l2 in commands:
        theirs = run(programs() / program, *arguments, models[0])
        mine = ours(program, *arguments, models[1])
        values = [_objective(program, model, train, lam, l2) for model in models]
        name = f"{data.name}: {program} ℓ1 = {lam:g}, ℓ2 = {l2:g}"
        until = _until(mine, values[0])
        yield Fit(name, values[0], values[1], theirs.seconds, mine.seconds, until)


def _until(mine: Run, objective: float) -> float | None:
    """Return our seconds of CPU until the log first shows an objective; the share goes by clock."""
    rows = [(float(f), float(t)) for f, t in _ROW.findall(mine.output + mine.errors)]
    reached = [t for f, t in rows if f <= objective]
    if not reached:
        return None
    return mine.seconds - (rows[-1][1] - reached[0]) * mine.seconds / mine.elapsed


def _objective(program: str, model: Path, train: Path, lam: float, l2: float) -> float:
    """Return loss + lam ‖w‖₁ + (l2/2) ‖w‖² of a file's weights, in double precision."""
    if program == "wapiti":
        read: Callable[[str], Iterator[RawSequence]] = wapiti_sequences
        crf = ChainCRF.from_wapiti(model)
    else:
        read, crf = crfpp_sequences, ChainCRF.from_crfpp(f"{model}.txt")
    assert crf.encoder_ is not None
    assert crf.encoder_.templates is not None
    n_columns, X, y = crf.encoder_.templates.n_columns, [], []
    for sequence in read(str(train)):
        rows, labels = sequence.split_labels()
        X.append(rows.features(n_columns))
        y.append(labels)
    loss = -float(crf.log_probability(X, y).sum())
    weights = np.concatenate([crf.coef_.data, crf.transitions_.ravel(), crf.edge_coef_.data])
    return loss + lam * float(np.abs(weights).sum()) + l2 / 2 * float((weights**2).sum())
