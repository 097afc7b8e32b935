"""Faults put into stopping, line search and certificates, one at a time: does a test fail?

``make mutants``. A fault is a comparison, a sign, a constant or a condition turned round. Those
that no test notices are listed, each with its line: it is either a hole in the tests or changes
nothing that can be seen. ``--sample N`` takes each N-th fault alone.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

import hypothesis  # noqa: F401 -- imported here once, not in each child
import numpy  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse  # noqa: F401
import sklearn.base  # noqa: F401

ROOT = Path(__file__).parents[2]
SOLVERS = ["tests/solvers/test_standing.py", "tests/test_pinned.py"]
TESTS = {  # of each module: those nearest to it first
    "standing": [*SOLVERS, "tests/solvers/certificate/test_box.py"],
    "estimate": ["tests/solvers/test_estimate.py", *SOLVERS],
    "line_search": ["tests/solvers/test_line_search.py", *SOLVERS],
    "certificate.bound": ["tests/solvers/certificate/test_bound.py", *SOLVERS],
    "certificate.box": ["tests/solvers/certificate/test_box.py", *SOLVERS],
    "certificate.witness": ["tests/solvers/certificate/test_witness.py", *SOLVERS],
    "certificate.best_average": ["tests/solvers/certificate/test_best_average.py", *SOLVERS],
}
LIMIT = 120  # seconds of the processor for a mutant: one that runs for ever is noticed, too
ASLEEP = 1800  # seconds for one that waits for ever

OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
OPPOSITE = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A module with one fault."""

    module: str
    line: int
    fault: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line}: {self.fault}"


def path_of(module: str) -> Path:
    return ROOT / "src" / "proxqn" / "solvers" / f"{module.replace('.', '/')}.py"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return what may stand in a node's place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield _with(node, ops=[OTHER[type(op)]()])
        case ast.BinOp(op=op) if type(op) in OTHER and not _of_types(node):
            yield _with(node, op=OTHER[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=OTHER[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2.0 * value + (value == 0.0))
        case ast.Call(func=ast.Name(id=name)) if name in OPPOSITE:
            yield _with(node, func=ast.Name(OPPOSITE[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name)) if name in OPPOSITE:
            yield _with(node, func=_with(node.func, attr=OPPOSITE[name]))
        case ast.If(test=test):
            yield _with(node, test=ast.Constant(True))
            yield _with(node, test=ast.Constant(False))
            del test
        case ast.Break():
            yield ast.Pass()


def mutants(module: str) -> Iterator[Mutant]:
    """Return all faults of a module, in order."""
    source = path_of(module).read_text()
    tree = ast.parse(source)
    lines = source.splitlines()
    for place, (parent, field, index) in enumerate(_places(tree)):
        node = _at(parent, field, index)
        for change in changes(node):
            other = copy.deepcopy(tree)
            own, own_field, own_index = list(_places(other))[place]
            _put(own, own_field, own_index, ast.copy_location(change, node))
            ast.fix_missing_locations(other)
            at = f"{lines[node.lineno - 1].strip()}   →   {ast.unparse(change).splitlines()[0]}"
            yield Mutant(module, node.lineno, at, other)


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Return where each node hangs, but for annotations and decorators."""
    apart = {
        id(inside)
        for node in ast.walk(tree)
        for decorator in getattr(node, "decorator_list", [])
        for inside in ast.walk(decorator)
    }
    for parent in ast.walk(tree):
        if id(parent) in apart:
            continue
        for field, value in ast.iter_fields(parent):
            if field in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            if isinstance(value, list):
                yield from ((parent, field, i) for i, v in enumerate(value) if _code(v))
            elif _code(value):
                yield parent, field, None


def _code(node: object) -> bool:
    return isinstance(node, (ast.expr, ast.stmt)) and hasattr(node, "lineno")


def _of_types(node: ast.AST) -> bool:
    """Whether it is of texts or types, where another operator is an error at once."""
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))


def _at(parent: ast.AST, field: str, index: int | None) -> ast.AST:
    value = getattr(parent, field)
    found: ast.AST = value if index is None else value[index]
    return found


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _with(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Loader(SourceFileLoader):
    """Gives the faulty module in place of the sound one."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]
        return compile(self.tree, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the faulty module before the others do."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:  # type: ignore[no-untyped-def]
        if fullname != f"proxqn.solvers.{self.mutant.module}":
            return None
        file = str(path_of(self.mutant.module))
        loader = Loader(fullname, file, self.mutant.tree)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


def start(mutant: Mutant | None, tests: list[str]) -> int:
    """Run tests in a child that is killed where it takes too long; its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        signal.alarm(ASLEEP)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        if mutant:
            sys.meta_path.insert(0, Finder(mutant))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def survivors(work: list[Mutant], jobs: int) -> Iterator[Mutant]:
    """Run the tests of all mutants; those that nothing notices."""
    running: dict[int, Mutant] = {}
    left = iter(work)
    while True:
        while len(running) < jobs and (mutant := next(left, None)):
            running[start(mutant, TESTS[mutant.module])] = mutant
        if not running:
            return
        child, status = os.wait()
        if os.waitstatus_to_exitcode(status) == 0:
            yield running[child]
        del running[child]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS))
    parser.add_argument("--sample", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    assert "proxqn" not in sys.modules, "children are to import it themselves"
    os.environ |= {"OPENBLAS_NUM_THREADS": "1"}
    work = [m for module in options.modules for m in list(mutants(module))[:: options.sample]]
    tests = sorted({test for module in options.modules for test in TESTS[module]})
    _, status = os.waitpid(start(None, tests), 0)
    if status:
        sys.exit("the tests fail without any fault")
    begin, found = time.perf_counter(), []
    for mutant in survivors(work, options.jobs):
        found.append(mutant)
        print(mutant.name, flush=True)
    print(f"{len(found)} of {len(work)} faults unnoticed [{time.perf_counter() - begin:.0f} s]")


if __name__ == "__main__":
    main()
