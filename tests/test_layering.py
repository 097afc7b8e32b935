"""Imports go one way, and importing the package changes nothing."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import proxqn

SOURCE = Path(proxqn.__file__).parent

# What each part may import, besides itself. A solver knows no loss and no penalty but what the seam
# says of them, and a loss no solver. docs/architecture.md has the same table.
ALLOWED = {
    "_kernels": set(),
    "aligned_array": set(),
    "random_numbers": set(),
    "file_error": set(),
    "replacing": set(),
    "problem": set(),
    "penalties": {"problem"},
    "features": {"file_error", "problem", "_kernels"},
    "metrics": {"features"},
    "datasets": {"features"},
    "losses": {"problem", "aligned_array", "features", "_kernels", "random_numbers"},
    "run": {"problem", "replacing"},
    "testing": {"problem"},
    "solvers": {"problem", "aligned_array", "run", "_kernels", "random_numbers", "_old"},
    "minimization": {"problem", "penalties", "losses", "solvers", "run"},
    "path": {"problem", "penalties", "losses", "solvers", "replacing", "run", "minimization"},
    "ui": {"problem", "replacing", "run"},
    "estimators": {
        "problem", "aligned_array", "penalties", "features", "losses", "solvers", "minimization",
        "path", "metrics", "run", "ui", "_kernels",
    },
    "io": {"problem", "features", "file_error", "solvers", "replacing", "run", "estimators"},
    "compat": {"features", "run", "replacing", "estimators", "io", "_kernels"},
}  # fmt: skip
TOP = {"__main__", "cli", "_moved", "_old"}  # may import anything below them

PROGRAM = """
import json, os, signal, sys, threading, time, warnings
def state():
    signals = {s: repr(signal.getsignal(s)) for s in signal.valid_signals()}
    threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
    return dict(os.environ), signals, list(warnings.filters), threads, threading.active_count()
before = state()
modules = set(sys.modules)
start = time.perf_counter()
import proxqn
seconds = time.perf_counter() - start
print(json.dumps({
    "seconds": seconds, "unchanged": state() == before,
    "modules": sorted({m.split(".")[0] for m in set(sys.modules) - modules}),
}))
"""


def imports(file: Path) -> set[str]:
    """Return the parts of proxqn that a file imports, also inside functions and for typing."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("proxqn.")}
    return found


def modules(file: Path) -> set[str]:
    """Return the modules that a file imports, or imports names from."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def part(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


# What replication/ may use of proxqn: what a user would. The public surface, then what shows a run
# (kept to one file, runs/watching.py) and the solvers' settings classes.
REPLICATION = Path(__file__).parents[1] / "replication"
PUBLIC = {
    "proxqn", "proxqn.datasets", "proxqn.minimization", "proxqn.penalties", "proxqn.problem",
    "proxqn.solvers.rivals.bcd", "proxqn.solvers.rivals.owl_qn", "proxqn.solvers.rivals.prox_gd",
    "proxqn.solvers.rivals.sgd", "proxqn.losses.tree.oracle", "proxqn.datasets.lshtc",
    "proxqn.ui.tables",
}  # fmt: skip
OF_A_RUN = {"proxqn.run.trace", "proxqn.run.status", "proxqn.run.watch"}

FILES = sorted(f for f in SOURCE.rglob("*.py") if f != SOURCE / "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_go_one_way(file):
    if part(file) in TOP:
        return
    assert part(file) in ALLOWED, f"say in this test what {part(file)} may import"
    wrong = imports(file) - ALLOWED[part(file)] - {part(file)}
    assert not wrong, f"{file.relative_to(SOURCE)} must not import proxqn.{', proxqn.'.join(wrong)}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_nothing_installed_imports_the_replication(file):
    outside = {name.partition(".")[0] for name in modules(file)}
    assert not outside & {"replication", "benchmarks", "tests"}


@pytest.mark.parametrize(
    "file", sorted(REPLICATION.rglob("*.py")), ids=lambda f: str(f.relative_to(REPLICATION))
)
def test_the_replication_uses_what_users_use(file):
    allowed = PUBLIC | OF_A_RUN if file.name == "watching.py" else PUBLIC
    wrong = {name for name in modules(file) if name.partition(".")[0] == "proxqn"} - allowed
    assert not wrong, f"replication/{file.relative_to(REPLICATION)} imports {', '.join(wrong)}"


def test_the_rules_have_no_cycle():
    left = {name: set(below) for name, below in ALLOWED.items()}
    while left:
        free = [name for name, below in left.items() if not below & set(left)]
        assert free, f"these import each other: {sorted(left)}"
        for name in free:
            del left[name]


def test_the_check_can_fail(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    from proxqn.losses.chain.oracle import ChainOracle\n")
    assert imports(file) == {"losses"}
    file.write_text("from proxqn import losses\nimport proxqn.features.matrix\n")
    assert imports(file) == {"losses", "features"}


def test_importing_is_quick_and_changes_nothing():
    runs = []
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
        )
        runs.append(json.loads(run.stdout))
    assert min(run["seconds"] for run in runs) < 0.5
    assert all(run["unchanged"] for run in runs)
    heavy = {"sklearn", "scipy", "matplotlib", "rich", "pandas", "click", "torch", "dask"}
    assert not heavy & set(runs[0]["modules"])


def test_minimising_needs_no_optional_package():
    program = (
        "import sys\nfrom proxqn import minimize, ChainOracle\n"
        "wrong = {'sklearn', 'matplotlib', 'rich', 'pandas', 'click'} & set(sys.modules)\n"
        "assert not wrong, wrong"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
