"""CoNLL-2000 from the command line, beside python-crfsuite on the same features in the same run."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.data import data_file
from benchmarks.practitioner.processes import PROXQN, run
from benchmarks.problems import TEMPLATES
from benchmarks.tables import markdown, seconds
from seqeval.metrics import f1_score

from proxqn.io.readers import read_columns

TOLERANCES = (0.4, 0.02)  # a quick model; an objective below CRFsuite's own stop


def measure() -> dict[str, Any]:
    """Train, label and score with both."""
    train, test = (data_file("conll2000", f"{part}.txt") for part in ("train", "test"))
    with tempfile.TemporaryDirectory(prefix="proxqn-practitioner-") as folder:
        ours = {f"{tol:g}": _ours(train, test, Path(folder), tol) for tol in TOLERANCES}
    return {"ours": ours, "crfsuite": _theirs(train, test)}


def _ours(train: Path, test: Path, folder: Path, tol: float) -> dict[str, Any]:
    model, predicted = folder / "model.proxqn", folder / "predicted.txt"
    options = ["--template", TEMPLATES, "--lam", 1, "--tol", tol, "-o", model, "--json"]
    done = run([*PROXQN, "train", "chain", train, *options])
    last = json.loads(done.output.splitlines()[-1])
    labelled = run([*PROXQN, "predict", model, test, "-o", predicted, "-q"])
    scores = json.loads(run([*PROXQN, "evaluate", test, "--model", model, "--json"]).output)
    rows = [record.tokens for record in read_columns(predicted)]
    true, guessed = ([[row[k] for row in sequence] for sequence in rows] for k in (-2, -1))
    return {
        "files_to_model": done.times(),
        "label_test": labelled.times(),
        "f1_by_our_evaluate": scores["overall"]["f1"],
        "f1_by_seqeval": float(f1_score(true, guessed)),
        "token_accuracy": scores["token_accuracy"],
        "model_bytes": model.stat().st_size,
        **{name: last[name] for name in ("objective", "gap", "iterations", "nonzeros", "status")},
    }


def _theirs(train: Path, test: Path) -> dict[str, Any]:
    module = "benchmarks.practitioner.crfsuite_user"
    done = run([sys.executable, "-m", module, train, test, TEMPLATES, 1])
    found: dict[str, Any] = json.loads(done.output)
    true = [list(record.labels or []) for record in read_columns(test)]
    found["f1_by_seqeval"] = float(f1_score(true, found.pop("labels")))
    times = found["times"]
    found["files_to_model"] = {
        kind: times[f"files_and_features_{kind}"] + times[f"train_{kind}"]
        for kind in ("wall_seconds", "cpu_seconds")
    }
    return found


def table(found: dict[str, Any]) -> str:
    """Return both in lines side by side."""
    theirs = found["crfsuite"]
    peer = theirs | {"objective": theirs["logged_objective"], "f1_by_our_evaluate": None}
    names = {f"proxqn, tol {tol}": ours for tol, ours in found["ours"].items()}
    rows = [_row(name, values) for name, values in (names | {"python-crfsuite": peer}).items()]
    header = ["CoNLL-2000, λ = 1", "files → model, s", "of a processor, s", "objective",
              "nonzeros", "F1 (ours)", "F1 (seqeval)", "model, kB"]  # fmt: skip
    return markdown(header, rows)


def _row(name: str, values: dict[str, Any]) -> list[str]:
    ours = values["f1_by_our_evaluate"]
    return [
        name,
        seconds(values["files_to_model"]["wall_seconds"]),
        seconds(values["files_to_model"]["cpu_seconds"]),
        f"{values['objective']:,.2f}",
        f"{values['nonzeros']:,}",
        "" if ours is None else f"{100 * ours:.2f}",
        f"{100 * values['f1_by_seqeval']:.2f}",
        f"{values['model_bytes'] / 1e3:,.0f}",
    ]
