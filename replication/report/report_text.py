"""The chapters of a comparison's page, written from the runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from replication.report import tables
from replication.report.claims import Claim, Verdict, claims
from replication.report.comparison import LEVELS, TOO_SHORT, Comparison, Study
from replication.report.comparison_figures import by_passes, by_time
from replication.report.page import Chapter
from replication.report.wording import (
    count,
    level_text,
    listed,
    lowered,
    memory,
    number,
    percent,
    small,
)
from replication.runs.methods import METHODS, REFERENCE, SGD_PAPER, WITHOUT_SHRINKING

_PLURAL: Final = {
    Verdict.AGREES: "agree",
    Verdict.PARTLY: "in part",
    Verdict.DIFFERS: "differ",
    Verdict.OPEN: "cannot be told",
}
_FINISHED: Final = LEVELS[-1]
_PASSES_WITHOUT: Final = ("prox-gd", "owl-qn", "sgd", SGD_PAPER)  # these never shrink


def in_short(study: Study, found: list[Claim]) -> list[tuple[str, str]]:
    """Return the page's first words."""
    main = study.main
    counts = {verdict: sum(claim.verdict is verdict for claim in found) for verdict in Verdict}
    told = [f"{n} {_PLURAL[verdict] if n > 1 else verdict}" for verdict, n in counts.items() if n]
    lines = [_finishers(main)]
    if found:
        lines.append(
            f"Of {len(found)} statements of the paper held against these runs: {listed(told)}."
        )
    first = next((claim for claim in found if "much faster" in claim.text), None)
    if first is not None:
        said = first.text.partition(": ")[2]
        lines.insert(0, f"The paper says: “{said}” Here, at λ = {main.lam:g}: {first.evidence}")
    if study.missing:
        lines.append(
            f"{len(study.missing)} runs are missing; go on with --resume: "
            f"{', '.join(study.missing)}."
        )
    return [(study.spec.title, lines[0]), *(("", line) for line in lines[1:])]


def _finishers(comparison: Comparison) -> str:
    """Say which methods came to the finest level, and how far the others did."""
    runs = comparison.shrinking
    there = [run.title for run, _ in comparison.ranking(_FINISHED)]
    others = sorted(
        (comparison.best_error(run), run.title) for run in runs if run.title not in there
    )
    at = f"At λ = {comparison.lam:g}"
    text = f"{at}, {listed(there) or 'no method'} came to {level_text(_FINISHED)} in the time given"
    if others:
        text += "; the best of " + listed([f"{title} is {small(error)}" for error, title in others])
    failed = [METHODS[record.plan.method].title for record in comparison.failed]
    if failed:
        text += f"; {listed(failed)} failed"
    return text + "."


def agreement(study: Study, found: list[Claim]) -> Chapter:
    """Return the paper's statements with what was found."""
    return Chapter(
        "Where we agree with the paper, and where not",
        paragraphs=(
            "Each line is a statement of the paper (sections 5 and 6, and its appendix); the "
            "verdict and the words below it are computed from the runs on this page.",
        ),
        claims=found,
    )


def what_was_run(study: Study) -> Chapter:
    """Return data, machine, versions and rules."""
    runs = [run for comparison in study.comparisons for run in comparison.runs]
    record = study.main.reference
    machine, versions = record.origin.machine, record.origin.versions
    started = sorted(run.record.started for run in runs)
    shares = [run.core_share for run in runs if run.record.seconds > TOO_SHORT]
    facts = [
        ("data", ", ".join(f"{n:,} {name}" for name, n in record.sizes.items())),
        ("machine", f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"),
        ("versions", ", ".join(f"{name} {each}" for name, each in versions.items())),
        ("made", f"{_date(started[0])} to {_date(started[-1])} UTC"),
        ("threads", f"{study.spec.threads}, the same loss and kernels for every method"),
        ("seed", f"{study.spec.seed} for every random choice"),
    ]
    facts += [(METHODS[name].title, METHODS[name].about) for name in METHODS if _used(study, name)]
    paragraphs = [
        "Seconds are seconds of training. The choice of SGD's step and Prox-QN's start on a "
        "subsample are training and counted; test scores, the certificate of methods that need "
        "no full gradient, and SGD's objective are evaluation and not counted.",
        "f(w*) is the lowest objective of all runs, the reference among them, which is run to a "
        "tight tolerance and not timed; “proved to” says how far below it the optimum can be.",
    ]
    if study.processor_clock:
        paragraphs.append(
            f"The machine was shared: a run had as little as {percent(min(shares))} of a core. All "
            "times are therefore processor seconds, which for one thread on a quiet machine are "
            "the same as seconds, and even so a little long. The CSV files have both."
        )
    paragraphs += _mixed(study)
    without = [f"λ = {c.lam:g}" for c in study.comparisons if c.reference.plan.method != REFERENCE]
    if without:
        paragraphs.append(
            f"For {listed(without)} there is no reference run: the best of the others stands in, "
            "so the errors shown may be too small."
        )
    if study.spec.kind == "generated":
        paragraphs.append(
            "The documents are generated with the lengths, word frequencies and counts of the "
            "challenge's and labels drawn from a tree model: they say how fast methods are at this "
            "size, and nothing about accuracy on real documents."
        )
    elif study.spec.kind == "lshtc" and not study.spec.is_the_papers:
        paragraphs.append(
            f"The paper trained on Task 1's train.txt; here {study.spec.task}'s "
            f"{study.spec.train}.txt stands in: other documents, so other figures."
        )
    return Chapter(f"What was run: {lowered(study.spec.title)}", paragraphs, facts)


def _mixed(study: Study) -> list[str]:
    """Warn of runs that were not made alike."""
    records = [run.record for each in study.comparisons for run in each.runs]
    records += [each.reference for each in study.comparisons]
    origins = {str((r.origin.machine, r.origin.versions)) for r in records}
    if len(origins) == 1:
        return []
    return [
        f"These runs were made with {len(origins)} different versions of the code or machines, so "
        "their times should be compared with care; --resume in the same folder makes the old ones "
        "again."
    ]


def _date(text: str) -> str:
    return text[:16].replace("T", " ")


def _used(study: Study, method: str) -> bool:
    if method == REFERENCE:
        return True
    return any(each.run(method) is not None for each in study.comparisons)


def comparison_chapter(study: Study, comparison: Comparison, folder: Path) -> Chapter:
    """Return tables and figures for one λ."""
    lam = f"λ = {comparison.lam:g}"
    passes = tables.passes_table(
        comparison, comparison.shrinking, f"λ = {comparison.lam:g}, shrinking where a method does"
    )
    return Chapter(
        f"{lam}: who is how fast",
        (_finishers(comparison), *_notes(comparison)),
        tables=(
            tables.seconds_table(comparison, study.clock),
            passes,
            tables.end_table(comparison),
        ),
        figures=by_time(study, comparison, folder),
    )


def _notes(comparison: Comparison) -> list[str]:
    notes = []
    if any(run.method == "sgd" for run in comparison.runs):
        notes.append(
            "SGD may rise again after it has reached a level; the first time counts. A pass is a "
            "forward pass over all data, refused trial steps included; SGD's passes are over its "
            "samples, and BCD's are inferences on single samples divided by their number."
        )
    peaks = [(r.record.peak_bytes or 0, r.title) for r in comparison.shrinking]
    if len(peaks) > 1 and min(peaks)[0] > 0 and max(peaks)[0] > 1.5 * min(peaks)[0]:
        most, least = max(peaks), min(peaks)
        notes.append(
            f"{most[1]} needed the most memory, {memory(most[0])}, and {least[1]} the least, "
            f"{memory(least[0])} (the data included)."
        )
    return notes


def optima(study: Study) -> Chapter:
    """Return nonzeros and accuracy beside the paper's."""
    paragraphs = []
    if any("accuracy by letter" in each.scores for each in study.comparisons):
        paragraphs.append(
            "Test accuracy is the share of letters that are right when the most probable word is "
            "taken; “letter by letter” takes each letter's most probable label instead."
        )
    if study.spec.reported and not study.spec.is_the_papers:
        paragraphs.append(
            "The paper's numbers are of its own training file, which differs from these "
            "documents: they stand here for their order of magnitude only."
        )
    return Chapter("Nonzeros and accuracy", paragraphs, tables=(tables.optima_table(study),))


def without_shrinking(study: Study, folder: Path) -> Chapter | None:
    """Return the comparison by passes, for which the paper turned shrinking off."""
    main = study.main
    kept = (*WITHOUT_SHRINKING, *_PASSES_WITHOUT)
    runs = tuple(run for run in main.runs if run.method in kept)
    if not any(run.method in WITHOUT_SHRINKING for run in runs):
        return None
    fewest: dict[str, list[str]] = {}  # method -> levels
    for level in LEVELS:
        there = [(m.passes, run.title) for run in runs if (m := main.moment(run, level))]
        if there:
            passes, who = min(there)
            fewest.setdefault(who, []).append(f"{level_text(level)} ({count(passes)})")
    text = "No run came to the first level."
    if fewest:
        told = "; ".join(f"{who} to {listed(levels)}" for who, levels in fewest.items())
        text = f"The fewest passes: {told}."
    what = f"λ = {main.lam:g}, without shrinking"
    return Chapter(
        "Passes over the data, without shrinking",
        (
            "What a method makes of a pass, whatever a pass costs: every variable takes part in "
            "every iteration. As in the paper, BCD is left out, since its passes are hard to "
            "compare.",
            text,
        ),
        tables=(tables.passes_table(main, runs, what),),
        figures=[by_passes(study, runs, folder)],
    )


def sgd_step(study: Study) -> Chapter | None:
    """Return what SGD's first step was, and what the paper's makes of it."""
    main, theirs = study.main, study.spec.paper_rate
    chosen, papers = main.run("sgd"), main.run(SGD_PAPER)
    if chosen is None or len(chosen.steps) < 2:
        return None
    rate = float(chosen.steps[1])
    how = f"{rate / theirs:,.0f} times the paper's" if rate > theirs else "below the paper's"
    paragraphs = [
        f"SGD moves by η₀/(1 + k/N) along one sample's gradient. A pass over a subsample with "
        f"several values chose η₀ = {rate:g}, {how} {theirs:g}. The loss here is the sum over the "
        "samples, as in the paper's formula; the paper does not say how its own was scaled."
    ]
    if papers is not None:
        a, b = main.best_error(chosen), main.best_error(papers)
        better = "the chosen step" if a < b else "the paper's step"
        paragraphs.append(
            f"In {number(papers.length)} s the paper's step came to {small(b)} and in "
            f"{number(chosen.length)} s the chosen one to {small(a)}: {better} is better here."
        )
    else:
        paragraphs.append("To see the paper's step run, add it: --methods sgd-paper --resume.")
    return Chapter("The step of SGD", paragraphs)


def chapters(
    study: Study, folder: Path, *, prefix: str = ""
) -> tuple[list[tuple[str, str]], list[Chapter]]:
    """Return the opening words and all chapters about one problem."""
    found = claims(study)
    made: list[Chapter | None] = [agreement(study, found), what_was_run(study), optima(study)]
    made += [comparison_chapter(study, each, folder) for each in study.comparisons]
    made += [without_shrinking(study, folder), sgd_step(study)]
    named = [
        replace(chapter, title=prefix + chapter.title) for chapter in made if chapter is not None
    ]
    return in_short(study, found), named
