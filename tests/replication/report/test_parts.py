"""Tables and series that do not fit together are refused where they are made."""

from __future__ import annotations

import pytest

from replication.report.parts import Section, Series, Table, TheoryReport


def test_a_row_is_as_long_as_its_header():
    with pytest.raises(ValueError, match="2 entries like its header, got 1"):
        Table("t", ("a", "b"), (("1", "2"), ("3",)))


def test_a_series_has_as_many_x_as_y():
    with pytest.raises(ValueError, match="'s' must have as many x as y, got 2 and 1"):
        Series("s", (1.0, 2.0), (1.0,))


@pytest.mark.parametrize("second", [True, False])
def test_a_report_holds_if_all_its_sections_do(second):
    sections = tuple(Section("s", (), (), (), holds=holds) for holds in (True, second))
    assert TheoryReport(sections).holds is second
