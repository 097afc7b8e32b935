"""The closing tables of a run: what was reached, what was proved, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from proxqn.problem.meter import OPERATIONS
from proxqn.run.trace import Trace


@final
@dataclass(frozen=True)
class RunSummary:
    """The figures of one fit."""

    lam: float
    objective: float
    gap: float
    nnz: int
    n_parameters: int
    accuracy: float | None  # on test data, where there are any
    iterations: int
    calls: dict[str, float]  # passes over all data; a call on part of it counts as that part
    phase_seconds: dict[str, float]  # and what is left of the total, as "other"
    seconds: float

    @classmethod
    def from_estimator(cls, model: Any, *, accuracy: float | None = None) -> RunSummary:
        """Read the figures from a fitted estimator."""
        return cls.from_trace(
            model.trace_,
            lam=model.lam,
            objective=model.objective_,
            gap=model.gap_,
            n_parameters=model.n_parameters_,
            accuracy=accuracy,
        )

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        *,
        lam: float,
        objective: float,
        gap: float,
        n_parameters: int,
        accuracy: float | None = None,
    ) -> RunSummary:
        """Read what a trace knows; the rest is given."""
        last = trace[-1]
        phases = dict(last.phase_seconds)
        phases["other"] = max(last.seconds - sum(phases.values()), 0.0)
        return cls(
            lam=lam,
            objective=objective,
            gap=gap,
            nnz=last.nnz,
            n_parameters=n_parameters,
            accuracy=accuracy,
            iterations=last.iteration,
            calls=dict(last.calls),
            phase_seconds=phases,
            seconds=last.seconds,
        )


def format_columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Line cells up under their header: the first ``left`` columns to the left, others right.

    Examples
    --------
    >>> print(format_columns(["name", "n"], [["a", "1"], ["bcdefg", "1,000"]], left=1))
    name        n
    ------  -----
    a           1
    bcdefg  1,000
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(aligned).rstrip()

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, rows)])


def result_table(runs: Sequence[RunSummary]) -> str:
    """Return what was reached, one line a run.

    Examples
    --------
    >>> run = RunSummary(2.0, 512.5, 0.25, 14, 358, 0.75, 60, {}, {}, 3.2)
    >>> print(result_table([run]))
    lambda  objective   gap  relative gap  nonzeros   of  test accuracy  iterations  seconds
    ------  ---------  ----  ------------  --------  ---  -------------  ----------  -------
         2   512.5000  0.25       4.9e-04        14  358         0.7500          60     3.20
    """
    header = ["lambda", "objective", "gap", "relative gap", "nonzeros", "of", "test accuracy"]
    rows = [
        [
            f"{run.lam:g}",
            f"{run.objective:,.4f}",
            f"{run.gap:.3g}",
            f"{run.gap / abs(run.objective):.1e}",
            f"{run.nnz:,}",
            f"{run.n_parameters:,}",
            "" if run.accuracy is None else f"{run.accuracy:.4f}",
            f"{run.iterations:,}",
            f"{run.seconds:.2f}",
        ]
        for run in runs
    ]
    return format_columns([*header, "iterations", "seconds"], rows)


def phase_table(run: RunSummary) -> str:
    """Return where the time went: oracle calls by kind, and the solver's own phases.

    Examples
    --------
    >>> run = RunSummary(1.0, 9.0, 0.0, 1, 2, None, 4, {"forward": 5}, {"forward": 0.5}, 1.0)
    >>> print(phase_table(run))
    phase                       calls  seconds  share
    --------------------------  -----  -------  -----
    forward (value of a trial)      5     0.50    50%
    total                                 1.00   100%
    """
    rows = [
        [
            _PHASES.get(phase, phase),
            _count(run.calls[phase]) if phase in run.calls else "",
            f"{seconds:.2f}",
            _share(seconds, run.seconds),
        ]
        for phase, seconds in run.phase_seconds.items()
    ]
    rows.append(["total", "", f"{run.seconds:.2f}", _share(run.seconds, run.seconds)])
    return format_columns(["phase", "calls", "seconds", "share"], rows, left=1)


_PHASES = dict(
    zip(
        OPERATIONS,
        (
            "move (scores along a step)",
            "forward (value of a trial)",
            "backward (marginals)",
            "gradient (working set)",
            "sweep (gradient, all weights)",
            "draw (curvature)",
        ),
        strict=True,
    )
) | {"inner": "inner (coordinate descent)", "memory": "memory (curvature pairs)"}


def _count(passes: float) -> str:
    return f"{passes:,.0f}" if float(passes).is_integer() else f"{passes:,.1f}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole > 0 else ""
