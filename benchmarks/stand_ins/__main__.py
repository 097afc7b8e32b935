"""All of them, ours and theirs in one run: ``python -m benchmarks.stand_ins``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY
from benchmarks.stand_ins.parsers import PARSERS, Parser, folder_of_tests
from benchmarks.stand_ins.peers import peer
from benchmarks.stand_ins.suites import Outcome, run
from benchmarks.tables import markdown


def _process(module: str, *arguments: str) -> Any:
    command = [sys.executable, "-m", f"benchmarks.stand_ins.{module}", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def suites() -> bool:
    """Run the originals' suites against ours; return whether all passed."""
    rows, good = [], True
    for name, folder in (("python-crfsuite", "python-crfsuite"),
                         ("sklearn-crfsuite", "sklearn-crfsuite")):  # fmt: skip
        outcome = run(peer(folder), "tests", ours=True, doctests=True)
        rows.append([name, outcome.text, ", ".join(outcome.failed) or "-"])
        good &= _passed(outcome)
    print("\n## The originals' tests against ours\n")
    print(markdown(["suite", "outcome", "failed"], rows), flush=True)
    return good


def _passed(outcome: Outcome) -> bool:
    return (
        outcome.counts.get("passed", 0) > 0
        and not outcome.failed
        and (not outcome.counts.keys() & {"error", "errors"})
    )


def parsers(repeats: int) -> bool:
    """Train the parsers with both, and run their tests on our files with the original's Tagger."""
    rows, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours, theirs = {}, {}
        for number, parser in enumerate(PARSERS):
            for whose, models in (("ours", ours), ("theirs", theirs)):
                models[parser.name] = place / f"{whose}-{number}.crfsuite"
            times = [
                _process("train", "ours", str(number), str(ours[parser.name]))
                for _ in range(repeats)
            ]
            our = min(times, key=lambda found: found["seconds"])
            their = _process("train", "theirs", str(number), str(theirs[parser.name]))
            rows.append([
                parser.name, f"{our['sequences']:,} / {our['tokens']:,}",
                f"{their['seconds']:.2f} s", f"{our['seconds']:.2f} s",
                f"{their['seconds'] / our['seconds']:.1f}",
                f"{their['objective']:.3f}", f"{our['objective']:.3f}",
            ])  # fmt: skip
            good &= our["objective"] <= their["objective"] * (1 + 1e-5)
        print("\n## parserator's training, CPU time\n")
        head = ["model", "sequences / tokens", "CRFsuite", "ours", "ratio", "its objective", "ours"]
        print(markdown(head, rows), flush=True)
        print("\n## The parsers' tests, the original's Tagger on the file\n")
        rows = []
        for parser in PARSERS:
            if parser.tests:
                found = [_tests(parser, models, place, name)
                         for name, models in (("ours", ours), ("theirs", theirs))]  # fmt: skip
                good &= set(found[0].failed) <= set(found[1].failed)
                shown = ", ".join(found[0].failed) or "-"
                rows.append([parser.name, found[0].text, found[1].text, shown])
        head = ["model", "our file", "CRFsuite's file", "failed with ours"]
        print(markdown(head, rows), flush=True)
    return good


def _tests(parser: Parser, models: dict[str, Path], place: Path, whose: str) -> Outcome:
    here = place / f"{whose}-{parser.name}".replace(" ", "-").replace(",", "")
    files = {p.model_file: models[p.name] for p in PARSERS if p.package == parser.package}
    files[parser.model_file] = models[parser.name]
    folder = folder_of_tests(parser, files, here)
    sys_path = peer("parserator")
    (folder / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(sys_path)!r})\n")
    return run(folder, "tests", ours=False)


def files() -> bool:
    """Open with the one what the other has written."""
    found = _process("files")
    good = all(row["tags that differ"] == 0 and row["marginals"] < 1e-6 for row in found)
    shown = [
        [row["corpus"], row["file"], f"{row['tokens']:,}", str(row["tags that differ"]),
         f"{row['marginals']:.1e}"]
        for row in found
    ]  # fmt: skip
    print("\n## Files of the one, opened by the other\n")
    head = ["corpus", "file", "new tokens", "tags that differ", "largest difference of marginals"]
    print(markdown(head, shown), flush=True)
    return good


def examples() -> bool:
    """Run NLTK's tagger and the tutorial with both."""
    rows, good = [], True
    for what, name in (("nltk", "NLTK's CRFTagger, 1,000 sentences"),
                       ("tutorial", "sklearn-crfsuite's tutorial, on CoNLL-2000")):  # fmt: skip
        our, their = (_process("examples", whose, what) for whose in ("ours", "theirs"))
        (score,) = our.keys() - {"seconds"}
        rows.append([
            name, f"{their['seconds']:.1f} s", f"{our['seconds']:.1f} s",
            f"{their['seconds'] / our['seconds']:.1f}",
            f"{score} {their[score]:.4f}", f"{score} {our[score]:.4f}",
        ])  # fmt: skip
        good &= our[score] >= their[score] - 0.005
    print("\n## Programs built on the modules, CPU time of training\n")
    print(markdown(["program", "CRFsuite", "ours", "ratio", "its score", "ours"], rows), flush=True)
    return good


def main() -> int:
    """Run what is asked for; 1 where something that must hold does not."""
    parts = {"suites": suites, "files": files, "parsers": None, "examples": examples}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", default=list(parts), help="of suites files parsers examples"
    )
    parser.add_argument("--repeats", type=int, default=2, help="our trainings; the best counts")
    options = parser.parse_args()
    good = True
    for part in options.parts:
        good &= parsers(options.repeats) if part == "parsers" else parts[part]()
    print("\nall good" if good else "\nnot all good")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
