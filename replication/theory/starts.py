"""Global convergence with shrinking (the paper's appendix A.5): any start leads to the optimum.

Here with the solver's own settings, so with inexact inner problems too. Each run ends with a lower
bound on the optimum of its own, so that the runs can be checked against each other: all bounds must
lie below all objectives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from proxqn import ProxQN, minimize
from proxqn.problem import Floats
from replication.report.parts import Section, Table
from replication.theory.problems import TheoryProblem

SCALES: Final = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4)
SETTINGS: Final = {"default": ProxQN(), "paper": ProxQN.paper()}
TOL: Final = 1e-6
_MAX_ITER = 20_000  # from far out the paper's settings can take thousands


@final
@dataclass(frozen=True)
class Group:
    """The runs of one problem, one setting and one scale of the starting point."""

    problem: TheoryProblem
    setting: str
    scale: float
    converged: int
    objectives: Floats
    bounds: Floats
    iterations: Floats
    epochs: Floats


def study(problem: TheoryProblem, per_scale: int, seed: int) -> list[Group]:
    """Start from normal random weights, every other time with nine of ten at zero."""
    rng = np.random.default_rng(seed)
    d = problem.labelings.n_coordinates
    groups = []
    for setting, solver in SETTINGS.items():
        for scale in SCALES:
            results = [
                minimize(
                    problem.oracle,
                    problem.lam,
                    x0=scale * rng.normal(size=d) * (rng.random(d) < (0.1 if k % 2 else 1.0)),
                    solver=solver,
                    tol=TOL,
                    stop="gap",
                    max_iter=_MAX_ITER,
                )
                for k in range(per_scale)
            ]
            groups.append(
                Group(
                    problem,
                    setting,
                    scale,
                    converged=sum(result.success for result in results),
                    objectives=_column(results, lambda r: r.fun),
                    bounds=_column(results, lambda r: r.fun - r.gap),
                    iterations=_column(results, lambda r: r.nit),
                    epochs=_column(results, lambda r: r.trace[-1].epoch),
                )
            )
    return groups


def _column(results: list[Any], of: Callable[[Any], float]) -> Floats:
    return np.array([of(result) for result in results], dtype=np.float64)


@final
@dataclass(frozen=True)
class Summary:
    """All runs on one problem."""

    groups: tuple[Group, ...]

    @property
    def problem(self) -> TheoryProblem:
        """The one problem."""
        return self.groups[0].problem

    @property
    def objectives(self) -> Floats:
        """Of all runs."""
        return np.concatenate([group.objectives for group in self.groups])

    @property
    def highest_bound(self) -> float:
        """The best lower bound that any run has proved."""
        return float(max(group.bounds.max() for group in self.groups))

    @property
    def spread(self) -> float:
        """How far the objectives are apart, relative to them."""
        return float(np.ptp(self.objectives) / self.objectives.min())

    @property
    def failures(self) -> int:
        """Runs that did not reach the tolerance."""
        return len(self.objectives) - sum(group.converged for group in self.groups)

    @property
    def agree(self) -> bool:
        """Whether every run converged, to the same objective within the certificates."""
        return (
            self.failures == 0
            and self.highest_bound <= self.objectives.min() * (1.0 + 1e-12)
            and self.spread <= TOL
        )


def section(summaries: list[Summary]) -> Section:
    """Put the findings into words and tables."""
    return Section(
        title="Global convergence with shrinking",
        paragraphs=(
            "The paper proves that with shrinking, too, the method converges to the optimum from "
            "any start (its appendix; inner problems solved exactly). We started it from random "
            f"weights of scales {SCALES[0]:g} to {SCALES[-1]:,.0f}, dense ones and sparse ones, "
            "with shrinking and inexact inner problems, in our default settings and in the "
            f"paper's, to a relative duality gap of {TOL:g}.",
            *(_words(summary) for summary in summaries),
        ),
        tables=tuple(_table(summary) for summary in summaries),
        curves=(),
        holds=all(summary.agree for summary in summaries),
    )


def _words(summary: Summary) -> str:
    n = len(summary.objectives)
    name = summary.problem.name
    most = max(group.iterations.max() for group in summary.groups)
    if summary.agree:
        verdict = (
            f"all {n:,} runs ended at the same objective, {summary.objectives.min():.6f}, within a "
            f"relative {summary.spread:.0e}, and each run's proved lower bound lies below every "
            "other run's objective"
        )
    else:
        verdict = (
            f"{summary.failures} of {n:,} runs did NOT reach the tolerance, or the runs disagree: "
            f"their objectives lie {summary.spread:.0e} apart, and the highest lower bound is "
            f"{summary.highest_bound:.6f} against the lowest objective "
            f"{summary.objectives.min():.6f}"
        )
    return f"On {name} {verdict}. The longest took {most:.0f} iterations."


def _table(summary: Summary) -> Table:
    best = summary.objectives.min()
    return Table(
        caption=f"Random starts on {summary.problem.name}",
        header=(
            "settings",
            "scale of the start",
            "converged",
            "iterations",
            "epochs",
            "largest objective above the best",
            "largest certified gap",
        ),
        rows=tuple(
            (
                group.setting,
                f"{group.scale:g}",
                f"{group.converged} of {len(group.objectives)}",
                _range(group.iterations),
                _range(group.epochs),
                f"{group.objectives.max() / best - 1.0:.0e}",
                f"{(1.0 - group.bounds / group.objectives).max():.0e}",
            )
            for group in summary.groups
        ),
    )


def _range(values: Floats) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"
