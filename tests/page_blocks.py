"""The fenced blocks of a page, and what runs them."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)


class Block(NamedTuple):
    """A fenced block: its language, the file that it is, if it is one, and its text."""

    language: str
    title: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(page)]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block and the output under it."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def same(expected: str, got: str) -> bool:
    """Whether a command wrote what its page says; ``...`` stands for anything."""
    return doctest.OutputChecker().check_output(expected, got, SAME)


def run(arguments: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command in a folder, with this Python's commands first, and return what it wrote."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        arguments, cwd=folder, env=os.environ | {"PATH": path} | dict(environment or {}),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}"
    return done.stdout


def in_shell(command: str) -> list[str]:
    return ["bash", "-o", "pipefail", "-c", command]
