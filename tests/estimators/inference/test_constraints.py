import itertools

import numpy as np
import pytest

from proxqn import ChainCRF
from proxqn.estimators.inference.constraints import Constraints
from proxqn.metrics.entities import extract_entities

BIO = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
BIOES = [f"{p}-{kind}" for kind in ("LOC", "PER") for p in "BIES"] + ["O"]
IOB1 = BIO


def allows(rules, classes, labels):
    number = [classes.index(label) for label in labels]
    pairs = all(rules.transitions[a, b] for a, b in itertools.pairwise(number))
    return bool(rules.first[number[0]] and rules.last[number[-1]] and pairs)


CASES = [
    ("BIO", BIO, ["B-PER", "I-PER", "O"], True),
    ("BIO", BIO, ["B-PER", "B-PER", "B-LOC", "I-LOC"], True),
    ("BIO", BIO, ["I-PER"], False),
    ("BIO", BIO, ["O", "I-PER"], False),
    ("BIO", BIO, ["B-LOC", "I-PER"], False),
    ("BIOES", BIOES, ["B-PER", "I-PER", "E-PER", "S-LOC", "O"], True),
    ("BIOES", BIOES, ["B-PER", "O"], False),
    ("BIOES", BIOES, ["S-PER", "E-PER"], False),
    ("BIOES", BIOES, ["B-PER", "I-PER"], False),
    ("BIOES", BIOES, ["B-PER", "E-LOC"], False),
    ("IOB1", IOB1, ["I-PER", "B-PER", "I-LOC", "O"], True),
    ("IOB1", IOB1, ["B-PER"], False),
    ("IOB1", IOB1, ["I-LOC", "B-PER"], False),
]


@pytest.mark.parametrize(("scheme", "classes", "labels", "allowed"), CASES)
def test_schemes(scheme, classes, labels, allowed):
    assert allows(Constraints.from_scheme(classes, scheme), classes, labels) == allowed


@pytest.mark.parametrize(("scheme", "classes"), [("IOB2", BIO), ("IOBES", BIOES), ("IOB1", IOB1)])
def test_rules_equal_the_strict_reading_of_the_metrics(scheme, classes):
    """A labelling keeps the rules exactly if it is how the scheme writes the entities in it."""
    written = {}
    for labels in itertools.product(classes, repeat=3):
        if allows(Constraints.from_scheme(classes, scheme), classes, labels):
            entities = tuple(extract_entities(list(labels), scheme=scheme))
            assert entities not in written, (labels, written[entities])
            written[entities] = labels
    assert len(written) > 20


@pytest.fixture(scope="module")
def tagger():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, 60)
    y = rng.integers(0, 5, lengths.sum())
    X = np.eye(5)[y] + rng.normal(0, 1.0, (len(y), 5))
    return ChainCRF(lam=0.1).fit(X, np.array(BIO)[y], lengths), X, lengths


def best_by_force(crf, X, keeps):
    candidates = itertools.product(range(5), repeat=len(X))
    scores = X @ crf.coef_.toarray().T

    def score(path):
        steps = sum(crf.transitions_[a, b] for a, b in itertools.pairwise(path))
        return scores[np.arange(len(path)), path].sum() + steps

    return list(crf.classes_[list(max(filter(keeps, candidates), key=score))])


def test_decoding_equals_brute_force(tagger):
    crf, X, lengths = tagger
    rules = Constraints.from_scheme(crf.classes_, "BIO")
    found = crf.predict(np.split(X, np.cumsum(lengths)[:-1]), constraints=rules)
    free = crf.predict(np.split(X, np.cumsum(lengths)[:-1]))
    assert any((a != b).any() for a, b in zip(found, free, strict=True))
    start = 0
    for labels, length in zip(found, lengths, strict=True):
        rows, start = X[start : start + length], start + length
        assert allows(rules, BIO, labels)
        if length <= 4:
            keeps = lambda path: allows(rules, BIO, [BIO[y] for y in path])  # noqa: E731
            assert labels.tolist() == best_by_force(crf, rows, keeps)


def test_forced_labels(tagger):
    crf, X, _ = tagger
    rows = X[:4]
    forced = [None, "I-LOC", None, "O"]
    keeps = lambda path: (path[1], path[3]) == (2, 4)  # noqa: E731
    expected = best_by_force(crf, rows, keeps)
    assert crf.predict(rows, [4], forced=forced).tolist() == expected
    assert crf.predict([rows], forced=[forced])[0].tolist() == expected
    assert (crf.predict(rows, [4], forced=[None] * 4) == crf.predict(rows, [4])).all()


def test_refusals(tagger):
    crf, X, _ = tagger
    rules = Constraints.from_scheme(crf.classes_, "BIO")
    forced = ["O", "O", "O", "I-PER", "O"]
    with pytest.raises(ValueError, match="no labelling of the sequence with token 3 satisfies"):
        crf.predict(X[:5], [2, 3], constraints=rules, forced=forced)
    with pytest.raises(ValueError, match="for 2 labels, but the model has 5"):
        crf.predict(X, constraints=Constraints.from_transitions(np.ones((2, 2), dtype=bool)))
    with pytest.raises(ValueError, match="forced has 1 entries, but X has 4 tokens"):
        crf.predict(X[:4], [4], forced=["O"])
    with pytest.raises(ValueError, match="not there at fit: 'Q'"):
        crf.predict(X[:2], [2], forced=["Q", None])
    with pytest.raises(ValueError, match="label 'E-PER' does not belong to IOB2; expected 'O' or"):
        Constraints.from_scheme(["E-PER", "O"], "IOB2")
    with pytest.raises(ValueError, match="expected a square array of booleans"):
        Constraints.from_transitions([[0.0, 1.0]])
