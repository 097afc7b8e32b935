"""Write ``src/proxqn/_kernels.pyi`` from the compiled module.

After a change of what the module offers: ``python cpp/python/stubs.py``, which asks nanobind for
the signatures and gives its array types short names. A test compares the file with the module.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

STUB = Path(__file__).parents[2] / "src" / "proxqn" / "_kernels.pyi"

_NAMES = {
    "float64": "Double",
    "float32": "Float",
    "int64": "Int64",
    "int32": "Int32",
    "uint16": "UInt16",
    "uint8": "Byte",
}
_ARRAY = re.compile(
    r"Annotated\[NDArray\[numpy\.(\w+)\], dict\(shape=\((None,(?: None)?)\), "
    r"order='C', device='cpu'(, writable=False)?\)\]"
)
_HEAD = '''"""The compiled kernels, by ``cpp/python/stubs.py``; formulas are in ``cpp/``.

Arrays are in C order: ``Doubles`` have one dimension, a ``DoubleTable`` has two. What begins with
``Out`` is written to, in place; where its type is another one, the call is refused.
"""

from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

'''


def _short(found: re.Match[str], *, is_argument: bool) -> str:
    kind, shape, read_only = found.groups()
    out = "Out" if is_argument and not read_only else ""
    return out + _NAMES[kind] + ("s" if shape == "None," else "Table")


def _short_arrays(line: str) -> str:
    """Arguments stand before the arrow, and only what is written to is not read only there."""
    arguments, arrow, result = line.partition(") -> ")
    return (
        _ARRAY.sub(lambda found: _short(found, is_argument=True), arguments)
        + arrow
        + _ARRAY.sub(lambda found: _short(found, is_argument=False), result)
    )


def stub(module: ModuleType) -> str:
    """Return the text of the stub, not yet formatted."""
    from nanobind.stubgen import StubGen

    generator = StubGen(module)
    generator.put(module)
    body = generator.get()
    body = body[body.index("\nclass ") :].replace("typing.Any", "Any")
    body = "\n".join(_short_arrays(line) for line in body.splitlines())
    aliases = [
        f"{out}{name}{form}: TypeAlias = NDArray[np.{kind}]"
        for kind, name in _NAMES.items()
        for form in ("s", "Table")
        for out in ("", "Out")
        if re.search(rf"\b{out}{name}{form}\b", body)
    ]
    return _HEAD + "\n".join(aliases) + "\n" + body + "\n"


def main() -> None:
    """Write the file and format it."""
    import subprocess
    import sys

    from proxqn import _kernels

    STUB.write_text(stub(_kernels), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(STUB)], check=True)


if __name__ == "__main__":
    main()
