"""From stored runs to the numbers of the tables: times to given errors, ratios, passes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from benchmarks.measure import KINDS, Record
from benchmarks.trainers import CRFSUITE, OURS

LEVELS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Moment:
    """The first iteration of a run at or below an objective."""

    seconds: float  # of training, the peer's own set-up left out
    with_setup: float
    iteration: int
    passes: tuple[float | None, ...]  # forward, backward, sweeps, draws


def moment(record: Record, objective: float) -> Moment | None:
    """Return when a run first was at or below an objective, or None if it never was."""
    history = record.history
    lowest = list(accumulate(history["objective"], min))
    at = bisect_left([-value for value in lowest], -objective)
    if at == len(lowest):
        return None
    seconds = history["seconds"][at]
    return Moment(
        seconds=seconds - record.setup_seconds,
        with_setup=seconds,
        iteration=history["iteration"][at],
        passes=tuple(history[kind][at] if kind in history else 0 for kind in KINDS),
    )


@dataclass(frozen=True)
class Line:
    """What a trainer did on a problem."""

    record: Record
    error: float  # relative, at the end, by our own oracle
    moments: dict[float, Moment | None]  # by level
    ratios: dict[float, tuple[float, float] | None]  # to ours: without and with set-up


@dataclass(frozen=True)
class PeerStop:
    """How long until we are below the point at which CRFsuite stops by itself."""

    objective: float  # of CRFsuite's weights
    peer_seconds: float  # without set-up
    peer_with_setup: float
    peer_iterations: int
    our_seconds: float

    @property
    def ratio(self) -> float:
        """CRFsuite's time divided by ours."""
        return self.peer_seconds / self.our_seconds


@dataclass(frozen=True)
class Analysis:
    """All runs on one problem."""

    problem: str
    title: str
    optimum: float  # the best objective any run has reached
    bound: float | None  # the best certified lower bound
    lines: list[Line]
    peer_stop: PeerStop | None


def comparable(records: list[Record]) -> list[Record]:
    """Keep the runs on the same data and machine as ours, and of ours those of the same sources."""
    ours = next((record for record in records if record.trainer == OURS), None)
    if ours is None:
        return records
    return [
        record
        for record in records
        if (record.problem_digest, record.machine) == (ours.problem_digest, ours.machine)
        and record.versions.get("sources") in (None, ours.versions.get("sources"))
    ]


def analyse(records: list[Record], *, ends_at_peer_stop: bool) -> Analysis:
    """Compare the runs on one problem; ours is the measure of the ratios."""
    optimum = min(record.objective for record in records)
    bounds = [record.bound for record in records if record.bound is not None]
    by_name = {record.trainer: record for record in records}
    ours = by_name.get(OURS)
    lines = [_line(record, ours, optimum) for record in records]
    stop = None
    if ends_at_peer_stop and ours is not None and CRFSUITE in by_name:
        stop = _peer_stop(by_name[CRFSUITE], ours)
    first = records[0]
    bound = max(bounds) if bounds else None
    return Analysis(first.problem, first.title, optimum, bound, lines, stop)


def _line(record: Record, ours: Record | None, optimum: float) -> Line:
    moments = {level: moment(record, optimum * (1.0 + level)) for level in LEVELS}
    ratios = {}
    for level, at in moments.items():
        our = None if ours is None else moment(ours, optimum * (1.0 + level))
        if at is None or our is None:
            ratios[level] = None
        else:
            ratios[level] = at.seconds / our.seconds, at.with_setup / our.with_setup
    return Line(record, record.objective / optimum - 1.0, moments, ratios)


def _peer_stop(peer: Record, ours: Record) -> PeerStop | None:
    at = moment(ours, peer.objective)
    if at is None or not stopped_by_itself(peer):
        return None
    last = peer.history["seconds"][-1]
    return PeerStop(
        objective=peer.objective,
        peer_seconds=last - peer.setup_seconds,
        peer_with_setup=last,
        peer_iterations=peer.history["iteration"][-1],
        our_seconds=at.seconds,
    )


def stopped_by_itself(record: Record) -> bool:
    """Say whether CRFsuite's own rule ended the run."""
    return bool(record.history["seconds"]) and "maximum number of iterations" not in record.stop
