"""An experiment from beginning to end: make what is missing, then write the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from proxqn.ui.tables import format_columns
from replication.problems.spec import ProblemSpec
from replication.report import tables
from replication.report.comparison import Study, study
from replication.report.parts import Table
from replication.report.write import write_comparison
from replication.runs.live_table import Display
from replication.runs.plans import Choice, Work, main_lam, plans, work_to_do
from replication.runs.processes import make_runs
from replication.runs.records import Store


@final
@dataclass(frozen=True)
class Finished:
    """What an experiment leaves: its page, and its tables for the terminal."""

    page: Path
    tables: list[str]


def run_all(
    title: str,
    specs: Sequence[ProblemSpec],
    choice: Choice,
    folder: Path,
    *,
    jobs: int,
    resume: bool,
    command: str,
    say: Callable[[str], None],
) -> Finished:
    """Make the runs that are not there yet and report on all that are.

    Raises
    ------
    ValueError
        If there is nothing to report on: no reference, or no run beside it, was finished.
    """
    store = Store(folder)
    work = work_to_do(specs, choice, folder, jobs=jobs, resume=resume)
    _announce(work, say)
    with Display(work.plans, store) as display:
        for requests in work.stages:
            make_runs(requests, jobs=jobs, listener=display)
    studies = [found for spec in specs if (found := _study(spec, choice, store)) is not None]
    if not studies:
        raise ValueError(_nothing(store))
    page = write_comparison(title, studies, folder, command=command)
    return Finished(page, [text for each in studies for text in _for_terminal(each)])


def _announce(work: Work, say: Callable[[str], None]) -> None:
    if work.kept:
        say(f"Kept {len(work.kept)} finished runs.")
    for name, why in work.made_again.items():
        say(f"{name}: made again, {why}.")
    seconds = sum(plan.seconds for plan in work.plans)
    most = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    say(f"{len(work.plans)} runs to make, {most} of training at the most.")


def _study(spec: ProblemSpec, choice: Choice, store: Store) -> Study | None:
    asked = [plan.name for plan in plans(spec, choice)]
    return study(spec, store, asked, main_lam(spec, choice.lams or spec.lams))


def _nothing(store: Store) -> str:
    messages = sorted({record.message for record in store.records() if record.failed})
    return " ".join(["no run was finished, so there is nothing to report.", *messages])


def _for_terminal(found: Study) -> list[str]:
    shown = [tables.seconds_table(each, found.clock) for each in found.comparisons]
    return [_plain(table) for table in (*shown, tables.optima_table(found))]


def _plain(table: Table) -> str:
    return f"{table.caption}\n{format_columns(table.header, table.rows, left=1)}"
