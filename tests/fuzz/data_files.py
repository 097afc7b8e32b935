"""Files of data, templates and label trees, changed word by word."""

from __future__ import annotations

from tests.fuzz.kind import Kind

KINDS: dict[str, Kind] = {}
