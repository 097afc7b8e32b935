"""The README's shell blocks, run; its Python blocks are doctests (``--doctest-glob``).

Commands of ``console`` blocks run in an empty folder with ``examples/`` and ``replication/`` in it,
one after the other, and what they write must be what the README says (``...`` stands for
anything). Two kinds would take minutes or change the environment: ``make`` says what it would do,
``pip install`` stops short of installing.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands():
    """Every command of the console blocks and the output under it."""
    for language, block in FENCES:
        if language == "console":
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


COMMANDS = list(commands())


def test_all_blocks_are_of_a_kind_that_is_run():
    assert {language for language, _ in FENCES} == {"python", "console"}
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
    return ["bash", "-o", "pipefail", "-c", command], folder


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this system")
def test_commands_print_what_the_readme_says(folder):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in COMMANDS:
        arguments, where = safe(command, folder)
        done = subprocess.run(
            arguments, cwd=where, env=os.environ | {"PATH": path}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        if where is folder:
            same = doctest.OutputChecker().check_output(expected, done.stdout, SAME)
            assert same, f"{command}\n--- expected\n{expected}\n--- got\n{done.stdout}"
    assert (folder / "chunks.html").stat().st_size > 1000


def test_the_check_can_fail():
    assert not doctest.OutputChecker().check_output("F1 0.9 (... s)\n", "F1 0.8 (1 s)\n", SAME)
