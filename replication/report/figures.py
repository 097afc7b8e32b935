"""Figures as files: PNG to pass on, SVG for the page."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from replication.report.parts import Curves, Series
from replication.runs.methods import METHODS
from replication.whole_files import write_whole

_LOG_SPAN: Final = 2000.0
_MOST_POINTS: Final = 500  # of a line; more cannot be seen
_SIZE: Final = (5.2, 3.9)  # inches: readable on a telephone when as wide as its screen
_CYCLE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Final = ("-", "--", ":", "-.")
_STYLES: Final = {m.title: (m.colour, m.dashes) for m in METHODS.values()}


@final
@dataclass(frozen=True)
class Drawing:
    """A figure that was drawn: its caption, its text for who cannot see it, and its SVG."""

    caption: str
    description: str
    svg: str


def draw(curves: Curves, folder: Path, name: str, *, log_x: bool = False) -> Drawing:
    """Draw lines, write ``NAME.png`` and ``NAME.svg``, and return the drawing.

    Lines named like a method have its colour, so that it is the same in every figure.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "figures need matplotlib; install it with: pip install 'proxqn[plots]'"
        ) from None

    # The same drawing gives the same file: no date, and names of parts from a fixed salt.
    with rc_context({"svg.hashsalt": name, "font.size": 11, "axes.formatter.useoffset": False}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        ax: Any = figure.subplots()
        drawn = 0
        for i, series in enumerate(curves.series):
            drawn += _line(ax, series, _style(series.label, i), curves.log_y, log_x)
        _axes(ax, curves, log_x=log_x and drawn > 0, log_y=curves.log_y and drawn > 0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, for both files
        folder.mkdir(parents=True, exist_ok=True)
        png, svg = io.BytesIO(), io.BytesIO()
        figure.savefig(png, format="png", dpi=160)
        figure.savefig(svg, format="svg", metadata={"Date": None})
    write_whole(png.getvalue(), folder / f"{name}.png")
    write_whole(svg.getvalue(), folder / f"{name}.svg")
    described = f"{curves.y_label} against {curves.x_label}: " + ", ".join(
        series.label for series in curves.series
    )
    return Drawing(curves.title, described, svg.getvalue().decode())


def _style(label: str, i: int) -> tuple[str, str]:
    styles: Mapping[str, tuple[str, str]] = _STYLES
    return styles.get(label, (_CYCLE[i % len(_CYCLE)], _DASHES[i // len(_CYCLE) % len(_DASHES)]))


def _line(ax: Any, series: Series, style: tuple[str, str], log_y: bool, log_x: bool) -> int:
    """Draw what the axes can show of a line; return the number of its points."""
    x, y = np.array(series.x, dtype=float), np.array(series.y, dtype=float)
    seen = np.isfinite(x) & np.isfinite(y) & ((y > 0) | (not log_y)) & ((x > 0) | (not log_x))
    x, y = thinned(x[seen], y[seen])
    colour, dashes = style
    few = len(x) <= 25
    ax.plot(
        x, y, color=colour, ls=dashes, lw=1.9, label=series.label, marker="o" if few else None, ms=3
    )
    if len(x):  # where a line ends, its run ended
        ax.plot(x[-1:], y[-1:], color=colour, marker="o", ms=5, ls="none")
    return len(x)


def thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """Keep some hundred points of a long line, evenly along it, its ends among them.

    >>> x, y = thinned(np.arange(9999.0), np.arange(9999.0))
    >>> len(x) <= 500, x[0], x[-1]
    (True, np.float64(0.0), np.float64(9998.0))
    """
    if len(x) <= _MOST_POINTS:
        return x, y
    # Half of them by number, half by x: neither a quick start nor a long end is lost.
    by_number = np.linspace(0, len(x) - 1, _MOST_POINTS // 2).astype(int)
    by_x = (
        np.searchsorted(x, np.linspace(x[0], x[-1], _MOST_POINTS // 2)) if _rises(x) else by_number
    )
    keep = np.unique(np.clip(np.concatenate([by_number, by_x]), 0, len(x) - 1))
    return x[keep], y[keep]


def _rises(x: Any) -> bool:
    return bool((np.diff(x) >= 0).all())


def _axes(ax: Any, curves: Curves, *, log_x: bool, log_y: bool) -> None:
    if log_y:
        ax.set_yscale("log")
    if log_x:
        ax.set_xscale("log")
        right = ax.get_xlim()[1]
        ax.set_xlim(left=max(ax.get_xlim()[0], right / _LOG_SPAN))  # the first instants are dull
    else:
        ax.set_xlim(left=0)
    ax.set_xlabel(curves.x_label)
    ax.set_ylabel(curves.y_label)
    ax.grid(True, which="major", color="#e6e6e6", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if len(curves.series) > 1:
        ax.legend(
            frameon=False, fontsize=9, ncols=2, loc="lower left", bbox_to_anchor=(-0.05, 1.0),
            borderaxespad=0.2, handlelength=1.8, columnspacing=1.2,
        )  # fmt: skip


def slug(text: str) -> str:
    """Return a file name for a title.

    >>> slug("Nonzeros, λ = 0.5")
    'nonzeros-lam-0.5'
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower().replace("λ", "lam").replace(" = ", " ")).strip(
        "-"
    )
