"""The figures of a comparison, with the paper's axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from proxqn.problem import Floats
from replication.report.comparison import Comparison, Run, Study
from replication.report.figures import Drawing, draw, slug
from replication.report.parts import Curves, Series
from replication.runs.methods import METHODS, WITHOUT_SHRINKING

_ERROR: Final = "(f(w) − f(w*)) / f(w*)"


def by_time(study: Study, comparison: Comparison, folder: Path) -> list[Drawing]:
    """Draw error and nonzeros over time; for the main λ also with logarithmic time, and scores."""
    lam, clock = f"λ = {comparison.lam:g}", study.clock
    runs = comparison.shrinking
    errors = tuple(_series(run.title, run.seconds, comparison.error(run)) for run in runs)
    nonzeros = tuple(_series(run.title, run.seconds, run.nonzeros) for run in runs)
    figures = [
        _draw(
            study,
            Curves(f"Relative objective difference, {lam}", clock, _ERROR, True, errors),
            folder,
        ),
        _draw(
            study,
            Curves(f"Nonzero weights, {lam}", clock, "nonzero weights", True, nonzeros),
            folder,
        ),
    ]
    if comparison is study.main:
        title = f"The same with logarithmic time, {lam}"
        figures.append(_draw(study, Curves(title, clock, _ERROR, True, errors), folder, log_x=True))
        scores = tuple(_accuracy(run) for run in runs if run.record.scored)
        if scores:
            title = f"Test accuracy against time, {lam}"
            figures.append(
                _draw(study, Curves(title, clock, "test accuracy", False, scores), folder)
            )
    return figures


def by_passes(study: Study, runs: Sequence[Run], folder: Path) -> Drawing:
    """Draw the error over passes; lines end at twice the passes of those without shrinking."""
    main = study.main
    series = [_series(run.title, run.passes, main.error(run)) for run in runs]
    without = {METHODS[name].title for name in WITHOUT_SHRINKING}
    most = 2.0 * max(max(line.x) for line in series if line.label in without)
    lengths = [sum(x <= most for x in line.x) for line in series]  # x only grows
    cut = tuple(
        replace(line, x=line.x[:n], y=line.y[:n]) for line, n in zip(series, lengths, strict=True)
    )
    title = f"Relative objective difference over passes, without shrinking, λ = {main.lam:g}"
    return _draw(study, Curves(title, "passes over the data", _ERROR, True, cut), folder)


def _accuracy(run: Run) -> Series:
    """Return the test scores, their times moved to the study's clock."""
    wall = [point["seconds"] for point in run.record.scored]
    seconds = np.interp(wall, run.wall, run.seconds)
    return _series(run.title, seconds, np.array([p["accuracy"] for p in run.record.scored]))


def _series(label: str, x: Floats, y: Floats) -> Series:
    return Series(label, tuple(x.tolist()), tuple(y.tolist()))


def _draw(study: Study, curves: Curves, folder: Path, *, log_x: bool = False) -> Drawing:
    return draw(curves, folder, f"{study.spec.kind}-{slug(curves.title)}", log_x=log_x)
