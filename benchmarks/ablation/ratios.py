"""What a run without an idea costs beside one with everything, from kept runs.

A run reaches a target or it does not: within 1e-3 of the best objective that any run found, or a
proved gap. Its cost there is in passes (forward passes and draws; most in single precision) or in
the processor's seconds. Machines slow down under load, so seconds are divided by those of one
evaluation of the loss just before and after the run, which are the same work in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.ablation.problems import CASES

NOTABLE = 1.05  # less is noise
ERROR = 1e-3  # of the best objective
GAPS = 1e-2, 1e-4  # of the objective


@dataclass(frozen=True)
class Run:
    """A run of one idea's absence, on one problem, with one seed."""

    result: dict[str, Any]

    def first(self, reached: Callable[[float, float], bool]) -> int | None:
        """Return the first iteration whose objective and gap do."""
        history = self.result["history"]
        rows = zip(history["objective"], history["gap"], strict=True)
        return next(
            (k for k, (f, gap) in enumerate(rows) if reached(f, math.inf if gap is None else gap)),
            None,
        )

    def cost(self, unit: str, k: int = -1) -> float:
        """Return what it has spent at an iteration, by default the last."""
        spent = float(self.result["history"][unit][k])
        return spent / self.result["pass_seconds"] if unit == "cpu" else spent

    def same_as(self, other: Run) -> bool:
        """Whether both went the same way, as far as the clock let them."""
        if self._proved and other._proved and self.length != other.length:
            return False
        n = min(self.length, other.length) - 1  # the last row is measured once more
        one, two = (run.result["history"]["objective"][:n] for run in (self, other))
        return bool(one == two)

    @property
    def length(self) -> int:
        """Rows of its history."""
        return len(self.result["history"]["objective"])

    @property
    def _proved(self) -> bool:
        return bool(self.result["status"] == "GAP")


@dataclass(frozen=True)
class Target:
    """What is to be reached."""

    title: str
    gap: float | None = None  # None: ERROR

    def reached(self, best: float) -> Callable[[float, float], bool]:
        """Return whether an objective and a gap are good enough."""
        if self.gap is None:
            return lambda f, gap: f - best <= ERROR * abs(best)
        return lambda f, gap: gap <= (self.gap or 0.0) * abs(f)


TARGETS = (
    Target("within 1e-3"),
    *(Target(f"gap {gap:.0e}".replace("e-0", "e-"), gap) for gap in GAPS),
)


class Runs:
    """All runs of a file.

    Parameters
    ----------
    found : dict
        By ``idea/case/seed``.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self._runs: dict[tuple[str, str, int], Run] = {}
        for key, result in found.items():
            idea, case, seed = key.split("/")
            if "error" not in result:
                self._runs[idea, case, int(seed)] = Run(result)
        self.best: dict[str, float] = {}
        for (_, case, _), run in self._runs.items():
            objective = run.result["objective"]
            self.best[case] = min(self.best.get(case, math.inf), objective)
        self.cases = [case for case in CASES if case in self.best]

    def __len__(self) -> int:
        return len(self._runs)

    def full(self, case: str) -> Run | None:
        """Return the run with everything on, with the least seed."""
        seeds = [seed for idea, its, seed in self._runs if (idea, its) == ("full", case)]
        return self._runs["full", case, min(seeds)] if seeds else None

    def reached_by(self, case: str, run: Run, target: Target) -> int | None:
        """Return the iteration at which a run reaches a target."""
        return run.first(target.reached(self.best[case]))

    def ratio(self, idea: str, case: str, target: Target, unit: str) -> float | None:
        """Return cost without the idea divided by cost with it; the median of the seeds.

        Infinite where only the run with everything reaches the target, 0 where only the other
        does; None where neither does, or one was cut off too early to tell.
        """
        found = [
            self._compared(case, off, full, target, unit) for off, full in self._pairs(idea, case)
        ]
        known = [ratio for ratio in found if ratio is not None]
        return float(np.median(known)) if known else None

    def luck(self, case: str, target: Target, unit: str) -> float | None:
        """Return the same for one seed beside another, everything on in both."""
        seeds = sorted(seed for idea, its, seed in self._runs if (idea, its) == ("full", case))
        runs = [self._runs["full", case, seed] for seed in seeds]
        found = [self._compared(case, run, runs[0], target, unit) for run in runs[1:]]
        known = [ratio for ratio in found if ratio is not None]
        return float(np.median(known)) if known else None

    def changed(self, idea: str) -> int:
        """Count the problems where the idea's absence changes anything."""
        return sum(
            any(not off.same_as(full) for off, full in self._pairs(idea, case))
            for case in self.cases
        )

    def _pairs(self, idea: str, case: str) -> Iterable[tuple[Run, Run]]:
        for (its, where, seed), run in self._runs.items():
            full = self._runs.get(("full", case, seed))
            if (its, where) == (idea, case) and full is not None:
                yield run, full

    def _compared(self, case: str, off: Run, full: Run, target: Target, unit: str) -> float | None:
        k, k_full = (self.reached_by(case, run, target) for run in (off, full))
        if k is not None and k_full is not None:
            return off.cost(unit, k) / max(full.cost(unit, k_full), 1e-12)
        if k_full is not None:
            return math.inf if off.cost(unit) > full.cost(unit, k_full) else None
        if k is not None:
            return 0.0 if full.cost(unit) > off.cost(unit, k) else None
        return None


@dataclass(frozen=True)
class Summary:
    """Ratios of one idea over the problems."""

    ratios: list[float]

    @property
    def helps(self) -> int:
        """Problems where its absence costs more than 5 % more."""
        return sum(ratio > NOTABLE for ratio in self.ratios)

    @property
    def hurts(self) -> int:
        """Problems where its absence saves more than 5 %."""
        return sum(ratio < 1.0 / NOTABLE for ratio in self.ratios)

    def text(self) -> str:
        """Return median, extremes, and on how many it helps and hurts.

        Examples
        --------
        >>> Summary([1.0, 2.0, math.inf]).text()
        '2.00 (1.00 to ∞), +2 −0'
        """
        if not self.ratios:
            return "–"
        middle = figure(float(np.median(self.ratios)))
        low, high = figure(min(self.ratios)), figure(max(self.ratios))
        return f"{middle} ({low} to {high}), +{self.helps} −{self.hurts}"


def figure(ratio: float | None) -> str:
    """Return a ratio as it is printed.

    Examples
    --------
    >>> figure(1.234), figure(math.inf), figure(None)
    ('1.23', '∞', '–')
    """
    if ratio is None:
        return "–"
    return "∞" if math.isinf(ratio) else f"{ratio:.2f}"
