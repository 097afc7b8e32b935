"""Entities of many sequences at once are those of one after the other."""

from __future__ import annotations

import random

import pytest

from proxqn.metrics import entity_f1_score
from proxqn.metrics.entities import extract_entities
from proxqn.metrics.entity_counts import EntityReader
from proxqn.metrics.sequence import entity_f1_against

LABELS = ["O", "B-X", "I-X", "E-X", "S-X", "I-Y", "B-Y", "X", "B", "I", "O-X", "O-_", ".", "Q-Z",
          "B-", "I-_", "_", "E", "S"]  # fmt: skip


def sequences(n, seed):
    rng = random.Random(seed)
    return [
        [rng.choice(LABELS) if rng.random() < 0.6 else "O" for _ in range(rng.randrange(7))]
        for _ in range(n)
    ]


def test_they_are_those_of_one_sequence_after_the_other():
    given = sequences(3000, 0)
    found = EntityReader().read(given, "y")
    begin, expected = 0, []
    for labels in given:
        expected += [(begin + e.start, begin + e.stop) for e in extract_entities(labels)]
        begin += len(labels) + 1
    stops = found.stops.nonzero()[0]
    assert list(zip(found.first[stops].tolist(), stops.tolist(), strict=True)) == expected


def test_f1_is_the_same_number():
    for seed in range(200):
        true = sequences(20, seed)
        guess = [[random.Random(seed).choice([a, "O"]) for a in labels] for labels in true]
        score = entity_f1_against(true)
        assert score(guess) == entity_f1_score(true, guess)
        assert score(true) == entity_f1_score(true, true)


@pytest.mark.parametrize(
    ("guess", "error", "sentence"),
    [([["O"]], ValueError, "expected 2 predicted labels, got 1"),
     ([], ValueError, "as many predicted"),
     (["OO"], TypeError, "wrap it in a list"),
     ([["O", ""]], ValueError, "y_pred, sequence 0, position 1: expected a label"),
     ([["O", 3]], ValueError, "y_pred, sequence 0, position 1: expected a label")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(guess, error, sentence):
    with pytest.raises(error, match=sentence):
        entity_f1_against([["O", "B-X"]])(guess)


def test_no_sequence_at_all_scores_nothing():
    assert entity_f1_against([])([]) == entity_f1_against([[]])([[]]) == 0.0
