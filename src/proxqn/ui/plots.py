"""A picture of a run: how the proved error falls, how the support settles, where the time went."""

from __future__ import annotations

import io
import math
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from proxqn.replacing import write_atomically
from proxqn.run.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and vermilion of Okabe and Ito: told apart by colour-blind readers and in grey.
_BLUE, _VERMILION, _GREY = "#0072B2", "#D55E00", "#6b6b6b"
_PHASE_COLOURS = (
    "#56B4E9", "#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#F0E442", "#b8b8b8",
)  # fmt: skip


def plot_trace(trace: Trace, path: str | PathLike[str], *, title: str = "") -> Path:
    """Draw a run and write it to a file; its type follows from the name (.png, .svg, .pdf).

    Above, the objective minus the best lower bound of the run, with the certificates as they
    became known; in the middle, nonzero weights and working set; below, seconds by phase.

    Parameters
    ----------
    trace : Trace
        Of ``minimize`` or of a fitted estimator (``trace_``).
    path : path
        The file to write; its folder is created.
    title : str
        Stands above the picture.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    if len(trace) < 2:
        raise ValueError("the trace has no iterations; expected a run that made at least one.")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plots need matplotlib; install it with: pip install 'proxqn[plots]'"
        ) from None

    # A figure of its own, without pyplot: no window, no change of the process's settings.
    figure = Figure(figsize=(8.0, 7.2), layout="constrained")
    FigureCanvasAgg(figure)
    error, support, phases = figure.subplots(3, 1, height_ratios=[3.4, 2.4, 0.5])
    _draw_error(error, trace)
    _draw_support(support, trace)
    _draw_phases(phases, trace)
    support.sharex(error)
    _shade_the_start(error, trace)
    error.set_xlim(0.0, 1.09 * trace[-1].seconds)  # room for the last gap's figure
    error.tick_params(labelbottom=False)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=target.suffix[1:] or "png")
    write_atomically(picture.getvalue(), target)
    return target


def _draw_error(ax: Axes, trace: Trace) -> None:
    """Objective minus the best bound; where no bound is known, minus the best objective."""
    seconds, objective, gap = (trace.column(name) for name in ("seconds", "objective", "gap"))
    bounded = bool(np.isfinite(gap[-1]))
    floor = float(objective[-1] - gap[-1]) if bounded else float(objective.min())
    what = "best lower bound" if bounded else "best objective"
    excess = objective - floor
    seen = excess > 0
    scale = abs(float(objective[-1])) or 1.0
    ax.plot(seconds[seen], excess[seen] / scale, color=_BLUE, lw=1.8, label=f"objective − {what}")
    certified = trace.column("certified").astype(bool) & np.isfinite(gap) & (gap > 0)
    if certified.any():
        ax.plot(
            seconds[certified], gap[certified] / scale, "o:", color=_VERMILION, ms=6, lw=1.0,
            label="duality gap, proved at the end of an epoch",
        )  # fmt: skip
        _name_last(ax, float(seconds[certified][-1]), float(gap[certified][-1]) / scale)
    ax.set_yscale("log")
    ax.set_ylabel("fraction of the final objective")
    _finish(ax)


def _shade_the_start(ax: Axes, trace: Trace) -> None:
    """Mark the time before the first row: a solver may begin on a part of the data."""
    first, whole = trace[0].seconds, trace[-1].seconds
    if first > 0.08 * whole:
        ax.axvspan(0.0, first, color="#f2f2f2", lw=0)
        ax.text(
            first / 2, 0.5, "before the first pass over all data", rotation=90, color=_GREY,
            transform=ax.get_xaxis_transform(), ha="center", va="center", fontsize=9,
        )  # fmt: skip


def _name_last(ax: Axes, x: float, y: float) -> None:
    ax.annotate(
        f"{y:.1e}", (x, y), xytext=(8, 0), textcoords="offset points", ha="left", va="center",
        color=_VERMILION, fontsize=9,
    )  # fmt: skip


def _draw_support(ax: Axes, trace: Trace) -> None:
    seconds, nnz, working = (trace.column(name) for name in ("seconds", "nnz", "working_set"))
    looked_at = working > 0
    ax.plot(
        seconds[looked_at], working[looked_at], color=_GREY, lw=1.4, drawstyle="steps-post",
        label="working set",
    )  # fmt: skip
    some = nnz > 0
    ax.plot(seconds[some], nnz[some], color=_BLUE, lw=1.8, label=f"nonzeros: {int(nnz[-1]):,}")
    ax.set_yscale("log")
    _write_out_numbers(ax)
    ax.set_ylabel("weights")
    ax.set_xlabel("seconds")
    _finish(ax)


def _draw_phases(ax: Axes, trace: Trace) -> None:
    """One bar, cut by phase; parts too thin for a name are named in the legend alone."""
    last = trace[-1]
    phases = dict(last.phase_seconds)
    phases["other"] = max(last.seconds - sum(phases.values()), 0.0)
    left = 0.0
    for i, (phase, seconds) in enumerate(phases.items()):
        colour = _PHASE_COLOURS[i % len(_PHASE_COLOURS)]
        ax.barh(0, seconds, left=left, color=colour, label=f"{phase} {seconds:.2f} s")
        left += seconds
    ax.set_xlim(0, left or 1.0)
    ax.set_yticks([])
    ax.set_xlabel("seconds by phase")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.legend(
        ncols=math.ceil(len(phases) / 2), loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False,
        fontsize=9, handlelength=0.9, columnspacing=1.2,
    )  # fmt: skip


def _write_out_numbers(ax: Any) -> None:
    """Label 1, 2 and 5 of every decade, as 20,000 rather than a power."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _finish(ax: Any) -> None:
    ax.grid(True, which="major", color="#e6e6e6", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper right")
