from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from replication.report.figures import draw
from replication.report.parts import Curves, Series

pytest.importorskip("matplotlib")
LINES = (
    Series("Prox-QN", (0.1, 1.0, 2.0), (1.0, 1e-3, 1e-9)),
    Series("a < b & c", (0.0, 1.0, 2.0), (1.0, 0.0, math.nan)),
)


def test_both_files_are_written_and_the_same_each_time(tmp_path):
    curves = Curves("Error", "seconds", "error", True, LINES)
    first, again = draw(curves, tmp_path, "a"), draw(curves, tmp_path / "deeper", "a")
    assert first == again
    assert first.svg == (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert ET.fromstring(first.svg).tag.endswith("svg")
    assert "a < b & c" in first.description


@pytest.mark.parametrize("log_x", [False, True])
def test_a_line_without_points_does_no_harm(tmp_path, log_x):
    nothing = Curves("Nothing", "x", "y", True, (Series("none", (1.0,), (0.0,)),))
    assert draw(nothing, tmp_path, "nothing", log_x=log_x).caption == "Nothing"
