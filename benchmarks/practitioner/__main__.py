"""What a practitioner meets, measured.

    python -m benchmarks.practitioner [--part conll,tight,…] [--out DIR]

Parts: ``conll`` (command line beside python-crfsuite), ``tight`` (the same optimum as CRFsuite's),
``dropin`` (sklearn-crfsuite's tutorial), ``interrupt`` (50 random signals), ``vocabulary`` (loading
ten million features), ``checks`` (scikit-learn's). Each is stored in ``practitioner.json`` with the
load of the machine; parts not asked for keep what an earlier run stored. All take half an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from benchmarks.data import REPOSITORY
from benchmarks.practitioner import checks, conll, dropin, interrupt, tight, vocabulary
from benchmarks.versions import fingerprint_of_sources, machine

PARTS = {
    "checks": checks,
    "vocabulary": vocabulary,
    "interrupt": interrupt,
    "dropin": dropin,
    "conll": conll,
    "tight": tight,
}


def main() -> None:
    """Measure the parts, print their tables, and write them."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.practitioner",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", default=",".join(PARTS), help="comma-separated; all by default")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "benchmarks" / "results")
    args = parser.parse_args()
    if unknown := sorted(set(args.part.split(",")) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    path = args.out / "practitioner.json"
    for name in args.part.split(","):
        part, began = PARTS[name], time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        found = part.measure()
        print(f"\n{part.table(found)}\n", flush=True)
        results = json.loads(path.read_text()) if path.exists() else {}
        results[name] = found | {
            "run": {
                "began": began,
                "load_average": os.getloadavg()[2],  # of the last quarter of an hour
                "sources": fingerprint_of_sources(),
                "machine": machine(),
            }
        }
        args.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
