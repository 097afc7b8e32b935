"""The stub of the compiled kernels says what the module has."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from proxqn import _kernels

ROOT = Path(__file__).parents[1]


def written_down(text: str) -> dict[str, list[str]]:
    """Signatures by name, methods with their class."""
    found: dict[str, list[str]] = {}

    def note(body: list[ast.stmt], owner: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = []
                note(node.body, node.name + ".")
            elif isinstance(node, ast.FunctionDef):
                returns = ast.unparse(node.returns) if node.returns else ""
                signature = f"({ast.unparse(node.args)}) -> {returns}"
                found.setdefault(owner + node.name, []).append(signature)

    note(ast.parse(text).body, "")
    return found


def test_the_stub_is_that_of_the_module():
    pytest.importorskip("nanobind")
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "cpp" / "python" / "stubs.py")
    assert spec is not None
    assert spec.loader is not None
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    now = written_down(stubs.stub(_kernels))
    assert now == written_down(stubs.STUB.read_text(encoding="utf-8")), (
        "the module has changed: run `python cpp/python/stubs.py`"
    )


def test_everything_public_is_in_the_stub_and_no_argument_is_unnamed():
    text = (ROOT / "src" / "proxqn" / "_kernels.pyi").read_text(encoding="utf-8")
    found = written_down(text)
    public = {name for name in dir(_kernels) if not name.startswith("_")}
    assert public == {name for name in found if "." not in name}
    assert not [name for name, signatures in found.items() if any("arg0" in s for s in signatures)]
