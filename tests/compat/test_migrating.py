"""The page on migration: its Python runs, its commands and options are there."""

import doctest
import re
from pathlib import Path

from click.testing import CliRunner

from proxqn.cli.app import proxqn as command_line

GUIDE = Path(__file__).parents[2] / "docs/migrating.md"


def test_the_guides_python_runs():
    assert doctest.testfile(str(GUIDE), module_relative=False).failed == 0


def test_the_guides_commands_and_options_exist():
    text = GUIDE.read_text(encoding="utf-8").partition(
        "## CRFsuite's commands, in proxqn's own words"
    )[2]
    ours = " ".join(re.split(r"(?<!\\)\|", row)[2] for row in re.findall(r"^\|.*$", text, re.M))
    commands = [["train", "chain"], ["predict"], ["evaluate"], ["inspect"], ["export"]]
    help_ = " ".join(CliRunner().invoke(command_line, [*c, "--help"]).output for c in commands)
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", ours))
    assert {"--lam", "--n-best", "--to"} <= options
    assert options <= set(re.findall(r"--[a-z][a-z0-9-]*", help_))
    named = set(re.findall(r"proxqn (\w+(?: chain)?)", ours))
    assert named == {" ".join(command) for command in commands}
