"""Scores of labellings are sums of weights, however they are found."""

import numpy as np
import pytest
from tests.io.golden_files import FOLDER

from proxqn.cli.stand_ins.columns import wapiti_sequences
from proxqn.cli.stand_ins.labelling import Labeller
from proxqn.io.wapiti import read_model


@pytest.fixture(scope="module")
def labeller():
    return Labeller(read_model(FOLDER / "letters.wapiti"), "letters.wapiti")


@pytest.fixture(scope="module")
def sequences():
    return list(wapiti_sequences(str(FOLDER / "new.txt")))


def slow_score(labeller, sequence, labels):
    """Add the weights of one labelling, name by name, as the file has them."""
    model, n = read_model(FOLDER / "letters.wapiti"), len(labeller.labels)
    weights = dict(zip(model.names, model.weights.toarray(), strict=True))
    pairs = dict(zip(model.names, model.edge_weights.toarray(), strict=True))
    rows, total = sequence.features(2), 0.0
    for t, label in enumerate(labels):
        for template in model.templates:
            name = template.expand(rows, t)
            if name in weights:
                total += weights[name][label]
                total += pairs[name][labels[t - 1] * n + label] if t else 0.0
    return total


def test_scores_are_sums_of_the_files_weights(labeller, sequences):
    found = labeller.best(labeller.encoded(sequences), 4)
    assert [len(paths) for paths in found] == [4, 4, 3, 3]  # three labels, one token
    for sequence, paths in zip(sequences, found, strict=True):
        for path in paths:
            assert path.score == pytest.approx(slow_score(labeller, sequence, path.labels))
            assert path.score == pytest.approx(sum(path.scores))
        scores = [path.score for path in paths]
        assert scores == sorted(scores, reverse=True)


def test_probabilities_are_in_the_files_order_of_labels(labeller, sequences):
    rows = labeller.probabilities(labeller.encoded(sequences))[0]
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    best = labeller.most_probable(labeller.encoded(sequences), 1)[0][0]
    assert rows.argmax(axis=1).tolist() == best.labels
