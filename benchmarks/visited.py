"""How much of the package a newcomer has to know to follow one call from end to end.

    python -m benchmarks.visited

Counts the files and the functions of proxqn that run, imports left out, when a chain is fitted to
sequences of dicts and when ``proxqn train chain`` fits one to a file: on the way in and out
(estimators, features, files, commands), in the loss, and in the solver. Below stand what there is
to set: fields of ``ProxQN``, and the numbers with a name in the solver's files. What was counted at
the commit before the rooms were rebuilt stands beside each.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
import tempfile
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import proxqn

SOURCE = str(Path(proxqn.__file__).parent)
ROOMS = ("way in and out", "loss", "solver")
# At commit 6330178: files and functions on the way in and out, in the loss, in the solver.
BEFORE = {
    "ChainCRF.fit(dicts)": dict(zip(ROOMS, [(19, 103), (5, 51), (17, 132)], strict=True)),
    "proxqn train chain": dict(zip(ROOMS, [(34, 214), (5, 51), (19, 158)], strict=True)),
}
SETTINGS_BEFORE, CONSTANTS_BEFORE = 17, 68
LOSS = ("losses", "oracles", "aligned.py", "aligned_array.py", "random_numbers.py")
SOLVER = ("solvers", "run", "problem", "problem.py", "penalties", "penalties.py", "minimization.py")

SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sees", "the", "dog"], ["dogs", "bark"]] * 10
LABELS = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"]] * 10


def room(file: str) -> str:
    """Return which of the three a file belongs to."""
    part = Path(file).relative_to(SOURCE).parts[0]
    return "loss" if part in LOSS else "solver" if part in SOLVER else "way in and out"


def _at_import(frame: FrameType) -> bool:
    """Whether a function or comprehension was called by the body of a module or of a class."""
    caller = frame.f_back
    return caller is not None and not caller.f_code.co_flags & CO_OPTIMIZED


def visited(call: Callable[[], Any]) -> dict[str, tuple[int, int]]:
    """Count the distinct files and functions of proxqn that a call runs, room by room."""
    found: set[tuple[str, str, int]] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        ours = event == "call" and code.co_filename.startswith(SOURCE)
        if ours and code.co_flags & CO_OPTIMIZED and not _at_import(frame):
            found.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    counts = {}
    for name in ROOMS:
        here = {entry for entry in found if room(entry[0]) == name}
        counts[name] = len({file for file, _, _ in here}), len(here)
    return counts


def constants(folder: Path) -> int:
    """Count the names in capitals that modules give to numbers."""
    found = 0
    for file in folder.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and _is_number(node.value):
                names = [
                    name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)
                ]
                found += sum(name.isupper() for name in names)
    return found


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is of numbers alone, or of a function of NumPy or math."""
    known = {"np", "math", "float"}
    leaves = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name)]
    return all(
        node.id in known if isinstance(node, ast.Name) else isinstance(node.value, int | float)
        for node in leaves
    )


def fit_dicts() -> None:
    """Fit a chain to sequences of dicts."""
    X = [[{"word": word, "length": len(word)} for word in words] for words in SENTENCES]
    proxqn.ChainCRF(lam=0.1).fit(X, LABELS)


def train(folder: Path) -> None:
    """Run the command on a file."""
    from proxqn.cli.app import proxqn as command

    arguments = ["train", "chain", folder / "d", "--template", folder / "t", "--lam", 0.1]
    command(map(str, [*arguments, "-o", folder / "m"]), standalone_mode=False)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = ("".join(f"{w} {y}\n" for w, y in zip(s, t, strict=True))
                for s, t in zip(SENTENCES, LABELS, strict=True))  # fmt: skip
        (folder / "d").write_text("\n".join(rows))
        (folder / "t").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
        calls = SimpleNamespace(fit=fit_dicts, train=lambda: train(folder))
        now = dict(zip(BEFORE, (visited(calls.fit), visited(calls.train)), strict=True))
    print(f"{'':22s}{'':16s}{'files':>16s}{'functions':>18s}")
    print(f"{'':22s}{'':16s}{'before':>8s}{'now':>8s}{'before':>10s}{'now':>8s}")
    for call, counts in now.items():
        rows = [(name, *BEFORE[call][name], *counts[name]) for name in ROOMS]
        rows.append(("in all", *(sum(row[k] for row in rows) for k in range(1, 5))))
        for name, old_files, old_functions, files, functions in rows:
            print(f"{call:22s}{name:16s}{old_files:8d}{files:8d}{old_functions:10d}{functions:8d}")
    n_settings = len(dataclasses.fields(proxqn.ProxQN))
    n_constants = constants(Path(SOURCE) / "solvers")
    print(f"{'settings of ProxQN':38s}{SETTINGS_BEFORE:8d}{n_settings:8d}")
    print(f"{'constants of the solver':38s}{CONSTANTS_BEFORE:8d}{n_constants:8d}")


if __name__ == "__main__":
    main()
