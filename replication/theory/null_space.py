"""Theorem 3: the null space of a CRF's Hessian does not depend on w, and ℓ is constant along it.

The Hessian is taken from the oracle the solvers use, by differences of its gradients; Φ is written
out from the definition of the model. Neither knows of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from scipy.linalg import subspace_angles

from proxqn.problem import Floats, Oracle
from replication.report.parts import Section, Table
from replication.theory.labelings import Split, split
from replication.theory.oracle_calls import gradient, loss
from replication.theory.problems import TheoryProblem

POINTS: Final = (0.0, 0.1, 0.3, 1.0)  # scales of w
SHIFTS: Final = (1e-2, 1.0, 1e2, 1e4)  # lengths of the moves
_STEP = 1e-3  # of the differences, of fourth order: errors of 1e-12
_SAME = 1e-12  # change of ℓ, relative to ℓ + shift: rounding of the scores


@final
@dataclass(frozen=True)
class Comparison:
    """The Hessian at one point against Φ."""

    scale: float  # of the random w; 0 is w = 0
    rank: int
    angle: float  # the largest principal angle between the two null spaces
    smallest: float  # smallest eigenvalue counted and the largest not counted,
    left_out: float  # as fractions of the largest

    @property
    def blur(self) -> float:
        """The angle that the error of the differences can account for (Davis and Kahan)."""
        return 10.0 * self.left_out / self.smallest


@final
@dataclass(frozen=True)
class Shift:
    """The largest change of ℓ over points and directions, relative to ℓ, at one length."""

    length: float
    within: float  # along the null space
    across: float  # along its orthogonal complement, for comparison
    same: bool


@final
@dataclass(frozen=True)
class Findings:
    """What was measured on one problem."""

    problem: TheoryProblem
    phi: Split
    comparisons: tuple[Comparison, ...]
    shifts: tuple[Shift, ...]

    @property
    def same_space(self) -> bool:
        """Whether rank and null space of the Hessian were Φ's at every point."""
        return all(
            at.rank == self.phi.rank and at.angle <= at.blur < 0.01 for at in self.comparisons
        )

    @property
    def constant_along(self) -> bool:
        """Whether ℓ changed by no more than rounding along the null space."""
        return all(shift.same for shift in self.shifts)


def study(problem: TheoryProblem, seed: int) -> Findings:
    """Compare null spaces at several points and move along them."""
    rng = np.random.default_rng(seed)
    phi = split(problem.labelings.matrix())
    d = problem.labelings.n_coordinates
    points = [scale * rng.normal(size=d) for scale in POINTS]
    return Findings(
        problem,
        phi,
        tuple(
            _compare(scale, split(hessian(problem.oracle, w)), phi)
            for scale, w in zip(POINTS, points, strict=True)
        ),
        tuple(_shift(problem.oracle, points, phi, length, rng) for length in SHIFTS),
    )


def hessian(oracle: Oracle, w: Floats) -> Floats:
    """Return the Hessian by differences of gradients, column by column [d, d]."""
    columns = []
    for j in range(len(w)):
        slope = np.zeros(len(w))
        for k, factor in ((1, 8.0), (2, -1.0)):
            for sign in (1.0, -1.0):
                at = w.copy()
                at[j] += sign * k * _STEP
                slope += sign * factor * gradient(oracle, at)
        columns.append(slope / (12.0 * _STEP))
    H = np.array(columns)
    return 0.5 * (H + H.T)


def _compare(scale: float, at: Split, phi: Split) -> Comparison:
    angle = subspace_angles(at.rest, phi.rest).max() if at.rest.size and phi.rest.size else 0.0
    return Comparison(scale, at.rank, float(angle), at.smallest, at.left_out)


def _shift(
    oracle: Oracle, points: list[Floats], phi: Split, length: float, rng: np.random.Generator
) -> Shift:
    within, across, same = 0.0, 0.0, True
    for w in points:
        here = loss(oracle, w)
        for space in (phi.rest, phi.space):
            direction = space @ rng.normal(size=space.shape[1])
            direction *= length / np.linalg.norm(direction)
            change = abs(loss(oracle, w + direction) - here)
            if space is phi.rest:
                within = max(within, change / here)
                same &= change <= _SAME * oracle.n_samples * (here + length)
            else:
                across = max(across, change / here)
    return Shift(length, within, across, same)


def section(findings: list[Findings]) -> Section:
    """Put the findings into words and tables."""
    paragraphs = [
        "The paper's Theorem 3: a CRF's loss depends on the weights only through their projection "
        "onto T, the column space of the matrix Φ of all labelings' features, and the null space "
        "of its Hessian is the orthogonal complement of T at every w. We wrote Φ out for tiny "
        "problems, and took the Hessian from this package's own oracles by differences of their "
        f"gradients, at w = 0 and at random w (normal entries of scale {_list(POINTS[1:])}).",
        *(_words(found) for found in findings),
    ]
    return Section(
        title="The constant null space of a CRF",
        paragraphs=tuple(paragraphs),
        tables=tuple(table for found in findings for table in _tables(found)),
        curves=(),
        holds=all(found.same_space and found.constant_along for found in findings),
    )


def _words(found: Findings) -> str:
    problem, phi = found.problem, found.phi
    d, n = problem.labelings.n_coordinates, problem.labelings.n_columns
    worst = max(at.angle for at in found.comparisons)
    same = "equal" if found.same_space else "do NOT all equal"
    first, last = found.comparisons[0], found.comparisons[-1]
    constant = (
        f"ℓ changes by rounding only: at most {max(s.within for s in found.shifts):.0e} of itself"
        if found.constant_along
        else f"ℓ does change: by up to {max(s.within for s in found.shifts):.0e} of itself"
    )
    return (
        f"{problem.name.capitalize()}: {problem.description}. Φ has {d} rows and {n:,} columns and "
        f"rank {phi.rank}. Rank and null space of the Hessian at the {len(found.comparisons)} "
        f"points {same} those of Φ; the largest angle between the null spaces is {worst:.0e} "
        f"radians. What does depend on w is how strongly convex the loss is on T: its smallest "
        f"curvature relative to the largest is {first.smallest:.0e} at w = 0 and "
        f"{last.smallest:.0e} at scale {last.scale:g}, so the paper's m is a constant only where w "
        f"is bounded. Along random directions of the null space, up to {SHIFTS[-1]:,.0f} long, "
        f"{constant}; as far along T it changes by a factor of up to "
        f"{max(s.across for s in found.shifts):.0e}."
    )


def _tables(found: Findings) -> tuple[Table, Table]:
    name = found.problem.name.capitalize()
    spaces = Table(
        caption=f"{name}: the Hessian against Φ (rank {found.phi.rank})",
        header=(
            "scale of w",
            "rank",
            "largest angle",
            "explained by rounding",
            "smallest eigenvalue counted",
            "largest not counted",
        ),
        rows=tuple(
            (
                f"{at.scale:g}",
                str(at.rank),
                f"{at.angle:.1e}",
                f"up to {at.blur:.1e}",
                f"{at.smallest:.1e}",
                f"{at.left_out:.1e}",
            )
            for at in found.comparisons
        ),
    )
    moves = Table(
        caption=f"{name}: largest relative change of ℓ over these points",
        header=("length of the move", "in the null space", "in T"),
        rows=tuple((f"{s.length:g}", f"{s.within:.1e}", f"{s.across:.1e}") for s in found.shifts),
    )
    return spaces, moves


def _list(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)
