"""Development sets: read once for a model, scored by anything that scores, refused in sentences."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import make_scorer

from proxqn import ChainCRF, HierarchicalClassifier
from proxqn.estimators.development import development_set
from proxqn.features.sequence_record import SequenceRecord
from proxqn.metrics import entity_f1_score, entity_f1_scorer

WORDS = [["dogs", "bark"], ["cats", "purr", "softly"], ["cows"]] * 3
NAMES = [["B-X", "O"], ["B-X", "O", "O"], ["B-X"]] * 3
TAGS = [["N", "V"], ["N", "V", "A"], ["N"]] * 3
DEV = [["cats", "bark"], ["dogs", "bark", "softly"]]
X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, "a", "b")


def test_entity_f1_where_labels_mark_entities_else_accuracy():
    truth = [["B-X", "B-X"], ["B-X", "O", "O"]]
    model = ChainCRF(lam=0.1).fit(WORDS, NAMES)
    found = [labels.tolist() for labels in model.predict(DEV)]
    assert development_set((DEV, truth))(model)(model) == entity_f1_score(truth, found)
    tags = [["N", "N"], ["N", "V", "A"]]
    model = ChainCRF(lam=0.1).fit(WORDS, TAGS)
    assert development_set((DEV, tags))(model)(model) == model.score(DEV, tags) == 0.8
    model = HierarchicalClassifier(lam=0.1).fit(X, Y)
    assert development_set((X, Y))(model)(model) == model.score(X, Y)


@pytest.mark.parametrize(
    "scoring",
    ["entity_f1", "sequence_accuracy", "log_likelihood", entity_f1_scorer,
     make_scorer(entity_f1_score), lambda model, X, y: model.score(X, y)],
)  # fmt: skip
def test_any_scorer(scoring):
    model = ChainCRF(lam=0.1).fit(WORDS, NAMES)
    score = development_set((WORDS, NAMES), scoring)(model)(model)
    assert (score == 1.0) if scoring != "log_likelihood" else (score < 0.0)


def test_matrices_with_lengths_and_records_that_bring_their_labels():
    model = ChainCRF(lam=0.1).fit(X, Y, lengths=[10, 10, 20])
    score = development_set((X[:30], Y[:30], [10, 20]))(model)(model)
    assert score == model.score(X[:30], Y[:30], lengths=[10, 20])
    records = [SequenceRecord(words, tags, line=0) for words, tags in zip(WORDS, TAGS, strict=True)]
    model = ChainCRF(lam=0.1).fit(WORDS, TAGS)
    assert development_set((records, None))(model)(model) == model.score(WORDS, TAGS)


CHAIN, TREE = (WORDS, TAGS), (X, Y)
BAD = {
    "no pair": (CHAIN, DEV[0][0], TypeError, r"\(X_dev, y_dev\).*got a str"),
    "no labels": (CHAIN, (DEV,), ValueError, r"\(X_dev, y_dev\).*got 1 of them"),
    "labels None": (CHAIN, (DEV, None), ValueError, "validation: .*y is None.*one label a token"),
    "unknown labels": (CHAIN, (DEV, [["N", "Q"], ["N", "V", "A"]]), ValueError,
                       "validation: y contains labels that were not there at fit: 'Q'"),
    "empty": (CHAIN, ([], []), ValueError, "validation: .*at least one"),
    "other lengths": (CHAIN, (DEV, [["N"], ["N", "V", "A"]]), ValueError,
                      r"validation: y\[0\] has 1 labels, but sequence 0 of X has 2 tokens"),
    "fewer sequences": (CHAIN, (DEV, [["N", "V"]]), ValueError, "validation: .*1 sequences"),
    "missing labels": (CHAIN, (DEV, [["N", None], ["N", "V", "A"]]), ValueError,
                       "validation: y contains None"),
    "numbers for names": (CHAIN, (X, Y), ValueError, "validation: "),
    "other columns": (TREE, (X[:, :2], Y), ValueError, "validation: X has 2 features"),
    "tree without labels": (TREE, (X, None), ValueError, "validation: .*y is None"),
    "tree, unknown": (TREE, (X, np.where(Y == "a", "a", "q")), ValueError, "validation: .*'q'"),
    "tree, empty": (TREE, (X[:0], Y[:0]), ValueError, "validation: "),
    "tree, other length": (TREE, (X, Y[:3]), ValueError, "validation: "),
}  # fmt: skip


@pytest.mark.parametrize(("data", "validation", "error", "sentence"), BAD.values(), ids=BAD)
def test_bad_data_are_refused_and_the_estimator_is_as_it_was(data, validation, error, sentence):
    model = (ChainCRF if data is CHAIN else HierarchicalClassifier)(lam=0.1).fit(*data)
    before = vars(model).copy()
    with pytest.raises(error, match=sentence):
        model.fit(*data, validation=validation)
    assert vars(model) == before


def test_a_score_that_is_no_number_is_refused():
    for given in (float("nan"), {"f1": 1.0}, None):
        with pytest.raises(ValueError, match=r"scoring gave .* expected a number"):
            ChainCRF().fit(WORDS, TAGS, validation=CHAIN, scoring=lambda *_, given=given: given)


def test_an_unknown_scoring_is_refused():
    with pytest.raises(ValueError, match="entity_f2"):
        ChainCRF().fit(WORDS, TAGS, validation=CHAIN, scoring="entity_f2")
