import itertools

import numpy as np
import pytest

from proxqn import ChainCRF
from proxqn.estimators.inference.n_best import best_paths


@pytest.mark.parametrize(("n_tokens", "n_labels"), [(1, 3), (2, 2), (4, 3), (6, 2)])
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_equals_brute_force(n_tokens, n_labels, n):
    rng = np.random.default_rng(n_tokens)
    scores = rng.normal(size=(n_tokens, n_labels))
    transitions = rng.normal(size=(n_labels, n_labels))
    all_paths = np.array(list(itertools.product(range(n_labels), repeat=n_tokens)))
    all_scores = scores[np.arange(n_tokens), all_paths].sum(axis=1)
    all_scores += transitions[all_paths[:, :-1], all_paths[:, 1:]].sum(axis=1)
    order = np.argsort(-all_scores)[:n]
    paths, found = best_paths(scores, transitions, n)
    np.testing.assert_array_equal(paths, all_paths[order])
    np.testing.assert_allclose(found, all_scores[order], atol=1e-12)


def test_of_a_model():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    X = np.eye(3)[y] + rng.normal(0, 0.5, (60, 3))
    lengths = [4] * 15
    crf = ChainCRF(lam=0.1).fit(X, y, lengths)
    found = crf.predict_n_best(X, lengths, n=100)
    assert [len(labellings) for labellings in found] == [81] * 15  # 3 labels, 4 tokens: all of them
    for i, labellings in enumerate(found):
        probabilities = [p for _, p in labellings]
        assert sum(probabilities) == pytest.approx(1.0)
        assert probabilities == sorted(probabilities, reverse=True)
        rows = slice(4 * i, 4 * i + 4)
        np.testing.assert_array_equal(labellings[0][0], crf.predict(X[rows], [4]))
        some_labels, p = labellings[7]
        assert np.exp(crf.log_probability(X[rows], some_labels, [4])) == pytest.approx(p)


def test_refuses_n():
    crf = ChainCRF(lam=0.1).fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="n must be an integer, 1 or above, got 0"):
        crf.predict_n_best(np.eye(2), n=0)
