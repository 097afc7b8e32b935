"""Side by side with installed peers: run, analyse, plot.

    python -m benchmarks.run [--problems ocr-100,...] [--peers prox-qn,python-crfsuite,...]
                             [--quick] [--out DIR] [--pages DIR] [--fresh]
                             [--max-iterations ocr-100=240]

Every trainer runs alone, in a process of its own, on one thread. Runs are kept in
``DIR/runs.jsonl`` and reused while problem, flags, versions and machine are the same; so an
interrupted benchmark goes on where it was, and a second one only draws. ``--analyse-only`` trains
nothing. Report, table and figure go to ``out/benchmarks``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.analyse import Analysis, analyse, comparable
from benchmarks.data import REPOSITORY, MissingDataError
from benchmarks.measure import Judge, Record, measure
from benchmarks.problems import Spec
from benchmarks.store import Store
from benchmarks.trainers import Limits, Trainer
from benchmarks.versions import fingerprint_of_problem, machine, versions

from benchmarks import plot, problems, tables, trainers

RESULTS = REPOSITORY / "benchmarks" / "results"
PAGES = REPOSITORY / "out" / "benchmarks"


def say(text: str) -> None:
    """Report progress beside the tables, which go to standard output."""
    print(text, file=sys.stderr, flush=True)


def run_problem(
    spec: Spec, chosen: list[Trainer], limits: Limits, store: Store, *, fresh: bool
) -> list[Record]:
    """Return the records of all trainers on a problem, running those that are not in the store."""
    problem = spec.load()
    digest = fingerprint_of_problem(problem)
    found, missing = {}, []
    for trainer in chosen:
        key = {
            "flags": trainer.flags(spec, limits),
            "versions": versions(trainer),
            "machine": machine(),
            "problem_digest": digest,
        }
        record = None if fresh else store.find(key, spec.name, trainer.name)
        if record is None:
            missing.append(trainer)
        else:
            found[trainer.name] = record
    if found:
        say(f"{spec.name}: kept {', '.join(found)}")
    if missing:
        judge = Judge(problem, spec)
        with tempfile.TemporaryDirectory(prefix="proxqn-bench-") as folder:
            path = Path(folder, "problem.npz")
            problem.save(path)
            del problem
            for trainer in missing:
                record = replace(_timed(spec, path, judge, trainer, limits), problem_digest=digest)
                store.save(record)
                found[trainer.name] = record
    return [found[trainer.name] for trainer in chosen]


def _timed(spec: Spec, path: Path, judge: Judge, trainer: Trainer, limits: Limits) -> Record:
    say(f"{spec.name}: {trainer.name} ...")
    began = time.perf_counter()
    record = measure(spec, path, judge, trainer, limits)
    say(f"{spec.name}: {trainer.name} took {time.perf_counter() - began:.1f} s ({record.stop})")
    return record


def installed(chosen: list[Trainer]) -> list[Trainer]:
    """Leave out trainers that are not there, and say so."""
    for trainer in chosen:
        if not trainer.is_installed:
            say(f"{trainer.name} is not installed and left out: pip install '.[bench]'")
    return [trainer for trainer in chosen if trainer.is_installed]


def run(args: argparse.Namespace, store: Store) -> dict[str, list[Record]]:
    """Return the records of all chosen problems."""
    limits = Limits(
        args.rival_seconds, args.our_seconds, dict(_limit(pair) for pair in args.max_iterations)
    )
    chosen = installed(trainers.find(args.peers))
    records = {}
    for spec in problems.find(args.problems, quick=args.quick):
        try:
            records[spec.name] = run_problem(spec, chosen, limits, store, fresh=args.fresh)
        except MissingDataError as error:
            say(f"{spec.name} is left out: {error}")
    return records


def stored(args: argparse.Namespace, store: Store) -> dict[str, list[Record]]:
    """Return what is in the store, in the usual order."""
    order = list(trainers.TRAINERS)
    names = [spec.name for spec in problems.find(args.problems, quick=args.quick)]
    everything = sorted(store.records(), key=lambda record: order.index(record.trainer))
    by_problem = {name: [r for r in everything if r.problem == name] for name in names}
    kept = {name: comparable(records) for name, records in by_problem.items() if records}
    for name, records in kept.items():
        left_out = {r.trainer for r in by_problem[name]} - {r.trainer for r in records}
        if left_out:
            others = ", ".join(sorted(left_out))
            say(f"{name}: left out {others}, of other sources, data or machine than prox-qn")
    return kept


def _limit(pair: str) -> tuple[str, int]:
    name, _, number = pair.partition("=")
    return name, int(number)


def write(analyses: list[Analysis], folder: Path) -> None:
    """Print the report, and write it, the README's table and the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    report = tables.report(analyses)
    print(report)
    (folder / "report.md").write_text(report)
    (folder / "readme_table.md").write_text(tables.readme(analyses) + "\n")
    for path in plot.draw(analyses, folder):
        say(f"wrote {path}")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--problems", help=", ".join(problems.SPECS))
    parser.add_argument("--peers", help=", ".join(trainers.TRAINERS))
    parser.add_argument("--quick", action="store_true", help="small problems, a few minutes")
    parser.add_argument("--out", type=Path, help="default: benchmarks/results, or results/quick")
    parser.add_argument("--pages", type=Path, help="default: out/benchmarks, or OUT/pages")
    parser.add_argument("--fresh", action="store_true", help="run again what is stored")
    parser.add_argument("--analyse-only", action="store_true", help="tables of stored runs")
    parser.add_argument("--rival-seconds", type=float, help="for each other solver of ours")
    parser.add_argument("--our-seconds", type=float, help="for prox-qn; default 300, quick 15")
    parser.add_argument(
        "--max-iterations", action="append", default=[], metavar="PROBLEM=N", help="for peers"
    )
    args = parser.parse_args()
    args.our_seconds = args.our_seconds or (15.0 if args.quick else 300.0)
    args.rival_seconds = args.rival_seconds or (3.0 if args.quick else 120.0)
    args.out = args.out or (RESULTS / "quick" if args.quick else RESULTS)
    args.pages = args.pages or (PAGES if args.out == RESULTS else args.out / "pages")
    return args


def main() -> None:
    """Run, analyse, plot."""
    args = parse()
    store = Store(args.out)
    if not args.analyse_only:
        run(args, store)
    analyses = [
        analyse(records, ends_at_peer_stop=problems.SPECS[name].ends_at_peer_stop)
        for name, records in stored(args, store).items()
    ]
    if analyses:
        write(analyses, args.pages)
    else:
        say("nothing to show: no run has been made and none is stored")


if __name__ == "__main__":
    main()
