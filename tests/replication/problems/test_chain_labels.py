from __future__ import annotations

import itertools

import numpy as np
import pytest

from replication.problems.chain_labels import best_letters, best_word


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_those_found_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([1, 4, 2, 4])
    scores, transitions = rng.normal(size=(11, 3)), rng.normal(size=(3, 3))
    words, letters = [], []
    for own in np.split(scores, np.cumsum(lengths)[:-1]):
        labelings = np.array(list(itertools.product(range(3), repeat=len(own))))
        total = own[np.arange(len(own)), labelings].sum(axis=1)
        total += transitions[labelings[:, :-1], labelings[:, 1:]].sum(axis=1)
        words.append(labelings[total.argmax()])
        p = np.exp(total)
        marginals = [[p[labelings[:, t] == y].sum() for y in range(3)] for t in range(len(own))]
        letters.append(np.argmax(marginals, axis=1))
    np.testing.assert_array_equal(best_word(scores, transitions, lengths), np.concatenate(words))
    np.testing.assert_array_equal(
        best_letters(scores, transitions, lengths), np.concatenate(letters)
    )
