"""From text to features, and from features to labels: tokens per second, ours and CRFsuite's.

    python -m benchmarks.tagging [--sentences N] [--iterations N] [--out DIR]

Both taggers get the same weights (CRFsuite's after a few iterations, read exactly) and the same
features of CoNLL-2000's test sentences, so that they must give the same labels. CRFsuite is timed
from lists of attribute names, as it is used, and from its own prepared objects. The waits are those
of a service that labels one sentence a call. One thread, CPU time, the best of several repetitions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
from benchmarks.data import REPOSITORY, data_file
from benchmarks.given_weights import chain_with_weights
from benchmarks.peers import crfsuite
from benchmarks.peers.problem import Problem
from benchmarks.problems import TEMPLATES
from benchmarks.tables import markdown
from benchmarks.versions import machine

from proxqn.estimators.chain_crf import ChainCRF
from proxqn.features.encoding import EncodedSequences, SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.features.vocabulary import Vocabulary
from proxqn.io.readers import read_columns

REPETITIONS = 5
FEW = 300  # sentences labelled one by one
MINUTE = 60.0


@dataclass(frozen=True)
class Setting:
    """The test sentences in all forms, and both taggers with the same weights."""

    rows: list[list[list[str]]]  # [sentences][tokens][columns]
    encoder: SequenceEncoder
    test: EncodedSequences
    attributes: list[list[list[str]]]  # what CRFsuite takes: the numbers of the columns, as text
    ours: ChainCRF
    theirs: pycrfsuite.Tagger

    def ours_from(self, encoder: SequenceEncoder) -> ChainCRF:
        """Return our tagger as if it had been fitted on what the encoder reads."""
        model = copy(self.ours)
        model.encoder_ = encoder
        return model

    def ours_from_names(self) -> ChainCRF:
        """Return our tagger for what CRFsuite takes."""
        names = Vocabulary.from_names(map(str, range(self.test.X.shape[1])))
        none = Vocabulary.from_names([])
        return self.ours_from(SequenceEncoder(vocabulary=names, edge_vocabulary=none))

    @property
    def n_tokens(self) -> int:
        """Tokens of the test sentences."""
        return self.test.X.shape[0]


def best_of(work: Callable[[], Any], repetitions: int = REPETITIONS) -> float:
    """Return the least CPU seconds of several repetitions."""
    taken = []
    for _ in range(repetitions):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def read_rows(part: str, limit: int | None) -> list[Any]:
    """Return sentences as records of rows of columns."""
    return list(islice(read_columns(data_file("conll2000", f"{part}.txt")), limit))


def set_up(folder: Path, limit: int | None, iterations: int) -> Setting:
    """Train CRFsuite for a few iterations and give its weights to us too."""
    records, test_records = read_rows("train", limit), read_rows("test", limit)
    encoder = SequenceEncoder(Templates.from_file(TEMPLATES))
    train = encoder.fit_transform(records)
    y = np.array(list(chain.from_iterable(train.labels or [])))
    classes = np.unique(y)
    problem = Problem.from_labels(train.X, y, train.lengths, classes)
    model = folder / "model.crfsuite"
    trainer = crfsuite.RecordingTrainer(
        "lbfgs", crfsuite.objective_options(1.0, iterations, observed_only=True)
    )
    crfsuite.feed(trainer, problem)
    trainer.record(model, None)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    test = encoder.transform(test_records)
    return Setting(
        rows=[record.tokens for record in test_records],
        encoder=encoder,
        test=test,
        attributes=_attributes(test),
        ours=chain_with_weights(
            *crfsuite.read_weights(model, len(classes), train.X.shape[1]), classes
        ),
        theirs=tagger,
    )


def _attributes(encoded: EncodedSequences) -> list[list[list[str]]]:
    X, found, row = encoded.X, [], 0
    for length in encoded.lengths.tolist():
        bounds = X.indptr[row : row + length + 1].tolist()
        names = [list(map(str, X.indices[a:b].tolist())) for a, b in pairwise(bounds)]
        found.append(names)
        row += length
    return found


def tagging(setting: Setting) -> dict[str, float]:
    """Return tokens per second of the ways to the labels."""
    ours, theirs, test = setting.ours, setting.theirs, setting.test
    from_rows, from_names = setting.ours_from(setting.encoder), setting.ours_from_names()
    prepared = [pycrfsuite.ItemSequence(items) for items in setting.attributes]
    dicts = [[dict.fromkeys(names, 1.0) for names in items] for items in setting.attributes]
    seconds = {
        "ours, from the feature matrix": best_of(lambda: ours.predict(test.X, test.lengths)),
        "ours, from lists of attributes": best_of(lambda: from_names.predict(setting.attributes)),
        "ours, from dicts": best_of(lambda: from_names.predict(dicts)),
        "ours, from words and tags (templates included)": best_of(
            lambda: from_rows.predict(setting.rows)
        ),
        "ours, marginals": best_of(lambda: ours.predict_marginals(test.X, test.lengths)),
        "CRFsuite, from lists of attributes": best_of(
            lambda: [theirs.tag(items) for items in setting.attributes]
        ),
        "CRFsuite, from dicts": best_of(lambda: [theirs.tag(items) for items in dicts]),
        "CRFsuite, from its own objects": best_of(lambda: [theirs.tag(x) for x in prepared]),
        "CRFsuite, marginals from its own objects": best_of(
            lambda: _marginals(theirs, prepared), repetitions=1
        ),
    }
    return {what: setting.n_tokens / taken for what, taken in seconds.items()}


def waits(setting: Setting) -> dict[str, float]:
    """Return microseconds from one sentence to its labels, the mean of a few sentences."""
    ours, theirs, templates = setting.ours, setting.theirs, setting.encoder.templates
    assert templates is not None
    from_rows, from_names = setting.ours_from(setting.encoder), setting.ours_from_names()
    rows, attributes = setting.rows[:FEW], setting.attributes[:FEW]
    prepared = [pycrfsuite.ItemSequence(items) for items in attributes]
    lengths = setting.test.lengths[:FEW].tolist()
    ends = accumulate(lengths)
    matrices = [setting.test.X[e - n : e] for e, n in zip(ends, lengths, strict=True)]
    seconds = {
        "ours, from a feature matrix": best_of(
            lambda: [ours.predict(X, [X.shape[0]]) for X in matrices]
        ),
        "ours, from a list of attributes": best_of(
            lambda: [from_names.predict([items]) for items in attributes]
        ),
        "ours, from words and tags (templates included)": best_of(
            lambda: [from_rows.predict([tokens]) for tokens in rows]
        ),
        "ours, marginals as dicts, from a list of attributes": best_of(
            lambda: [from_names.predict_marginal_dicts([items]) for items in attributes]
        ),
        "CRFsuite, marginals as dicts, from a list of attributes": best_of(
            lambda: _marginals(theirs, attributes)
        ),
        "CRFsuite, from its own object": best_of(lambda: [theirs.tag(x) for x in prepared]),
        "CRFsuite, from a list of attributes": best_of(
            lambda: [theirs.tag(items) for items in attributes]
        ),
        "CRFsuite, from words and tags (templates in Python)": best_of(
            lambda: [
                (_expanded(templates, tokens), theirs.tag(items))
                for tokens, items in zip(rows, attributes, strict=True)
            ]
        ),
    }
    return {what: 1e6 * taken / len(rows) for what, taken in seconds.items()}


def _marginals(tagger: pycrfsuite.Tagger, sequences: list[Any]) -> None:
    """Do what sklearn-crfsuite does."""
    labels = tagger.labels()
    for items in sequences:
        tagger.set(items)
        _ = [{y: tagger.marginal(y, t) for y in labels} for t in range(len(items))]


def disagreement(setting: Setting) -> float:
    """Return the share of tokens on which the two taggers differ; 0 but for ties."""
    numbers = chain.from_iterable(setting.theirs.tag(items) for items in setting.attributes)
    theirs = setting.ours.classes_[np.fromiter(map(int, numbers), dtype=np.int64)]
    return float(np.mean(setting.ours.predict(setting.test.X, setting.test.lengths) != theirs))


def preparation(limit: int | None) -> dict[str, float]:
    """Return tokens per minute from text to features."""
    records = read_rows("train", limit)
    n_tokens = sum(len(record.tokens) for record in records)
    templates = Templates.from_file(TEMPLATES)
    path = data_file("conll2000", "train.txt")
    encoder = SequenceEncoder(templates).fit(records)
    seconds = {
        "read the file": best_of(lambda: read_rows("train", limit), 3),
        "templates and vocabulary, for training": best_of(
            lambda: SequenceEncoder(templates).fit_transform(records), 3
        ),
        "templates with a known vocabulary": best_of(lambda: encoder.transform(records), 3),
        "file to matrix in one stream": best_of(
            lambda: SequenceEncoder(templates).fit_transform(islice(read_columns(path), limit)), 3
        ),
        "CRFsuite: expand templates in Python": best_of(
            lambda: [_expanded(templates, record.tokens) for record in records], 1
        ),
    }
    return {what: MINUTE * n_tokens / taken for what, taken in seconds.items()}


def _expanded(templates: Templates, rows: list[list[str]]) -> list[list[str]]:
    """Do what a user of CRFsuite does: a list of strings a token."""
    return [[t.expand(rows, i) for t in templates.unigram] for i in range(len(rows))]


def main() -> None:
    """Measure, print, and write ``tagging.json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tagging")
    parser.add_argument("--sentences", type=int, help="only so many, for a quick look")
    parser.add_argument(
        "--iterations", type=int, default=150, help="of CRFsuite: few leave many weights nonzero"
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "benchmarks" / "results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proxqn-tagging-") as folder:
        setting = set_up(Path(folder), args.sentences, args.iterations)
        speeds, one, differ = tagging(setting), waits(setting), disagreement(setting)
    prepared = preparation(args.sentences)
    print(markdown(["tagging", "tokens/s"], [[k, f"{v:,.0f}"] for k, v in speeds.items()]))
    nonzeros = int(setting.ours.coef_.nnz)
    print()
    print(markdown(["one sentence", "µs"], [[k, f"{v:,.0f}"] for k, v in one.items()]))
    prepared_ratio, lists, dicts = (
        speeds[f"ours, from {ours}"] / speeds[f"CRFsuite, from {theirs}"]
        for ours, theirs in (
            ("the feature matrix", "its own objects"),
            ("lists of attributes", "lists of attributes"),
            ("dicts", "dicts"),
        )
    )
    print(f"\nours ÷ CRFsuite: {prepared_ratio:.1f} from what each has prepared, {lists:.1f} from")
    print(f"lists of attributes, {dicts:.1f} from dicts; labels differ on {differ:.2%} of")
    print(f"{setting.n_tokens:,} tokens;", end=" ")
    print(f"{nonzeros:,} weights of features are nonzero\n")
    print(
        markdown(["text → features", "tokens/min"], [[k, f"{v:,.0f}"] for k, v in prepared.items()])
    )
    args.out.mkdir(parents=True, exist_ok=True)
    found = {
        "tagging, tokens/s": speeds,
        "one sentence, µs": one,
        "preparation, tokens/min": prepared,
        "differ": differ,
    }
    found |= {"tokens": setting.n_tokens, "nonzeros": nonzeros, "machine": machine()}
    (args.out / "tagging.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
