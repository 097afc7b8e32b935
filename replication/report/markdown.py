"""A report's words and tables as Markdown, without its figures: small enough to be kept.

What a full run found is kept so in ``replication/results``; the page itself has megabytes and is
made again from the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from replication.report.page import Chapter, Report
from replication.report.parts import Table


def markdown(report: Report) -> str:
    """Return the text.

    Examples
    --------
    >>> table = Table("Seconds", ("who", "s"), (("a", "1.0"),))
    >>> report = Report("Who", "After a paper.", [("", "a.")], [Chapter("All", tables=[table])])
    >>> print(markdown(report))
    # Who
    <BLANKLINE>
    After a paper.
    <BLANKLINE>
    > a.
    <BLANKLINE>
    ## All
    <BLANKLINE>
    Seconds
    <BLANKLINE>
    | who | s |
    |---|---|
    | a | 1.0 |
    <BLANKLINE>
    """
    short = [f"> **{label}.** {text}" if label else f"> {text}" for label, text in report.in_short]
    blocks = [f"# {report.title}", report.lead, "\n>\n".join(short)]
    for chapter in report.chapters:
        blocks += _chapter(chapter)
    return "\n\n".join(filter(None, [*blocks, report.closing])) + "\n"


def _chapter(chapter: Chapter) -> list[str]:
    verdict = f" ({chapter.verdict})" if chapter.verdict else ""
    blocks = [f"## {chapter.title}{verdict}", *chapter.paragraphs]
    blocks.append("\n".join(f"- {name}: {value}" for name, value in chapter.facts))
    blocks.append(f"    {chapter.code}" if chapter.code else "")
    blocks.append("\n".join(f"- **{c.text}** *{c.verdict}*. {c.evidence}" for c in chapter.claims))
    for table in chapter.tables:
        blocks += [table.caption, _table(table)]
    return blocks


def _table(table: Table) -> str:
    rule = "|" + "---|" * len(table.header)
    return "\n".join([_row(table.header), rule, *map(_row, table.rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
