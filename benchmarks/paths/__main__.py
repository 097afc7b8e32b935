"""Paths in figures: what λ after λ costs, what is proved, what a cross-validation takes.

    python -m benchmarks.paths [--parts grids,changes,certified,cv] [--rows NAME] [--rival]

One thread; seconds are of the processor, passes are forward passes as the meter counts them.
``--rival`` runs a random search with CRFsuite beside the cross-validation (hours).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from benchmarks.paths import certified, choice, grids
from benchmarks.tables import markdown

Table = tuple[str, list[str], Callable[[], Iterator[list[str]]]]


def tables(only: str, *, rival: bool) -> dict[str, Table]:
    """Return titles, headers and rows, by part."""
    return {
        "grids": (
            "Given λs, each proved to the same tolerance",
            grids.HEADER,
            lambda: grids.grids(only),
        ),
        "changes": (
            "To a λ from another: forward passes (* not looked at before)",
            grids.CHANGE_HEADER,
            lambda: grids.changes(only),
        ),
        "certified": ("Every λ proved", certified.HEADER, lambda: certified.paths(only)),
        "cv": ("Five folds", choice.HEADER, lambda: choice.choices(only, rival=rival)),
    }


def _told(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Show each row when it is there: all of them take long."""
    for row in rows:
        print(*row, sep="  ", file=sys.stderr, flush=True)
        yield row


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", default="grids,changes,certified,cv")
    parser.add_argument("--rows", help="only rows whose name holds this")
    parser.add_argument("--rival", action="store_true")
    args = parser.parse_args()
    known = tables(args.rows or "", rival=args.rival)
    for part in args.parts.split(","):
        title, header, rows = known[part]
        print(f"\n{title}\n", flush=True)
        print(markdown(header, _told(rows())), flush=True)


if __name__ == "__main__":
    main()
