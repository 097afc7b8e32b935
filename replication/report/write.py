"""The report of an experiment: figures, tables and words on one page, from the runs kept so far."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from replication.report.claims import Verdict
from replication.report.comparison import Study
from replication.report.figures import draw, slug
from replication.report.markdown import markdown
from replication.report.page import Chapter, Report, page
from replication.report.parts import Section, TheoryReport
from replication.report.report_text import chapters
from replication.whole_files import write_whole

PAGE: Final = "report.html"
_PREFIXES: Final = {"ocr": "", "lshtc": "Data at hand: ", "generated": "Generated: "}
_PAPER: Final = (
    "Zhong, Yen, Dhillon and Ravikumar, Proximal quasi-Newton for computationally intensive "
    "ℓ1-regularized M-estimators, NIPS 2014"
)


def write_comparison(title: str, studies: Sequence[Study], folder: Path, *, command: str) -> Path:
    """Draw and write the page of a comparison; return its path."""
    short: list[tuple[str, str]] = []
    body: list[Chapter] = []
    for study in studies:
        prefix = "" if len(studies) == 1 else _PREFIXES[study.spec.kind]
        words, parts = chapters(study, folder / "figures", prefix=prefix)
        short += words
        body += parts
    body.append(_again(command, kept=True))
    lead = f"Five methods on the same objective, after section 6 of: {_PAPER}."
    return _write(Report(title, lead, short, body, _closing()), folder)


def write_theory(found: TheoryReport, folder: Path, *, command: str) -> Path:
    """Draw and write the page of the theory's checks; return its path."""
    holding = sum(section.holds for section in found.sections)
    n = len(found.sections)
    short = [("", f"{holding} of {n} statements of the theory are borne out by the numbers.")]
    short += [("Not borne out", s.title) for s in found.sections if not s.holds]
    body = [_chapter(section, folder / "figures") for section in found.sections]
    lead = f"The convergence theory in numbers, after sections 3 and 4 of: {_PAPER}."
    title = "The theory, in numbers"
    return _write(
        Report(title, lead, short, [*body, _again(command, kept=False)], _closing()), folder
    )


def _chapter(section: Section, figures: Path) -> Chapter:
    drawings = [
        draw(curves, figures, f"theory-{slug(section.title)}-{i + 1}")
        for i, curves in enumerate(section.curves)
    ]
    verdict = Verdict.AGREES if section.holds else Verdict.DIFFERS
    return Chapter(
        section.title,
        section.paragraphs,
        tables=section.tables,
        figures=drawings,
        verdict=verdict,
    )


def _again(command: str, *, kept: bool) -> Chapter:
    words = ["This command wrote the page. Figures are beside it in figures/, as PNG and SVG."]
    if kept:
        words.append(
            "Finished runs are in runs/, one JSON and one CSV file each; with --resume only what "
            "is missing is run."
        )
    return Chapter("To run it again", (" ".join(words),), code=command)


def _closing() -> str:
    return f"Written by proxqn on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. This page loads nothing."


def _write(report: Report, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / PAGE
    write_whole(markdown(report).encode(), target.with_suffix(".md"))
    write_whole(page(report).encode(), target)
    return target
