"""Chunking as a user of python-crfsuite does it, in a process of its own.

    python -m benchmarks.practitioner.crfsuite_user train.txt test.txt template lam

From files to a model and to the labels of the test sentences: the templates are expanded to lists
of attribute names, which CRFsuite takes. Prints one JSON object; times of each step.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pycrfsuite
from benchmarks.peers.crfsuite import RecordingTrainer, objective_options

from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns


@contextmanager
def timed(times: dict[str, float], what: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    times[f"{what}_wall_seconds"] = time.perf_counter() - wall
    times[f"{what}_cpu_seconds"] = time.process_time() - cpu


def features(templates: Templates, record: SequenceRecord) -> list[list[str]]:
    rows = record.tokens
    return [[t.expand(rows, i) for t in templates.unigram] for i in range(len(rows))]


def main() -> None:
    train, test, template, lam = sys.argv[1:]
    times: dict[str, float] = {}
    found: dict[str, Any] = {"times": times}
    trainer = RecordingTrainer(
        "lbfgs", objective_options(float(lam), None, observed_only=True), verbose=False
    )
    with timed(times, "files_and_features"):
        templates = Templates.from_file(template)
        for record in read_columns(train):
            trainer.append(features(templates, record), record.labels)
    with tempfile.TemporaryDirectory(prefix="proxqn-crfsuite-") as folder:
        model = Path(folder, "model.crfsuite")
        with timed(times, "train"):
            trainer.record(model, None)
        last = trainer.history[-1]
        found |= {"iterations": last.number, "logged_objective": last.logged_objective}
        found |= {"nonzeros": last.nonzeros, "stop": trainer.stop}
        found["model_bytes"] = model.stat().st_size
        tagger = pycrfsuite.Tagger()
        tagger.open(str(model))
        with timed(times, "label_test"):
            found["labels"] = [
                list(tagger.tag(features(templates, record))) for record in read_columns(test)
            ]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
