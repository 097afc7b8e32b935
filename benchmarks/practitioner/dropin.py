"""sklearn-crfsuite's tutorial with only the import changed: the same F1 or a better one."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.data import data_file
from benchmarks.tables import markdown, seconds
from seqeval.metrics import f1_score

from proxqn.io.readers import read_columns

TUTORIAL = Path(__file__).parent / "tutorial.py"
THEIR_IMPORT = "import sklearn_crfsuite\n"
OUR_IMPORT = "from proxqn import compat as sklearn_crfsuite\n"


def measure(n_sentences: int | None = None) -> dict[str, Any]:
    """Run the tutorial with both, on all of CoNLL-2000 or on the first sentences."""
    given = {f"{part}_sents": _sentences(part, n_sentences) for part in ("train", "test")}
    program = TUTORIAL.read_text(encoding="utf-8")
    if program.count(f"\n{THEIR_IMPORT}") != 1:
        raise RuntimeError(f"expected one line {THEIR_IMPORT!r} in {TUTORIAL.name}")
    return {
        "train_sentences": len(given["train_sents"]),
        "test_sentences": len(given["test_sents"]),
        "sklearn-crfsuite": _run(program, given),
        "proxqn.compat": _run(program.replace(f"\n{THEIR_IMPORT}", f"\n{OUR_IMPORT}"), given),
    }


def _sentences(part: str, limit: int | None) -> list[list[tuple[str, ...]]]:
    records = list(read_columns(data_file("conll2000", f"{part}.txt")))[:limit]
    return [[tuple(row) for row in record.tokens] for record in records]


def _run(program: str, given: dict[str, Any]) -> dict[str, Any]:
    names = {"__name__": "tutorial", **given}
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(program, "tutorial.py", "exec"), names)
    return {
        "weighted_f1": float(names["flat_f1"]),
        "chunk_f1": float(f1_score(names["y_test"], [list(y) for y in names["y_pred"]])),
        "nonzeros": len(names["crf"].state_features_) + len(names["crf"].transition_features_),
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "warnings": sorted({str(one.message) for one in caught}),
    }


def table(found: dict[str, Any]) -> str:
    """Return both runs side by side."""
    rows = [
        [name, f"{one['weighted_f1']:.4f}", f"{one['chunk_f1']:.4f}", f"{one['nonzeros']:,}",
         seconds(one["wall_seconds"]), seconds(one["cpu_seconds"])]
        for name in ("sklearn-crfsuite", "proxqn.compat") for one in (found[name],)
    ]  # fmt: skip
    header = [f"the tutorial, {found['train_sentences']:,} sentences", "weighted F1 of labels",
              "chunk F1", "nonzeros", "wall, s", "of a processor, s"]  # fmt: skip
    return markdown(header, rows)
