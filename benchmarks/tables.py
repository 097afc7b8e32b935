"""Markdown tables of an analysis: for the terminal, for the README, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.analyse import LEVELS, Analysis, Line, PeerStop, stopped_by_itself
from benchmarks.trainers import CRFSUITE, OURS

NEVER = "–"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, the first column to the left and the others to the right.

    Examples
    --------
    >>> print(markdown(["who", "s"], [["a", "1.0"]]))
    | who | s |
    |---|--:|
    | a | 1.0 |
    """
    rule = "|".join(["---", *["--:"] * (len(header) - 1)])
    lines = [" | ".join(header), *(" | ".join(row) for row in rows)]
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def seconds(value: float | None) -> str:
    """Return a time with three digits.

    Examples
    --------
    >>> seconds(0.01234), seconds(1.234), seconds(1234.5), seconds(None)
    ('0.0123', '1.23', '1,234', '–')
    """
    if value is None:
        return NEVER
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 1 else f"{value:.{2 if value < 10 else 1}f}"


def _level(level: float) -> str:
    return f"{level:.0e}".replace("e-0", "e-")


def times(analysis: Analysis) -> str:
    """Return seconds to each level, preparation and set-up apart, and peak memory."""
    header = ["trainer", "data", "set-up", *map(_level, LEVELS), "peak MB", "relative error at end"]
    rows = []
    for line in analysis.lines:
        record = line.record
        moments = [line.moments[level] for level in LEVELS]
        rows.append(
            [
                record.trainer,
                seconds(record.prepare_seconds),
                seconds(record.setup_seconds),
                *(seconds(None if m is None else m.seconds) for m in moments),
                f"{record.train_peak_bytes / 1e6:,.0f}",
                f"{line.error:.1e}" + ("" if _by_itself(line) else " (stopped by us)"),
            ]
        )
    return markdown(header, rows)


def _by_itself(line: Line) -> bool:
    stop = line.record.stop
    return stopped_by_itself(line.record) and "callback" not in stop and "max_iter" not in stop


def ratios(analysis: Analysis) -> str:
    """Return times divided by ours at each level: without the peer's set-up (and with it)."""
    rows = []
    for line in analysis.lines:
        if line.record.trainer == OURS:
            continue
        cells = [line.ratios[level] for level in LEVELS]
        rows.append([line.record.trainer, *(_ratio(cell) for cell in cells)])
    return markdown(["time ÷ ours (with set-up)", *map(_level, LEVELS)], rows)


def _ratio(pair: tuple[float, float] | None) -> str:
    if pair is None:
        return NEVER
    without, including = (f"{r:,.0f}" if r >= 10 else f"{r:.2g}" for r in pair)
    return without if without == including else f"{without} ({including})"


def passes(analysis: Analysis) -> str:
    """Return iterations, passes (forward / backward / sweeps) and draws to each level."""
    rows = []
    for line in analysis.lines:
        cells = []
        for level in LEVELS:
            at = line.moments[level]
            counts = [] if at is None else [at.iteration, *at.passes]
            cells.append(" / ".join("?" if n is None else f"{n:.4g}" for n in counts) or NEVER)
        rows.append([line.record.trainer, *cells])
    return markdown(
        ["iterations / forward / backward / sweeps / draws", *map(_level, LEVELS)], rows
    )


def peer_stop(stop: PeerStop) -> str:
    """Return the comparison at the point where CRFsuite stops by itself, in a sentence."""
    return (
        f"CRFsuite stops by itself at {stop.objective:,.4f} after {stop.peer_iterations} "
        f"iterations and {seconds(stop.peer_seconds)} s ({seconds(stop.peer_with_setup)} s with "
        f"its set-up); we are below that after {seconds(stop.our_seconds)} s: "
        f"**{stop.ratio:.0f} times faster**."
    )


def checks(analysis: Analysis) -> str:
    """Return how far each log's last objective is from that of the weights, and CPU ÷ wall time."""
    rows = []
    for line in analysis.lines:
        record = line.record
        difference = record.log_difference
        rows.append(
            [
                record.trainer,
                f"{record.objective:,.6f}",
                NEVER if difference is None else f"{difference:+.1e}",
                f"{record.nonzeros:,}",
                f"{record.train_cpu_seconds / max(record.train_seconds, 1e-9):.2f}",
                record.stop,
            ]
        )
    header = ["trainer", "objective of its weights", "its log − that, relative", "nonzeros"]
    return markdown([*header, "CPU ÷ wall", "why it stopped"], rows)


def report(analyses: Sequence[Analysis]) -> str:
    """Return everything about all problems."""
    parts = ["# Benchmark: processor seconds of training to a relative error, one thread each", ""]
    for analysis in analyses:
        record = analysis.lines[0].record
        sizes = ", ".join(f"{count:,} {what}" for what, count in record.sizes.items())
        bound = (
            "" if analysis.bound is None else f" ({_certainty(analysis.optimum, analysis.bound)})"
        )
        parts += [
            f"## {analysis.title}",
            f"{sizes}; d = {record.n_parameters:,}. Best known optimum "
            f"{analysis.optimum:,.6f}{bound}.",
            times(analysis),
            ratios(analysis),
            *([peer_stop(analysis.peer_stop)] if analysis.peer_stop else []),
            passes(analysis),
            checks(analysis),
        ]
    return "\n\n".join(parts) + "\n"


def _certainty(optimum: float, bound: float) -> str:
    """Say how far the best known optimum can be from the true one."""
    return f"certified: at most {(optimum - bound) / optimum:.0e} above the true one"


def readme(analyses: Sequence[Analysis]) -> str:
    """Return the short table for the README: CRFsuite beside us, one line a problem."""
    rows = []
    for analysis in analyses:
        lines = {line.record.trainer: line for line in analysis.lines}
        if OURS not in lines or CRFSUITE not in lines:
            continue
        ours, peer = lines[OURS], lines[CRFSUITE]
        reached = [level for level in LEVELS if peer.ratios[level] is not None]
        if analysis.peer_stop is not None:
            stop = analysis.peer_stop
            what, mine, other = "where CRFsuite stops", stop.our_seconds, stop.peer_seconds
        elif reached:
            what = f"relative error {_level(reached[-1])}"
            mine, other = _seconds_at(ours, reached[-1]), _seconds_at(peer, reached[-1])
        else:
            continue
        rows.append(
            [
                analysis.title,
                what,
                seconds(mine),
                seconds(other),
                f"{other / mine:,.0f}",
                f"{ours.record.train_peak_bytes / 1e6:,.0f}",
                f"{peer.record.train_peak_bytes / 1e6:,.0f}",
            ]
        )
    header = ["problem", "to", "proxqn, s", "CRFsuite, s", "ratio", "proxqn, MB", "CRFsuite, MB"]
    return markdown(header, rows)


def _seconds_at(line: Line, level: float) -> float:
    at = line.moments[level]
    assert at is not None
    return at.seconds
