"""A report as one HTML page that needs no other file, no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, final

from replication.report.claims import Claim, Verdict
from replication.report.figures import Drawing
from replication.report.parts import Table

# Nothing from elsewhere may be loaded, whatever a name contains; on top of escaping.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE: Final = """
:root { --ink: #1d2327; --soft: #5b6670; --line: #dfe3e6; --paper: #fff; --band: #f3f4f1;
  --good: #00684c; --half: #7a5200; --bad: #a33c00; --open: #56616b; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 Charter, "Bitstream Charter", "Iowan Old Style", Georgia, "DejaVu Serif", serif; }
main, header, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.5rem; }
h1, h2, h3, th, .caption, figcaption, nav, .chip, dt, .facts { font-family: system-ui,
  "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
h1 { font-size: clamp(1.6rem, 4.5vw, 2.4rem); line-height: 1.15; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .6rem; padding-top: 1.2rem;
  border-top: 1px solid var(--line); }
h2 .chip { margin-left: .6rem; vertical-align: .15em; }
p { max-width: 46rem; margin: .6rem 0; overflow-wrap: break-word; }
.lead { font-size: 1.12rem; color: var(--soft); margin-top: 0; }
.short { background: var(--band); border-left: 4px solid #0072B2; padding: .7rem 1.1rem;
  margin: 1.2rem 0; max-width: 56rem; }
.short p { margin: .35rem 0; max-width: none; }
nav { font-size: .9rem; margin: 1.2rem 0; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
a { color: #005a8e; }
.scroll { overflow-x: auto; margin: 0 0 1.4rem; }
table { border-collapse: collapse; font-family: system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", "DejaVu Sans", sans-serif; font-size: .86rem; line-height: 1.4; }
p.caption { color: var(--soft); font-size: .88rem; line-height: 1.45; margin: 1.4rem 0 .35rem;
  max-width: none; }
th, td { padding: .3rem .75rem .3rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); }
thead th { border-bottom: 2px solid var(--ink); font-weight: 600; vertical-align: bottom; }
td { font-variant-numeric: tabular-nums; white-space: nowrap; }
td.words { white-space: normal; min-width: 6.5rem; } td.words:last-child { min-width: 11rem; }
th:first-child, td:first-child, td.words, th.words { text-align: left; }
tbody tr:last-child.sum td { border-bottom: none; font-style: italic; color: var(--soft); }
ul.claims { list-style: none; padding: 0; margin: 1rem 0; max-width: 56rem; }
ul.claims li { padding: .7rem 0; border-bottom: 1px solid var(--line); }
ul.claims li strong { display: block; }
.chip { display: inline-block; font-size: .78rem; font-weight: 600; line-height: 1; color: #fff;
  padding: .28rem .55rem; border-radius: 1rem; white-space: nowrap; }
.agrees { background: var(--good); } .part { background: var(--half); }
.differs { background: var(--bad); } .open { background: var(--open); }
.figures { display: grid; gap: 1.6rem; margin: 1.2rem 0 1.8rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
figure { margin: 0; max-width: 42rem; min-width: 0; }
figure img { display: block; width: 100%; height: auto; }
figcaption { font-size: .88rem; color: var(--soft); line-height: 1.45; margin-top: .3rem; }
dl { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .25rem 1.2rem;
  font-size: .92rem; margin: .8rem 0; max-width: 56rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--band); padding: .7rem 1rem; overflow-x: auto; font-size: .85rem;
  line-height: 1.45; }
footer { color: var(--soft); font-size: .88rem; padding-top: 2rem; padding-bottom: 3rem; }
@media (max-width: 34rem) { body { font-size: 16px; } main, header, footer { padding-left: 1rem;
  padding-right: 1rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { body { background: #fff; } nav { display: none; } figure { break-inside: avoid; } }
"""

_CHIPS: Final = {
    Verdict.AGREES: "agrees",
    Verdict.PARTLY: "part",
    Verdict.DIFFERS: "differs",
    Verdict.OPEN: "open",
}


@final
@dataclass(frozen=True)
class Chapter:
    """A heading and what stands under it, in this order: words, facts, claims, figures, tables."""

    title: str
    paragraphs: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    code: str = ""
    claims: Sequence[Claim] = ()
    figures: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    verdict: Verdict | None = None


@final
@dataclass(frozen=True)
class Report:
    """The whole page."""

    title: str
    lead: str
    in_short: Sequence[tuple[str, str]]  # a label, or none, and what is to be said
    chapters: Sequence[Chapter]
    closing: str = ""
    language: str = field(default="en")


def page(report: Report) -> str:
    """Return the page; every text in it is escaped."""
    title = escape(report.title)
    links = "".join(
        f'<a href="#{_anchor(i)}">{escape(chapter.title)}</a>'
        for i, chapter in enumerate(report.chapters)
    )
    short = "".join(map(_short, report.in_short))
    body = "".join(_chapter(chapter, i) for i, chapter in enumerate(report.chapters))
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(report.language)}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n"
        f'<header><h1>{title}</h1><p class="lead">{escape(report.lead)}</p>'
        f'<div class="short">{short}</div><nav>{links}</nav></header>\n'
        f"<main>{body}</main>\n<footer>{escape(report.closing)}</footer></body></html>\n"
    )


def _short(line: tuple[str, str]) -> str:
    label, text = line
    bold = f"<strong>{escape(label)}.</strong> " if label else ""
    return f"<p>{bold}{escape(text)}</p>"


def _anchor(i: int) -> str:
    return f"part-{i + 1}"


def _chapter(chapter: Chapter, i: int) -> str:
    parts = [f'<h2 id="{_anchor(i)}">{escape(chapter.title)}{_chip(chapter.verdict)}</h2>']
    parts += [f"<p>{escape(text)}</p>" for text in chapter.paragraphs]
    if chapter.facts:
        pairs = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in chapter.facts)
        parts.append(f"<dl>{pairs}</dl>")
    if chapter.code:
        parts.append(f"<pre>{escape(chapter.code)}</pre>")
    if chapter.claims:
        items = "".join(map(_claim, chapter.claims))
        parts.append(f'<ul class="claims">{items}</ul>')
    if chapter.figures:
        parts.append(f'<div class="figures">{"".join(map(_figure, chapter.figures))}</div>')
    parts += [_table(table) for table in chapter.tables]
    return f"<section>{''.join(parts)}</section>\n"


def _chip(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    return f' <span class="chip {_CHIPS[verdict]}">{escape(verdict)}</span>'


def _claim(claim: Claim) -> str:
    said = f"<strong>{escape(claim.text)}{_chip(claim.verdict)}</strong>"
    return f"<li>{said} {escape(claim.evidence)}</li>"


def _table(table: Table) -> str:
    words = [_is_words([row[i] for row in table.rows]) for i in range(len(table.header))]
    head = "".join(_cell("th", text, words[i]) for i, text in enumerate(table.header))
    rows = []
    for row in table.rows:
        last = ' class="sum"' if row[0] == "first" else ""
        cells = "".join(_cell("td", text, words[i]) for i, text in enumerate(row))
        rows.append(f"<tr{last}>{cells}</tr>")
    # The caption stands outside of what scrolls, so that it can be read on a narrow screen.
    caption = escape(table.caption)
    return (
        f'<p class="caption">{caption}</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(tag: str, text: str, words: bool) -> str:
    kind = ' class="words"' if words else ""
    return f"<{tag}{kind}>{escape(text)}</{tag}>"


def _is_words(column: Sequence[str]) -> bool:
    """Whether a column reads as text: then it stands to the left."""
    filled = [text for text in column if text]
    return bool(filled) and not any(text[0].isdigit() or text[0] in "–-+" for text in filled)


def _figure(drawing: Drawing) -> str:
    # As an image of its own, names inside one drawing cannot meet those of another.
    data = base64.b64encode(drawing.svg.encode()).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(drawing.description)}">'
        f"<figcaption>{escape(drawing.caption)}</figcaption></figure>"
    )
