"""The README's shell blocks, run; its Python blocks are doctests (``--doctest-glob``).

Commands of ``console`` blocks run in an empty folder with ``examples/`` and ``replication/`` in it,
one after the other, and what they write must be what the README says (``...`` stands for
anything). Two kinds would take minutes or change the environment: ``make`` says what it would do,
``pip install`` stops short of installing.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests import page_blocks
from tests.page_blocks import blocks, in_shell, run, same

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks(README)
COMMANDS = [
    found
    for block in BLOCKS
    if block.language == "console"
    for found in page_blocks.commands(block)
]


def test_all_blocks_are_of_a_kind_that_is_run():
    assert {block.language for block in BLOCKS} == {"python", "console"}
    outside = re.sub(r"^```.*?^```$", "", README, flags=re.M | re.S)
    indented = re.findall(r"^    \S.*$", outside, re.M)
    assert indented == ["    λ‖w‖₁ + ℓ(w)"]  # the formula
    assert sum(command.startswith("proxqn train") for command, _ in COMMANDS) >= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    for part in ("examples", "replication"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def safe(command, folder):
    """Return the command as it is run here, and where."""
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        return ["make", "-n", f"PYTHON={sys.executable}", *words[1:]], ROOT
    if words[:2] == ["pip", "install"]:
        options = ["--dry-run", "--no-deps", "--no-build-isolation", "--quiet"]
        return [sys.executable, "-m", "pip", "install", *options, *words[2:]], ROOT
    return in_shell(command), folder


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this system")
def test_commands_print_what_the_readme_says(folder):
    for command, expected in COMMANDS:
        arguments, where = safe(command, folder)
        got = run(arguments, where)
        if where is folder:
            assert same(expected, got), f"{command}\n--- expected\n{expected}\n--- got\n{got}"
    assert (folder / "chunks.html").stat().st_size > 1000


def test_the_check_can_fail():
    assert not same("F1 0.9 (... s)\n", "F1 0.8 (1 s)\n")
