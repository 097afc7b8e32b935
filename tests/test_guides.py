"""The guides, block by block, in an empty folder: files are written, the rest is run.

The files of the guides before are there. What a guide installs goes into a folder beside it, on the
path of its later commands.
"""

from __future__ import annotations

import doctest
import importlib
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from tests.page_blocks import SAME, Block, blocks, commands, in_shell, run, same

GUIDES = sorted((Path(__file__).parents[1] / "docs" / "guides").glob("*.md"))
INSTALL = [
    sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
    "--no-build-isolation", "--disable-pip-version-check", "--target", "installed",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this system")
@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_does_what_it_says(guide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    for earlier in GUIDES[: GUIDES.index(guide)]:
        for block in blocks(earlier.read_text(encoding="utf-8")):
            _write(block, tmp_path)
    before = set(sys.modules)
    page = guide.read_text(encoding="utf-8")
    seen = {}
    try:
        for block in blocks(page):
            _play(block, guide, page, tmp_path, seen)
    finally:
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", None) is None:
                continue
            if Path(sys.modules[name].__file__).is_relative_to(tmp_path):
                del sys.modules[name]


def _play(block: Block, guide: Path, page: str, folder: Path, seen: dict) -> None:
    if block.title:
        _write(block, folder)
    elif block.language == "python":
        line = page[: page.index(block.text)].count("\n")
        example = doctest.DocTestParser().get_doctest(
            block.text, seen, guide.name, str(guide), line
        )
        assert example.examples, f"{guide.name}: a block without a title holds examples"
        doctest.DebugRunner(optionflags=SAME).run(example, clear_globs=False)
        seen.update(example.globs)
    elif block.language == "console":
        for command, expected in commands(block):
            _run(command, expected, folder)
    else:
        assert block.language == "", f"{guide.name}: a block in {block.language} is not run"


def _write(block: Block, folder: Path) -> None:
    if block.title:
        (folder / block.title).parent.mkdir(exist_ok=True)
        (folder / block.title).write_text(block.text, encoding="utf-8")


def _run(command: str, expected: str, folder: Path) -> None:
    words = shlex.split(command, comments=True)
    if words[:2] == ["pip", "install"]:
        run([*INSTALL, *words[2:]], folder)
        importlib.invalidate_caches()
        return
    got = run(in_shell(command), folder, {"PYTHONPATH": f"{folder / 'installed'}{os.pathsep}."})
    assert same(expected, got), f"{command}\n--- expected\n{expected}\n--- got\n{got}"


def test_the_check_can_fail(tmp_path):
    wrong = "```python\n>>> 1 + 1\n3\n\n```\n"
    with pytest.raises(doctest.DocTestFailure):
        _play(blocks(wrong)[0], tmp_path / "page.md", wrong, tmp_path, {})
