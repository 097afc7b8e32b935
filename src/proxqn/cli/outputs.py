"""Files that commands write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from proxqn.cli.failures import OutputError
from proxqn.io.container import write_atomically


def check_writable(*paths: str | None) -> None:
    """Refuse a file that could not be written, before hours of work; None and ``-`` are fine."""
    for path in paths:
        if path is None or path == "-":
            continue
        folder = Path(path).parent
        if not folder.is_dir():
            raise OutputError(f"{path}: the folder {folder} does not exist; create it first.")
        if Path(path).is_dir() or not os.access(folder, os.W_OK):
            raise OutputError(f"{path}: cannot be written.")


def write_lines(lines: Iterable[str], path: str) -> None:
    """Write lines, which end in line feeds, to a file at once or to standard output (``-``)."""
    if path == "-":
        for line in lines:
            click.echo(line, nl=False)
        return
    write_atomically("".join(lines).encode(), path)
