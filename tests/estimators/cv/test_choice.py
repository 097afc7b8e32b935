"""Which λ is taken."""

from __future__ import annotations

import numpy as np

from proxqn.estimators.cv.choice import Choice


def test_of_equal_means_the_largest_lambda():
    assert Choice.of(np.array([[0.1], [0.5], [0.5], [0.2]]), "best").index == 1


def test_one_standard_error():
    scores = np.array([[0.0, 0.4], [0.5, 0.7], [0.5, 0.9], [0.1, 0.1]])
    choice = Choice.of(scores, "1se")
    np.testing.assert_allclose(choice.mean, [0.2, 0.6, 0.7, 0.1])
    assert choice.error[2] == np.std([0.5, 0.9], ddof=1) / np.sqrt(2)
    assert choice.index == 1


def test_a_single_fold_has_no_error():
    choice = Choice.of(np.array([[0.1], [0.3]]), "1se")
    assert choice.index == 1
    assert not choice.error.any()
