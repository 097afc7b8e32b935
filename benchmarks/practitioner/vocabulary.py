"""Loading a model whose vocabulary has ten million features."""

from __future__ import annotations

from typing import Any

from benchmarks.model_file import measure_times
from benchmarks.tables import markdown, seconds


def measure(n_features: int = 10_000_000) -> dict[str, Any]:
    """Time saving, loading and the first sentence."""
    return measure_times(n_features)


def table(found: dict[str, Any]) -> str:
    """Return the times."""
    rows = [[what, *map(seconds, pair)] for what, pair in found["seconds"].items()]
    header = [f"{found['features']:,} features, {found['megabytes']:,.0f} MB", "wall, s",
              "of a processor, s"]  # fmt: skip
    return markdown(header, rows)
