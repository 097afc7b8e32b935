"""What the paper says, held against what was measured here. No verdict is written by hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final, final

from replication import paper_numbers
from replication.report.comparison import LEVELS, SETTLED, Comparison, Run, Study
from replication.report.wording import (
    level_text,
    listed,
    lowered,
    percent,
    seconds_text,
    small,
    span,
    times_text,
)
from replication.runs.methods import FIVE, PROX_QN, PROX_QN_PAPER, SGD_PAPER

_RATIO_LEVEL: Final = 1e-3
_COMPARED: Final = (*FIVE, SGD_PAPER)  # SGD may win with either step


class Verdict(StrEnum):
    """How measurement and paper go together; the value is what the reader sees."""

    AGREES = "agrees"
    PARTLY = "in part"
    DIFFERS = "differs"
    OPEN = "cannot be told"


@final
@dataclass(frozen=True)
class Claim:
    """Something the paper says, and what the runs say to it."""

    text: str
    verdict: Verdict
    evidence: str


def claims(study: Study) -> list[Claim]:
    """Return every claim of the paper that the runs at hand can be held against."""
    found: list[Claim | None] = []
    for comparison in study.comparisons:
        found += [fastest(comparison), sparse_sooner(comparison)]
    found += [sgd_slows_down(study.main), larger_lam_is_faster(study)]
    found += [same_table(study, comparison) for comparison in study.comparisons]
    return [claim for claim in found if claim is not None]


def fastest(comparison: Comparison) -> Claim | None:
    """Judge "Prox-QN can be seen to be much faster than the other methods"."""
    ours, rivals = comparison.run(PROX_QN), _rivals(comparison)
    if ours is None or not rivals:
        return None
    won: list[float] = []
    lost: list[float] = []
    for level in LEVELS:
        ranking = comparison.ranking(level, _COMPARED)
        if ranking:
            (won if ranking[0][0].method == PROX_QN else lost).append(level)
    evidence = []
    if won:
        evidence.append(f"Prox-QN is first at {span(won, LEVELS)}.")
    evidence += [_lost_at(comparison, ours, level) for level in lost]
    unseen = [level_text(x) for x in LEVELS if x not in won and x not in lost]
    if unseen:
        evidence.append(f"No method came to {listed(unseen)}.")
    evidence += [_ratios(comparison, ours, rivals), _papers_settings(comparison, rivals)]
    verdict = Verdict.DIFFERS if not won else Verdict.PARTLY if lost else Verdict.AGREES
    if not won and not lost:
        verdict = Verdict.OPEN
    text = f"λ = {comparison.lam:g}: Prox-QN is much faster than the other methods."
    return Claim(text, verdict, " ".join(filter(None, evidence)))


def _lost_at(comparison: Comparison, ours: Run, level: float) -> str:
    winner, moment = comparison.ranking(level, _COMPARED)[0]
    mine = comparison.moment(ours, level)
    against = f"against {seconds_text(mine.seconds)}" if mine else "and Prox-QN did not get there"
    return (
        f"At {level_text(level)} {winner.title} is first "
        f"({seconds_text(moment.seconds)} {against})."
    )


def _ratios(comparison: Comparison, ours: Run, rivals: list[Run]) -> str:
    """Say how many times as long the others took at the level that most of them reach."""
    mine = comparison.moment(ours, _RATIO_LEVEL)
    if mine is None or mine.seconds <= 0:
        return ""
    ratios, never = [], []
    for run in rivals:
        moment = comparison.moment(run, _RATIO_LEVEL)
        if moment is None:
            never.append(run)
        else:
            ratios.append((moment.seconds / mine.seconds, run.title))
    said = [f"{title} takes {times_text(ratio)}" for ratio, title in sorted(ratios)]
    text = f"To {level_text(_RATIO_LEVEL)} it takes {seconds_text(mine.seconds)}"
    if said:
        text += "; " + listed(said) + " as long"
    if never:
        names = listed([f"{run.title} (after {seconds_text(run.length)})" for run in never])
        text += f"; not there yet: {names}"
    return text + "."


def _papers_settings(comparison: Comparison, rivals: list[Run]) -> str:
    """Say where Prox-QN as the paper ran it is ahead of the others."""
    theirs = comparison.run(PROX_QN_PAPER)
    if theirs is None:
        return ""
    ahead = []
    for level in LEVELS:
        mine = comparison.moment(theirs, level)
        others = [moment for run in rivals if (moment := comparison.moment(run, level))]
        if mine and all(mine.seconds < other.seconds for other in others):
            ahead.append(level)
    where = span(ahead, LEVELS) if ahead else "no level"
    return f"With the paper's own settings it is ahead of the others at {where}."


def sparse_sooner(comparison: Comparison) -> Claim | None:
    """Judge "moreover obtains a sparse model in much less time"."""
    ours = comparison.run(PROX_QN)
    if ours is None or not _rivals(comparison):
        return None
    settled = {run.title: run.settled_at(comparison.nonzeros) for run in _five(comparison)}
    there = sorted((seconds, title) for title, seconds in settled.items() if seconds is not None)
    never = [title for title, seconds in settled.items() if seconds is None]
    if not there:
        return None
    told = listed([f"{title} after {seconds_text(seconds)}" for seconds, title in there])
    evidence = (
        f"The number of nonzeros stays within {percent(SETTLED)} of the optimum's "
        f"{comparison.nonzeros:,}: {told}"
    )
    evidence += f"; not in the time given: {listed(never)}." if never else "."
    verdict = Verdict.AGREES if there[0][1] == ours.title else Verdict.DIFFERS
    text = f"λ = {comparison.lam:g}: Prox-QN obtains a sparse model in much less time."
    return Claim(text, verdict, evidence)


def sgd_slows_down(comparison: Comparison) -> Claim | None:
    """Judge "fast convergence at the beginning", then "slower than the second-order method"."""
    runs = [run for run in _five(comparison) if _family(run) == "sgd"]
    if not runs or comparison.run(PROX_QN) is None:
        return None
    sgd = min(runs, key=comparison.best_error)
    reached = [level for level in LEVELS if comparison.ranking(level, _COMPARED)]
    if len(reached) < 2:
        return None
    first, last = reached[0], reached[-1]
    place = {level: _sgds_place(comparison, level) for level in (first, last)}
    n = _families(comparison)
    verdict = Verdict.DIFFERS
    if place[first] <= 2 and place[last] > place[first]:
        verdict = Verdict.AGREES
    elif place[last] > place[first]:
        verdict = Verdict.PARTLY
    evidence = (
        f"At λ = {comparison.lam:g} SGD is {_ordinal(place[first])} of {n} at {level_text(first)}"
    )
    if all(comparison.moment(run, last) is None for run in runs):
        evidence += (
            f" and did not come to {level_text(last)} in {seconds_text(sgd.length)}; "
            f"its best is {small(comparison.best_error(sgd))}."
        )
    else:
        evidence += f" and {_ordinal(place[last])} at {level_text(last)}."
    text = "SGD is fast at the beginning, and slow near the optimum."
    return Claim(text, verdict, evidence)


def larger_lam_is_faster(study: Study) -> Claim | None:
    """Judge "when λ is larger, ... the corresponding iterations ... will be faster"."""
    figures = []
    for comparison in sorted(study.comparisons, key=lambda each: each.lam):
        run = comparison.run(PROX_QN)
        if run is not None and len(run.seconds) > 1:
            each = (run.seconds[-1] - run.seconds[0]) / (len(run.seconds) - 1)
            figures.append((comparison.lam, float(each)))
    if len(figures) < 2:
        return None
    falls = [later < earlier for (_, earlier), (_, later) in pairwise(figures)]
    verdict = Verdict.AGREES if all(falls) else Verdict.PARTLY if any(falls) else Verdict.DIFFERS
    told = [f"{1000 * each:.3g} ms at λ = {lam:g}" for lam, each in figures]
    text = "With a larger λ the iterates are sparser and the iterations faster."
    return Claim(text, verdict, f"An iteration of Prox-QN takes {listed(told)}.")


def same_table(study: Study, comparison: Comparison) -> Claim | None:
    """Hold nonzeros and test accuracy against the paper's table."""
    reported = study.spec.reported.get(comparison.lam)
    if reported is None or "accuracy" not in comparison.scores:
        return None
    nonzeros, accuracy = comparison.nonzeros, comparison.scores["accuracy"]
    apart = nonzeros / reported.nonzeros - 1.0
    better = accuracy - reported.accuracy
    evidence = (
        f"Here {nonzeros:,} and {accuracy:.4f}: {percent(abs(apart))} "
        f"{'more' if apart > 0 else 'fewer'} nonzeros, accuracy {abs(better):.4f} "
        f"{'higher' if better > 0 else 'lower'}."
    )
    text = (
        f"λ = {comparison.lam:g}: {reported.nonzeros:,} nonzeros and a test accuracy of "
        f"{reported.accuracy:.4f}."
    )
    if not study.spec.is_the_papers:
        why = f"The documents are not the paper's ({lowered(study.spec.title)})."
        return Claim(text, Verdict.OPEN, f"{why} {evidence}")
    near = (abs(apart) <= paper_numbers.NEAR_NONZEROS, abs(better) <= paper_numbers.NEAR_ACCURACY)
    verdict = Verdict.AGREES if all(near) else Verdict.PARTLY if any(near) else Verdict.DIFFERS
    evidence += (
        f" Near enough means within {percent(paper_numbers.NEAR_NONZEROS)} and "
        f"{paper_numbers.NEAR_ACCURACY:g}: "
        "the paper split the words at random in its own way."
    )
    return Claim(text, verdict, evidence)


def _five(comparison: Comparison) -> list[Run]:
    return [run for run in comparison.runs if run.method in _COMPARED]


def _rivals(comparison: Comparison) -> list[Run]:
    return [run for run in _five(comparison) if run.method != PROX_QN]


def _family(run: Run) -> str:
    return "sgd" if run.method == SGD_PAPER else run.method


def _families(comparison: Comparison) -> int:
    return len({_family(run) for run in _five(comparison)})


def _sgds_place(comparison: Comparison, level: float) -> int:
    """Return SGD's place at a level; last together with all that did not get there."""
    order = dict.fromkeys(_family(run) for run, _ in comparison.ranking(level, _COMPARED))
    return list(order).index("sgd") + 1 if "sgd" in order else _families(comparison)


def _ordinal(place: int) -> str:
    return ("first", "second", "third", "fourth", "fifth")[place - 1]
