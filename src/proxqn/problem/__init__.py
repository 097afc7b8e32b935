"""The seam between losses and solvers: points and lines whose methods have prices, a penalty."""

from proxqn.problem.meter import Calls, metered
from proxqn.problem.oracle import DensePoint, Line, Oracle, Point, SpentPointError
from proxqn.problem.penalty import Local, Penalty
from proxqn.problem.sparse import Floats, Ints, SparseColumns, SparseVector, Sweep, union

__all__ = [
    "Calls",
    "DensePoint",
    "Floats",
    "Ints",
    "Line",
    "Local",
    "Oracle",
    "Penalty",
    "Point",
    "SparseColumns",
    "SparseVector",
    "SpentPointError",
    "Sweep",
    "metered",
    "union",
]
