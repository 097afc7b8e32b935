"""The everyday benchmark: its corpora hold together, and its ratios say what they claim."""

from __future__ import annotations

import pytest
from benchmarks.everyday import corpora
from benchmarks.everyday.__main__ import figures, table
from benchmarks.everyday.problems import PROBLEMS
from benchmarks.everyday.trainer import accuracy

MADE = {
    "references": lambda: corpora.references(20),
    "spanish": lambda: corpora.spanish(20),
    "genes": lambda: corpora.genes(2),
    "sensors": lambda: corpora.sensors(3),
    "fine tags": lambda: corpora.fine_tags(20),
}


@pytest.mark.parametrize("name", MADE)
def test_generated_corpora_have_a_label_for_each_token_and_are_the_same_again(name):
    corpus = MADE[name]()
    assert [len(x) for x in corpus.X] == [len(y) for y in corpus.y]
    again = MADE[name]()
    assert again.X == corpus.X
    assert again.y == corpus.y


def test_every_fifth_sequence_is_held_back():
    train, test = corpora.references(11).split()
    assert (len(train.X), len(test.X)) == (8, 3)


def test_parserators_lines_become_tokens():
    found = corpora._TAGGED.findall("<A><Number>12</Number> <Street>Oak &amp; Elm</Street></A>")
    assert found == [("Number", "12"), ("Street", "Oak &amp; Elm")]


def test_six_problems_at_least_were_not_looked_at():
    assert len(PROBLEMS) >= 20
    assert sum(problem.unseen for problem in PROBLEMS) >= 6


def test_ratios_are_of_times_to_the_same_objective():
    found = {
        "proxqn": {
            "path": [[0.1, 103.0], [0.2, 100.5], [0.5, 100.0]],
            "whole": 1.0, "objective": 100.0, "accuracy": 0.9, "warned": [],
        },
        "crfsuite": {
            "path": [[1.0, 200.0], [8.0, 100.9], [20.0, 100.4]],
            "whole": 12.0, "objective": 100.4, "accuracy": 0.89,
        },
    }  # fmt: skip
    numbers = figures(found)
    assert numbers["last"] == 20.0 / 0.5
    assert numbers["near"] == 8.0 / 0.2
    assert numbers["whole"] == 12.0
    assert "40.0" in table({PROBLEMS[0].name: found})


def test_accuracy_counts_tokens():
    assert accuracy([["a", "b"], ["c"]], [["a", "x"], ["c"]]) == pytest.approx(2 / 3)
