from __future__ import annotations

import re
from html.parser import HTMLParser

from replication.report.claims import Claim, Verdict
from replication.report.figures import Drawing
from replication.report.page import Chapter, Report, page
from replication.report.parts import Table

EVIL = '<script>alert("1")</script>&'
VOID = {"meta", "link", "img", "br"}


class Balanced(HTMLParser):
    """Checks that every element is closed, in order, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def evil_page() -> str:
    chapter = Chapter(
        EVIL,
        [EVIL],
        [(EVIL, EVIL)],
        EVIL,
        [Claim(EVIL, Verdict.DIFFERS, EVIL)],
        [Drawing(EVIL, EVIL, "<svg xmlns='http://www.w3.org/2000/svg'/>")],
        [Table(EVIL, (EVIL, "n"), ((EVIL, "1"), ("first", EVIL)))],
        Verdict.AGREES,
    )
    return page(Report(EVIL, EVIL, [(EVIL, EVIL)], [chapter], EVIL))


def test_everything_is_escaped_and_closed():
    parser = Balanced()
    parser.feed(evil_page())
    assert parser.open == []
    assert "script" not in parser.tags
    assert parser.text.count(EVIL) >= 12


def test_nothing_is_loaded_from_elsewhere():
    text = evil_page()
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    assert "url(" not in text
    assert "default-src 'none'" in text


def test_words_stand_left_and_numbers_right():
    table = Table("c", ("a", "b", "c"), (("x", "1", "time was up"), ("y", "–", "")))
    text = page(Report("t", "", [], [Chapter("c", tables=[table])]))
    assert '<td class="words">time was up</td>' in text
    assert "<td>1</td><td" in text
