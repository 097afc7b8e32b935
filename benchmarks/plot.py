"""The figure: relative error against seconds of training, one panel a problem."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from benchmarks.analyse import Analysis
from benchmarks.trainers import CRFSUITE, OURS, PAPER
from matplotlib import pyplot as plt

FLOOR = 1e-7  # errors below are not told apart from the best known optimum
_APART = 0.02  # decades
STYLES = {
    OURS: {"color": "#c0392b", "linewidth": 2.2, "label": "proxqn", "zorder": 3},
    PAPER: {"color": "#c0392b", "linestyle": "--", "label": "proxqn, the paper's settings"},
    CRFSUITE: {"color": "#2c3e50", "linewidth": 1.8, "label": "CRFsuite (OWL-QN)"},
    "sklearn-crfsuite": {"color": "#7f8c8d", "linestyle": ":"},
    "chaine": {"color": "#95a5a6", "linestyle": "-."},
    "prox-gd": {"color": "#2980b9", "linewidth": 1.0, "label": "proximal gradient (ours)"},
    "owl-qn": {"color": "#16a085", "linewidth": 1.0, "label": "OWL-QN (ours)"},
    "sgd": {"color": "#f39c12", "linewidth": 1.0, "label": "SGD (ours)"},
    "bcd": {"color": "#8e44ad", "linewidth": 1.0, "label": "block coordinate descent (ours)"},
}


def draw(analyses: Sequence[Analysis], folder: Path) -> list[Path]:
    """Write ``benchmark.png`` and ``benchmark.svg``."""
    columns = min(3, len(analyses))
    rows = -(-len(analyses) // columns)
    size = (4.6 * columns, 3.4 * rows + 0.8)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(analyses) :]:
        axis.set_visible(False)
    handles = {}
    for axis, analysis in zip(axes.flat, analyses, strict=False):
        _panel(axis, analysis)
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8)
    paths = [folder / "benchmark.png", folder / "benchmark.svg"]
    mpl.rcParams["svg.hashsalt"] = "proxqn"  # the same file from the same runs
    mpl.rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the bytes
    for path in paths:
        figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    paths[1].write_text(_slim(paths[1].read_text(encoding="utf-8")), encoding="utf-8")
    return paths


def _slim(svg: str) -> str:
    """Return a picture without the digits, comments and indentation that nobody sees."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"(\d\.\d)\d+", r"\1", svg))


def _seen(elapsed: Sequence[float], errors: Sequence[float]) -> list[int]:
    """Return the points of a line that can be told apart: a fiftieth of a decade from the last."""
    at = [(math.log10(max(t, 1e-9)), math.log10(e)) for t, e in zip(elapsed, errors, strict=True)]
    kept = [0]
    for i, (x, y) in enumerate(at):
        last_x, last_y = at[kept[-1]]
        if max(abs(x - last_x), abs(y - last_y)) > _APART or i == len(at) - 1:
            kept.append(i)
    return kept


def _panel(axis: plt.Axes, analysis: Analysis) -> None:
    for line in analysis.lines:
        record = line.record
        lowest = list(accumulate(record.history["objective"], min))
        errors = [max(value / analysis.optimum - 1.0, FLOOR) for value in lowest]
        elapsed = [s - record.setup_seconds for s in record.history["seconds"]]
        seen = _seen(elapsed, errors)
        axis.loglog(
            [elapsed[i] for i in seen],
            [errors[i] for i in seen],
            **({"label": record.trainer} | STYLES[record.trainer]),
        )
    axis.set_title(analysis.title, fontsize=9)
    axis.set_xlabel("processor seconds of training, one thread", fontsize=8)
    axis.set_ylabel("relative error of the objective", fontsize=8)
    axis.set_ylim(FLOOR, 2.0)
    axis.tick_params(labelsize=7)
    axis.minorticks_off()
    axis.grid(alpha=0.25)
