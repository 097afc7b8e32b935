"""The page of the ablation, from kept runs: ``python -m benchmarks.ablation.page``.

python -m benchmarks.ablation.page [--runs out/ablation.json] [--out docs/ablation.md]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.ablation import removed
from benchmarks.ablation.__main__ import RUNS
from benchmarks.ablation.ideas import IDEAS, PAPER, Idea
from benchmarks.ablation.one_run import MAX_ITERATIONS
from benchmarks.ablation.problems import CASES
from benchmarks.ablation.ratios import TARGETS, Runs, Summary, figure
from benchmarks.data import REPOSITORY
from benchmarks.tables import markdown

PAGE = REPOSITORY / "docs" / "ablation.md"
UNITS = {"passes": "Passes", "cpu": "Seconds of the processor"}
LUCK = "*another seed*"

TEXT = """# What each idea brings

The solver without each of its ideas, one at a time, on {n_cases} problems: {n_runs} runs, each on
one thread, {jobs} at a time, to a gap of 1e-4 of the objective, {iterations} iterations or
{seconds:g} seconds ({machine}). `make bench-ablation` runs them again and writes this page.

A figure is the cost without the idea divided by the cost with it: above 1 the idea helps. It is the
median over problems, in brackets the least and the largest, then on how many problems the idea
helps (+) and hurts (−) by more than 5 %. Costs are taken where a run comes within 1e-3 of the best
known objective, and where it proves a gap of 1e-2 and of 1e-4. ∞: without the idea this is not
reached within the limits; 0: only without it. Problems where neither run gets there do not count.
The line *another seed* says how far two runs differ by luck alone, with everything on: figures no
further from 1 tell nothing. A pass is a forward pass or a draw.
"""
SECONDS = """Seconds are divided by those of one evaluation of the loss in double precision just
before and just after the run: a machine that slows down under load does not count.
"""
REMOVED = """Ideas that an ablation of before found to bring less than 5 % (sixteen problems, one
seed, the same limits):
"""


def summary_table(runs: Runs, unit: str, ideas: list[Idea]) -> str:
    """Return a row for each idea, a column for each target."""
    cases = runs.cases
    lucky = [_summary([runs.luck(case, t, unit) for case in cases]) for t in TARGETS]
    rows = [[LUCK, "", *(each.text() for each in lucky)]]
    for idea in ideas:
        found = [_summary([runs.ratio(idea.name, c, t, unit) for c in cases]) for t in TARGETS]
        changed = f"{runs.changed(idea.name)} of {len(cases)}"
        rows.append([idea.title, changed, *(each.text() for each in found)])
    return markdown(["without", "changes", *(t.title for t in TARGETS)], rows)


def _summary(ratios: list[float | None]) -> Summary:
    return Summary([ratio for ratio in ratios if ratio is not None])


def problem_table(runs: Runs) -> str:
    """Return what the solver with everything on takes."""
    rows = []
    for case in runs.cases:
        run = runs.full(case)
        if run is None:
            continue
        costs = []
        for target in TARGETS:
            k = runs.reached_by(case, run, target)
            history = run.result["history"]
            costs += [
                "–" if k is None else f"{history[name][k]:.{digits}f}"
                for name, digits in (("passes", 0), ("cpu", 2))
            ]
        figures = f"{run.result['objective']:,.3f}", f"{run.result['nonzeros']:,}"
        rows.append([case, CASES[case].title, *figures, *costs])
    targets = [f"{what} {t.title}" for t in TARGETS for what in ("passes,", "s,")]
    return markdown(["problem", "", "objective", "nonzeros", *targets], rows)


def matrix(runs: Runs, ideas: list[Idea], target: Any) -> str:
    """Return the ratio of passes of each idea on each problem."""
    cases = runs.cases
    rows = [
        [idea.title, *(figure(runs.ratio(idea.name, c, target, "passes")) for c in cases)]
        for idea in ideas
    ]
    return markdown(["without", *cases], rows)


def of_no_use(runs: Runs, ideas: list[Idea]) -> str:
    """Name the ideas that help nowhere, in neither unit."""
    names = []
    for idea in ideas:
        helps = [
            _summary([runs.ratio(idea.name, case, t, unit) for case in runs.cases]).helps
            for t in TARGETS
            for unit in UNITS
        ]
        if not any(helps):
            names.append(idea.title)
    return "; ".join(names) or "none"


def page(found: dict[str, Any]) -> str:
    """Return the page."""
    runs = Runs(found["runs"])
    tried = {key.split("/")[0] for key in found["runs"]}
    ideas = [idea for idea in IDEAS if idea.name in tried]
    own = [idea for idea in ideas if idea is not PAPER]
    parts = [
        TEXT.format(
            n_cases=len(runs.cases),
            n_runs=len(runs),
            jobs=found["jobs"],
            machine=found["machine"]["cpu"].strip(),
            iterations=MAX_ITERATIONS,
            seconds=found["seconds"],
        ),
        *(f"## {title}\n\n{summary_table(runs, unit, ideas)}\n" for unit, title in UNITS.items()),
        SECONDS,
        f"Ideas that help on no problem by more than 5 %: {of_no_use(runs, own)}.\n",
        f"## The problems\n\nWith everything on, one seed.\n\n{problem_table(runs)}\n",
        *(
            f"## Passes problem by problem, {t.title}\n\n{matrix(runs, ideas, t)}\n"
            for t in TARGETS[:2]
        ),
        f"## What went\n\n{REMOVED}\n{markdown(removed.HEADER, removed.ROWS)}\n",
    ]
    return "\n".join(parts)


def main() -> None:
    """Read the runs, print the page and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation.page", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    text = page(json.loads(args.runs.read_text()))
    print(text)
    args.out.write_text(text)


if __name__ == "__main__":
    main()
