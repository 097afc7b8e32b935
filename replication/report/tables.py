"""The tables of the page."""

from __future__ import annotations

from replication.report.comparison import LEVELS, Comparison, Run, Study
from replication.report.parts import Table
from replication.report.wording import count, level_text, memory, number, percent, small
from replication.runs.methods import METHODS

_NOT_REACHED = "–"


def seconds_table(comparison: Comparison, clock: str) -> Table:
    """Return the seconds of training to each level; the last row names the quickest."""
    rows = [
        (run.title, *(_moment(comparison, run, level, "seconds") for level in LEVELS))
        for run in comparison.shrinking
    ]
    quickest = [comparison.ranking(level) for level in LEVELS]
    first = tuple(ranking[0][0].title if ranking else _NOT_REACHED for ranking in quickest)
    header = ("seconds to", *map(level_text, LEVELS))
    caption = (
        f"{clock.capitalize()} to a relative objective difference, λ = {comparison.lam:g}. "
        f"{_NOT_REACHED}: not in the time given."
    )
    return Table(caption, header, (*rows, ("first", *first)))


def passes_table(comparison: Comparison, runs: tuple[Run, ...], what: str) -> Table:
    """Return the forward passes to each level."""
    rows = tuple(
        (run.title, *(_moment(comparison, run, level, "passes") for level in LEVELS))
        for run in runs
    )
    caption = f"Passes over the data to a relative objective difference, {what}."
    return Table(caption, ("passes to", *map(level_text, LEVELS)), rows)


def end_table(comparison: Comparison) -> Table:
    """Return what each run came to."""
    accuracy = "accuracy" in comparison.scores
    peaks = any(run.record.peak_bytes is not None for run in comparison.runs)
    rows = [_end_row(comparison, run, accuracy=accuracy, peaks=peaks) for run in comparison.runs]
    header: tuple[str, ...] = ("at the end", "relative difference", "nonzeros")
    header += ("test accuracy",) if accuracy else ()
    header += ("seconds", "share of a core")
    header += ("peak memory",) if peaks else ()
    header += ("why it ended",)
    for failed in comparison.failed:
        blanks = [""] * (len(header) - 2)
        title = METHODS[failed.plan.method].title
        rows.append((title, *blanks, f"{failed.outcome}: {failed.message}"))
    caption = f"What each run came to, λ = {comparison.lam:g}."
    return Table(caption, header, tuple(rows))


def _end_row(comparison: Comparison, run: Run, *, accuracy: bool, peaks: bool) -> tuple[str, ...]:
    record = run.record
    return (
        run.title,
        small(float(comparison.error(run)[-1])),
        f"{record.nonzeros:,}",
        *([f"{record.scores['accuracy']:.4f}"] if accuracy else []),
        number(run.length),
        percent(run.core_share),
        *([memory(record.peak_bytes)] if peaks else []),
        record.outcome,
    )


def optima_table(study: Study) -> Table:
    """Return the optimum for each λ beside the paper's table."""
    letters = any("accuracy by letter" in each.scores for each in study.comparisons)
    reported = study.spec.reported
    rows = []
    for each in sorted(study.comparisons, key=lambda each: each.lam):
        theirs = reported.get(each.lam)
        row = [
            f"{each.lam:g}",
            f"{each.optimum:,.4f}",
            "" if each.proved is None else small(each.proved),
            f"{each.nonzeros:,}",
            *([f"{theirs.nonzeros:,}" if theirs else ""] if reported else []),
            f"{each.scores['accuracy']:.4f}",
            *([f"{each.scores['accuracy by letter']:.4f}"] if letters else []),
            *([f"{theirs.accuracy:.4f}" if theirs else ""] if reported else []),
        ]
        rows.append(tuple(row))
    header: tuple[str, ...] = ("λ", "objective", "proved to", "nonzeros")
    header += ("paper",) if reported else ()
    header += ("test accuracy",) + (("letter by letter",) if letters else ())
    header += ("paper’s",) if reported else ()
    caption = "The optimum, from the reference runs" + (
        ", beside the paper’s table." if reported else "."
    )
    return Table(caption, header, tuple(rows))


def _moment(comparison: Comparison, run: Run, level: float, what: str) -> str:
    moment = comparison.moment(run, level)
    if moment is None:
        return _NOT_REACHED
    return number(moment.seconds) if what == "seconds" else count(moment.passes)
