"""Sequence scores: equal to seqeval's, on random labels and on real ones."""

import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from proxqn.metrics import (
    Scheme,
    entity_f1_score,
    entity_f1_scorer,
    entity_precision_score,
    entity_recall_score,
    entity_scores,
    extract_entities,
    sequence_accuracy_score,
    token_accuracy_score,
    token_accuracy_scorer,
)

seqeval_metrics = pytest.importorskip("seqeval.metrics")
seqeval_scheme = pytest.importorskip("seqeval.scheme")
seqeval_lenient = pytest.importorskip("seqeval.metrics.sequence_labeling")

PREFIXES = {None: "BIES", Scheme.IOB1: "IB", Scheme.IOB2: "BI", Scheme.IOBES: "BIES"}
PEERS = {
    Scheme.IOB1: seqeval_scheme.IOB1,
    Scheme.IOB2: seqeval_scheme.IOB2,
    Scheme.IOBES: seqeval_scheme.IOBES,
}


def label_pairs(scheme):
    labels = ["O"] + [f"{p}-{t}" for p in PREFIXES[scheme] for t in ("X", "Y-Z")] + ["B"]
    tokens = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    return st.lists(st.lists(tokens, max_size=8), min_size=1, max_size=4)


def peer_scores(y_true, y_pred, scheme, average):
    options = {"average": average, "zero_division": 0}
    if scheme is not None:
        options |= {"mode": "strict", "scheme": PEERS[scheme]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(
            score(y_true, y_pred, **options)
            for score in (
                seqeval_metrics.precision_score,
                seqeval_metrics.recall_score,
                seqeval_metrics.f1_score,
            )
        )


def split(pairs):
    y_true = [[true for true, _ in sequence] for sequence in pairs]
    y_pred = [[guess for _, guess in sequence] for sequence in pairs]
    return y_true, y_pred


@pytest.mark.parametrize("scheme", PREFIXES, ids=str)
@given(data=st.data())
def test_scores_equal_seqeval_on_random_labels(scheme, data):
    y_true, y_pred = split(data.draw(label_pairs(scheme)))
    scores = entity_scores(y_true, y_pred, scheme=scheme)
    ours = scores.overall.precision, scores.overall.recall, scores.overall.f1
    assert ours == pytest.approx(peer_scores(y_true, y_pred, scheme, "micro"))
    if scores.by_type:
        macro = scores.macro.precision, scores.macro.recall, scores.macro.f1
        assert macro == pytest.approx(peer_scores(y_true, y_pred, scheme, "macro"))
        by_type = [score.f1 for score in scores.by_type.values()]
        assert by_type == pytest.approx(list(peer_scores(y_true, y_pred, scheme, None)[2]))
    if scores.overall.support:
        weighted = scores.weighted.precision, scores.weighted.recall, scores.weighted.f1
        assert weighted == pytest.approx(peer_scores(y_true, y_pred, scheme, "weighted"))


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "X", ".", "B"])))
def test_lenient_entities_equal_seqeval(labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = seqeval_lenient.get_entities(list(labels))
    assert [(e.type, e.start, e.stop - 1) for e in extract_entities(labels)] == peer


def real_labels():
    folder = os.environ.get("PROXQN_DATA", Path(__file__).parents[2] / "../shared/data")
    path = Path(folder) / "conll2000/test.txt"
    if not path.exists():
        pytest.skip(f"CoNLL-2000 is not in {folder}; set PROXQN_DATA to the data folder")
    blocks = path.read_text().strip().split("\n\n")
    return [[line.split()[2] for line in block.splitlines()] for block in blocks]


@pytest.mark.parametrize("scheme", [None, Scheme.IOB2], ids=str)
def test_scores_equal_seqeval_on_conll2000(scheme):
    y_true = real_labels()
    rng = random.Random(0)
    labels = sorted({label for sequence in y_true for label in sequence})
    y_pred = [
        [rng.choice(labels) if rng.random() < 0.1 else label for label in sequence]
        for sequence in y_true
    ]
    ours = [
        score(y_true, y_pred, scheme=scheme)
        for score in (entity_precision_score, entity_recall_score, entity_f1_score)
    ]
    assert ours == pytest.approx(peer_scores(y_true, y_pred, scheme, "micro"))
    assert token_accuracy_score(y_true, y_pred) == seqeval_metrics.accuracy_score(y_true, y_pred)
    wrong = sum(true != guess for true, guess in zip(y_true, y_pred, strict=True))
    assert sequence_accuracy_score(y_true, y_pred) == pytest.approx(1 - wrong / len(y_true))


def test_the_report_lines_up():
    y = [["B-LONGTYPENAME", "O", "S-Q"]]
    lines = str(entity_scores(y, y)).splitlines()
    table = [line for line in lines[:6] if line]
    assert len({len(line) for line in table}) == 1
    assert lines[-2:] == ["token accuracy     1.0000", "sequence accuracy  1.0000"]


def test_scores_of_nothing_are_zero():
    scores = entity_scores([[]], [[]])
    assert (scores.overall.f1, scores.macro.f1, scores.weighted.f1) == (0.0, 0.0, 0.0)
    assert sequence_accuracy_score([], []) == 0.0


class Echo(BaseEstimator):
    """Predicts its input."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X


def test_scorers_work_in_cross_validation():
    X = [["B-X", "O"], ["O", "B-X"], ["B-X"], ["O"]] * 2
    assert np.all(cross_val_score(Echo(), X, X, scoring=entity_f1_scorer, cv=2) == 1.0)
    assert np.all(cross_val_score(Echo(), X, X, scoring=token_accuracy_scorer, cv=2) == 1.0)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "scheme", "message"),
    [
        ([["O"]], [], None, "as many predicted as true sequences, got 0 and 1"),
        ([["O"]], [["O", "O"]], None, "sequence 0: expected 1 predicted labels, got 2"),
        (["O"], ["O"], None, "sequence 0: expected a list of labels, got a string"),
        ([["O", ""]], [["O", "O"]], None, "y_true, sequence 0, position 1: expected a label"),
        ([["O"]], [["E-X"]], "IOB2", "y_pred, sequence 0, position 0: expected O, or B- or I-"),
        ([["O"]], [["O"]], "BILOU", "expected the scheme IOB1, IOB2 \\(BIO\\) or IOBES"),
    ],
)
def test_bad_input_is_named(y_true, y_pred, scheme, message):
    with pytest.raises((ValueError, TypeError), match=message):
        entity_scores(y_true, y_pred, scheme=scheme)


def test_an_unknown_average_is_refused():
    with pytest.raises(ValueError, match="expected average to be 'micro'"):
        entity_f1_score([["O"]], [["O"]], average="samples")
