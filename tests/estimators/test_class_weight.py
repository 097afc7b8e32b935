import numpy as np
import pytest
from sklearn.utils import compute_sample_weight

from proxqn import ChainCRF
from proxqn.estimators.class_weight import sequence_weights


def test_flat_and_nested_agree():
    y = np.array(["a", "b", "a", "a", "c"])
    nested = [["a", "b"], ["a"], ["a", "c"]]
    flat = sequence_weights("balanced", y, lengths=[2, 1, 2])
    np.testing.assert_array_equal(flat, sequence_weights("balanced", nested))
    of_token = compute_sample_weight("balanced", y)
    np.testing.assert_allclose(flat, [of_token[:2].mean(), of_token[2], of_token[3:].mean()])


def test_rows_alone_are_as_in_scikit_learn():
    y = [0, 0, 0, 1]
    expected = compute_sample_weight("balanced", y)
    np.testing.assert_array_equal(sequence_weights("balanced", y), expected)


def test_a_heavy_label_is_predicted_more_often():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.1).astype(int)
    X = np.column_stack([rng.normal(y, 1.0), np.ones(400)])
    plain = ChainCRF().fit(X, y).predict(X)
    weighted = ChainCRF().fit(X, y, sample_weight=sequence_weights("balanced", y)).predict(X)
    assert plain.sum() < 40 < weighted.sum()


def test_refuses_other_lengths():
    with pytest.raises(ValueError, match="sum to the 3 labels of y; they sum to 2"):
        sequence_weights("balanced", ["a", "b", "a"], lengths=[2])
