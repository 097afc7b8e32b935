"""A path as data: its λs and weights, what is proved of them, and of every λ in between."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

from proxqn.path.segment import Segment, Solved
from proxqn.problem.sparse import Floats, SparseVector
from proxqn.replacing import replacing
from proxqn.solvers.curvature.memory import DrawExperience, Memory

PROVED, ESTIMATED = "proved", "estimated"
_FACTS = ("n_coordinates", "dense", "complete", "stopped", "wanted", "problem")
_MEMORY = ("coordinates", "steps", "changes")


@final
@dataclass(frozen=True)
class PathRow:
    """What it took to solve a λ, and what is known there."""

    lam: float
    objective: float
    gap: float  # above the optimum at most; infinite where no bound is known
    estimate: float  # above the optimum about
    size: float  # of the weights, as λ counts them: ‖w‖₁ for the plain penalty
    nnz: int
    known: str  # what is within the tolerance: "proved", "estimated", or "" where nothing is
    status: str
    iterations: int
    forward: float  # passes, samples of a warm-up counted as their share
    backward: float
    sweeps: float
    draws: float
    seconds: float
    why: str  # this λ was chosen
    segment: float = math.inf  # largest gap up to the λ above it, as a share of the objective

    @property
    def error(self) -> float:
        """The gap where it is proved to be small enough, else the estimate."""
        return self.gap if self.known == PROVED else min(self.gap, self.estimate)

    def solved(self, *, proved: bool) -> Solved:
        """Return what the bound between two λs reads."""
        error = self.gap if proved else self.error
        return Solved(self.lam, self.objective, self.size, error)


@final
@dataclass(frozen=True)
class Path:
    """The solutions at some λs, and mixtures of neighbours in between.

    Attributes
    ----------
    lams_ : array of shape (n,)
        λ, descending.
    weights : csc_array of shape (d, n)
        A column a λ.
    objectives, gaps, estimates : array of shape (n,)
        The penalised loss; how far above the optimum it is at most, as proved; about, as estimated.
    nnz : array of shape (n,)
        Weights off zero.
    known : array of shape (n,)
        What is within the tolerance: "proved", "estimated", or "" where neither is.
    trace : list of PathRow
        What each λ took, in the order in which they were solved.
    eps : float
        At every λ between the first and the last the mixture is proved to be within this share of
        its optimum; ``certified``: whether that is what was asked for.
    passes : float
        Forward passes over the data, in all.
    message : str
        Why the path ended, and what is proved of it.

    Examples
    --------
    >>> from proxqn import minimize_path
    >>> def loss(w):
    ...     r = w - np.array([3.0, 1.0])
    ...     return 0.5 * r @ r + 1.0, r
    >>> path = minimize_path(loss, x0=np.zeros(2), lower_bound=0.0, eps=0.01)
    >>> path.certified, path.at(1.5).x.round(1)
    (True, array([1.5, 0. ]))
    """

    trace: list[PathRow]
    columns: list[SparseVector]  # weights, in the order of the trace
    n_coordinates: int
    dense: bool = False  # whether x of results is, as for functions
    complete: bool = True  # whether all λs asked for are there
    stopped: str = ""  # why they are not
    wanted: float = math.inf  # what ``eps`` was to be
    problem: str = ""  # what tells it from paths of other data, where somebody needs to know
    memory: Memory | None = field(default=None, repr=False)  # of the last λ solved, to go on with

    def __len__(self) -> int:
        return len(self.trace)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.message}>"

    @property
    def _order(self) -> list[int]:
        return sorted(range(len(self.trace)), key=lambda i: -self.trace[i].lam)

    @property
    def rows(self) -> list[PathRow]:
        """The rows of the trace by λ, descending."""
        return [self.trace[i] for i in self._order]

    def _column(self, name: str) -> Floats:
        return np.array([getattr(row, name) for row in self.rows])

    @property
    def lams_(self) -> Floats:
        """λ, descending."""
        return self._column("lam")

    @property
    def objectives(self) -> Floats:
        """The penalised loss at each λ."""
        return self._column("objective")

    @property
    def gaps(self) -> Floats:
        """How far above the optimum each is at most, as proved."""
        return self._column("gap")

    @property
    def estimates(self) -> Floats:
        """How far above the optimum each is, as estimated."""
        return self._column("estimate")

    @property
    def nnz(self) -> Any:
        """Weights off zero."""
        return self._column("nnz")

    @property
    def known(self) -> Any:
        """What is within the tolerance: "proved", "estimated", or "" where neither is."""
        return self._column("known")

    @property
    def solutions(self) -> list[SparseVector]:
        """The weights at each λ, as sparse vectors."""
        return [self.columns[i] for i in self._order]

    @property
    def weights(self) -> Any:
        """The weights, a column a λ."""
        chosen = self.solutions
        indptr = np.concatenate([[0], np.cumsum([len(w.values) for w in chosen])])
        nothing = SparseVector.empty()
        indices = np.concatenate([w.coordinates for w in (*chosen, nothing)])
        data = np.concatenate([w.values for w in (*chosen, nothing)])
        shape = (self.n_coordinates, len(chosen))
        return sp.csc_array((data, indices, indptr), shape=shape)

    @property
    def passes(self) -> float:
        """Forward passes over the data, in all."""
        return sum(row.forward for row in self.trace)

    @property
    def eps(self) -> float:
        """The largest proved gap between the first and the last λ, as a share of the objective."""
        return self._worst(proved=True)

    @property
    def certified(self) -> bool:
        """Whether that is what was asked for."""
        return self.complete and self.eps <= self.wanted < math.inf

    @property
    def estimated_eps(self) -> float:
        """The same with estimates in place of gaps that are not within the tolerance."""
        return self._worst(proved=False)

    def _worst(self, *, proved: bool) -> float:
        rows = self.rows
        if len(rows) == 1:
            row = rows[0]
            return (row.gap if proved else row.error) / max(abs(row.objective), 1e-300)
        return max((s.worst()[0] for s in self.segments(proved=proved)), default=math.inf)

    def segments(self, *, proved: bool = True) -> list[Segment]:
        """Return what lies between neighbouring λs, descending."""
        solved = [row.solved(proved=proved) for row in self.rows]
        return [Segment(one, other) for one, other in itertools.pairwise(solved)]

    def at(self, lam: float) -> Any:
        """Return the certified mixture at a λ, as a result of ``minimize`` has it.

        ``fun`` is its objective at most, ``gap`` what is proved: its objective is no more than
        ``gap`` above the optimum. At a λ that was solved it is that solution.
        """
        rows, order = self.rows, self._order
        lams = self.lams_
        if not len(rows):
            raise ValueError("the path is empty: no λ was solved before it ended.")
        if lam > lams[0] and rows[0].size == 0.0:
            # What λ multiplies is zero, and f*_λ rises with λ: the solution and its gap stay.
            return self._result(self.columns[order[0]], rows[0].objective, rows[0], lam)
        if not lams[-1] <= lam <= lams[0]:
            raise ValueError(
                f"the path goes from λ = {lams[0]:g} to {lams[-1]:g}, got {lam!r}. Solve it with "
                "minimize, or make a longer path."
            )
        k = int(np.searchsorted(-lams, -lam))  # the first at or below
        if lams[k] == lam:
            return self._result(self.columns[order[k]], rows[k].objective, rows[k], lam)
        segment, told = (
            Segment(rows[k - 1].solved(proved=p), rows[k].solved(proved=p)) for p in (True, False)
        )
        share = segment.share(lam)
        above, below = self.columns[order[k - 1]], self.columns[order[k]]
        w = SparseVector(above.coordinates, (1.0 - share) * above.values).plus(below, share)
        known = rows[k].known if rows[k].known == rows[k - 1].known else ""
        if {rows[k].known, rows[k - 1].known} == {PROVED, ESTIMATED}:
            known = ESTIMATED
        return self._found(w, segment.objective(lam), segment.gap(lam), told.gap(lam), known, lam)

    def _result(self, w: SparseVector, objective: float, row: PathRow, lam: float) -> Any:
        return self._found(w, objective, row.gap, min(row.gap, row.estimate), row.known, lam)

    def _found(
        self, w: SparseVector, fun: float, gap: float, estimate: float, known: str, lam: float
    ) -> Any:
        x: Any = sp.coo_array((w.values, (w.coordinates,)), shape=(self.n_coordinates,))
        result: Any = OptimizeResult()
        result.update(
            x=x.toarray() if self.dense else x,
            weights=w,
            lam=lam,
            fun=fun,
            gap=gap,
            estimate=estimate,
            known=known,
            nnz=len(w.values),
            success=bool(known),
        )
        return result

    @property
    def message(self) -> str:
        """What is known of the path, in a sentence."""
        rows = self.rows
        if not rows:
            return f"no λ was solved; {self.stopped}".rstrip("; ")
        words = f"{len(rows)} λs from {rows[0].lam:.4g} to {rows[-1].lam:.4g}"
        if math.isfinite(self.eps):
            words += f"; at every λ in between proved within {100 * self.eps:.2g} %"
        if self.estimated_eps < self.eps:
            words += f"; estimated within {100 * self.estimated_eps:.2g} %"
        return f"{words}; {self.stopped}" if self.stopped else words

    def plot(self, axes: Sequence[Any] | None = None) -> Any:
        """Draw coefficients, nonzeros and gap against λ (needs matplotlib); return the axes."""
        from proxqn.path.plot import plot  # here: matplotlib is an extra

        return plot(self, axes)

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row a λ (needs pandas)."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def save(self, file: str | PathLike[str]) -> None:
        """Write all of it to one npz file; ``Path.load`` reads it."""
        save(self, file)

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Path:
        """Read what ``save`` wrote."""
        return load(file)


def save(path: Path, file: str | PathLike[str]) -> None:
    """Write a path: rows as JSON, weights one after the other, what the last λ taught."""
    columns, memory = path.columns, path.memory
    facts = {name: getattr(path, name) for name in _FACTS}
    facts |= {"rows": [asdict(row) for row in path.trace]}
    nothing = SparseVector.empty()
    arrays: dict[str, Any] = {
        "facts": np.array(json.dumps(facts)),
        "sizes": np.array([len(w.values) for w in columns], dtype=np.int64),
        "coordinates": np.concatenate([w.coordinates for w in (*columns, nothing)]),
        "values": np.concatenate([w.values for w in (*columns, nothing)]),
    }
    if memory is not None:
        draws = memory.draws
        scalars = [memory.gamma, draws.steps, draws.refused, draws.raised]
        arrays |= {f"memory_{name}": getattr(memory, name) for name in _MEMORY}
        arrays["memory_scalars"] = np.array(scalars)
    with replacing(file) as out:
        np.savez(out, allow_pickle=False, **arrays)


def load(file: str | PathLike[str]) -> Path:
    """Read what ``save`` wrote."""
    with np.load(file, allow_pickle=False) as given:
        facts = json.loads(str(given["facts"]))
        rows = [PathRow(**row) for row in facts.pop("rows")]
        ends = np.cumsum(given["sizes"]).tolist()
        coordinates, values = given["coordinates"], given["values"]
        columns = [
            SparseVector(coordinates[a:b], values[a:b]) for a, b in itertools.pairwise([0, *ends])
        ]
        memory = None
        if "memory_scalars" in given:
            gamma, drawn, refused, raised = given["memory_scalars"].tolist()
            draws = DrawExperience(int(drawn), refused, raised)
            coordinates, steps, changes = (given[f"memory_{name}"] for name in _MEMORY)
            memory = Memory(coordinates, steps, changes, gamma, draws)
    return Path(rows, columns, memory=memory, **facts)
