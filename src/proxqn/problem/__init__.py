"""The seam between losses and solvers: an oracle whose methods have prices, and a penalty."""

from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep, union
from proxqn.problem.stateful import (
    OPERATIONS,
    Calls,
    MeteredOracle,
    Oracle,
    Penalty,
)

__all__ = [
    "OPERATIONS",
    "Calls",
    "Floats",
    "Ints",
    "MeteredOracle",
    "Oracle",
    "Penalty",
    "SparseColumns",
    "SparseVector",
    "Sweep",
    "union",
]
