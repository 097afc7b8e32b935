"""Metrics and scorers: the original's figures."""

import numpy as np
import pytest
import sklearn_crfsuite.metrics as theirs
import sklearn_crfsuite.scorers as their_scorers

from proxqn.compat.sklearn_crfsuite import metrics, scorers

Y = [["x", "z", "y"], ["x", "x"], ["z"]]
P = [["y", "z", "y"], ["x", "y"], ["z"]]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("flat_accuracy_score", {}),
        ("flat_precision_score", {"average": "macro"}),
        ("flat_recall_score", {"average": "micro"}),
        ("flat_f1_score", {"average": "weighted", "labels": ["x", "z"]}),
        ("flat_fbeta_score", {"beta": 2, "average": "macro"}),
        ("flat_classification_report", {"labels": ["x", "y"], "digits": 3}),
        ("sequence_accuracy_score", {}),
    ],
)
def test_figures_are_the_originals(name, options):
    found, expected = (getattr(module, name)(Y, P, **options) for module in (metrics, theirs))
    assert found == expected


def test_predictions_may_be_arrays():
    arrays = [np.array(y) for y in P]
    assert metrics.flat_accuracy_score(Y, arrays) == metrics.flat_accuracy_score(Y, P)
    assert metrics.sequence_accuracy_score(Y, arrays) == 1 / 3
    assert metrics.sequence_accuracy_score([], []) == 0


def test_scorers_are_there():
    assert set(vars(their_scorers)) & {"flat_accuracy", "sequence_accuracy"} <= set(vars(scorers))
