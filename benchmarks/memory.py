"""What a fit from dicts takes of memory at most, ours and python-crfsuite's, each alone.

    python -m benchmarks.memory [--times N] [--iterations N] [--out DIR]

The tokens of WNUT-17 and CoNLL-2000 as dicts (`everyday.corpora.word_features`), observed
pairs. Printed is how far the peak of the process is above what it had when it held the dicts and
had imported what it needs.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.data import REPOSITORY, data_file
from benchmarks.everyday.corpora import word_features
from benchmarks.tables import markdown
from benchmarks.versions import machine

from proxqn.io.readers import read_columns

DATA = {"wnut": ("wnut17", "train.conll"), "conll": ("conll2000", "train.txt")}
SIDES = ("ours", "python-crfsuite")
LAM = 0.5


def resident(what: str) -> float:
    """Return megabytes of this process, now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(what))


def read(data: str, times: int) -> tuple[list[Any], list[Any]]:
    """Return sequences of dicts, and their labels."""
    records = list(read_columns(data_file(*DATA[data]))) * times
    sentences = [[row[0] for row in record.tokens] for record in records]
    X = [[word_features(words, i) for i in range(len(words))] for words in sentences]
    return X, [record.labels for record in records]


def fit(side: str, data: str, times: int, iterations: int) -> float:
    """Fit in this process, and return by how many megabytes its peak is above what was there."""
    if side == "ours":
        from proxqn import ChainCRF
    else:
        import pycrfsuite
    X, y = read(data, times)
    gc.collect()
    before = resident("VmRSS")
    if side == "ours":
        warnings.simplefilter("ignore")  # that so few iterations do not converge
        ChainCRF(lam=LAM, pairs="observed", max_iter=iterations).fit(X, y)
    else:
        trainer = pycrfsuite.Trainer(
            verbose=False, params={"c1": LAM, "c2": 0.0, "max_iterations": iterations}
        )
        for sequence, labels in zip(X, y, strict=True):
            trainer.append(sequence, labels)
        with tempfile.NamedTemporaryFile(suffix=".crfsuite") as model:
            trainer.train(model.name)
    return resident("VmHWM") - before


def main() -> None:
    """Measure, print, and write ``memory.json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    parser.add_argument("--times", type=int, default=1, help="the data so many times over")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "benchmarks" / "results")
    parser.add_argument("--only", nargs=2, metavar=("SIDE", "DATA"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(fit(*args.only, args.times, args.iterations)))
        return
    found: dict[str, dict[str, float]] = {}
    for data in DATA:
        found[data] = {}
        for side in SIDES:
            command = [sys.executable, "-m", "benchmarks.memory", "--only", side, data]
            command += ["--times", str(args.times), "--iterations", str(args.iterations)]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found[data][side] = json.loads(run.stdout)
    ratios = {data: f[SIDES[0]] / f[SIDES[1]] for data, f in found.items()}
    rows = [
        [data, *(f"{f[side]:.0f}" for side in SIDES), f"{ratios[data]:.1f}"]
        for data, f in found.items()
    ]
    print(markdown(["MB of a fit", *SIDES, "ratio"], rows))
    args.out.mkdir(parents=True, exist_ok=True)
    kept = {"MB": found, "times": args.times, "machine": machine()}
    (args.out / "memory.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
