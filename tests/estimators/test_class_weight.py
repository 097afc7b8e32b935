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


def test_the_parameter_is_a_sample_weight():
    rng = np.random.default_rng(0)
    lengths, y = np.full(40, 5), rng.choice(["a", "b"], 200, p=[0.9, 0.1])
    X = np.column_stack([rng.normal(y == "b", 1.0), np.ones(200)])
    given = rng.integers(1, 3, 40)
    for class_weight in ("balanced", {"b": 5.0}):
        model = ChainCRF(class_weight=class_weight).fit(X, y, lengths, sample_weight=given)
        weights = sequence_weights(class_weight, y, lengths)
        by_hand = ChainCRF().fit(X, y, lengths, sample_weight=given * weights)
        assert model.objective_ == by_hand.objective_
        assert (model.coef_ != by_hand.coef_).nnz == 0
        assert model.objective_ != ChainCRF().fit(X, y, lengths, sample_weight=given).objective_
    nested = [part.tolist() for part in np.split(y, 40)]
    listed = ChainCRF(class_weight="balanced").fit(np.split(X, 40), nested)
    assert listed.objective_ == ChainCRF(class_weight="balanced").fit(X, y, lengths).objective_


def test_a_label_of_weight_zero_leaves_its_sequences_out():
    X, y = np.eye(4)[[0, 1, 2, 0, 1, 3]], ["a", "b", "c", "a", "b", "c"]
    model = ChainCRF(lam=0.1, class_weight={"c": 0.0}).fit(X, y)
    without = ChainCRF(lam=0.1).fit(X, y, sample_weight=[1, 1, 0, 1, 1, 0])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.objective_ == without.objective_ < ChainCRF(lam=0.1).fit(X, y).objective_
