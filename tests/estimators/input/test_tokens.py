"""Bad input: each kind is refused, with a message that says what was expected and what came."""

import numpy as np
import pytest
import scipy.sparse as sp

from proxqn import ChainCRF
from proxqn.estimators.input.tokens import Tokens

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
Y = np.array(["a", "b", "a", "b"])


def changed(value):
    X_bad = X.copy()
    X_bad[1, 1] = value
    return X_bad


FIT = {
    "NaN": ({"X": changed(np.nan)}, ValueError, "Input X contains NaN"),
    "infinity": ({"X": changed(np.inf)}, ValueError, "Input X contains infinity"),
    "NaN, sparse": ({"X": sp.csr_array(changed(np.nan))}, ValueError, "Input X contains NaN"),
    "NaN in a list": ({"X": [changed(np.nan)], "y": [list(Y)]}, ValueError, "contains NaN"),
    "empty corpus": ({"X": np.empty((0, 2)), "y": []}, ValueError, "minimum of 1 is required"),
    "empty list": ({"X": [], "y": []}, ValueError, "X is an empty list; expected at least one"),
    "no features": ({"X": np.empty((4, 0))}, ValueError, r"0 feature\(s\)"),
    "one-dimensional": ({"X": X[0], "y": ["a"]}, ValueError, "Expected 2D array, got 1D"),
    "text": ({"X": np.array([["x"]] * 4)}, ValueError, "not compatible with arrays of bytes/str"),
    "complex": ({"X": X + 1j}, ValueError, "Complex data not supported"),
    "uneven lists": (
        {"X": [X[:2], X[2:, :1]], "y": [["a", "b"], ["a", "b"]]},
        ValueError,
        r"sequence 1 has shape \(2, 1\); expected \(tokens, 2\)",
    ),
    "lengths too short": ({"lengths": [2, 1]}, ValueError, "lengths sum to 3, but X has 4 rows"),
    "lengths too long": ({"lengths": [2, 3]}, ValueError, "lengths sum to 5, but X has 4 rows"),
    "zero length": ({"lengths": [2, 0, 2]}, ValueError, "sequence 1 has length 0; expected at"),
    "zero length in a list": (
        {"X": [X[:2], X[:0], X[2:]], "y": [["a", "b"], [], ["a", "b"]]},
        ValueError,
        "sequence 1 has length 0; expected at least one token",
    ),
    "negative length": ({"lengths": [5, -1]}, ValueError, "sequence 1 has length -1"),
    "float lengths": ({"lengths": [2.0, 2.0]}, TypeError, "lengths must be integers.*float64"),
    "no lengths": ({"lengths": []}, ValueError, "lengths must be a list with one number"),
    "nested lengths": ({"lengths": [[2, 2]]}, ValueError, r"got shape \(1, 2\)"),
    "lengths with a list": (
        {"X": [X], "y": [list(Y)], "lengths": [4]},
        ValueError,
        "lengths came with a list of sequences",
    ),
    "one label": ({"y": ["a"] * 4}, ValueError, "y has one class only, 'a'; expected at least"),
    "no y": ({"y": None}, ValueError, "requires y to be passed, but the target y is None"),
    "y too short": ({"y": ["a", "b"]}, ValueError, "y has 2 labels, but X has 4 rows"),
    "y per sequence": (
        {"X": [X], "y": ["a"]},
        ValueError,
        r"y\[0\] has shape \(\); expected a list",
    ),
    "y too short in a list": (
        {"X": [X[:2], X[2:]], "y": [["a", "b"], ["a"]]},
        ValueError,
        r"y\[1\] has 1 labels, but sequence 1 of X has 2 tokens",
    ),
    "sequences missing in y": (
        {"X": [X[:2], X[2:]], "y": [["a", "b"]]},
        ValueError,
        "y has 1 sequences, but X has 2",
    ),
    "nested y": ({"y": [["a", "b"], ["a", "b"]]}, ValueError, "y is a list of sequences, but X"),
    "y no list": ({"X": [X], "y": 3}, TypeError, "y must be a list with one list of labels"),
    "continuous y": ({"y": [0.5, 1.5, 2.5, 3.5]}, ValueError, "Unknown label type: continuous"),
    "NaN in y": ({"y": [0.0, np.nan, 1.0, 1.0]}, ValueError, "Input y contains NaN"),
    "only None in y": ({"y": [None] * 4}, ValueError, "y has no label at all"),
    "one label and None": ({"y": ["a", None, "a", None]}, ValueError, "y has one class only, 'a'"),
    "an empty set in y": ({"y": ["a", set(), "a", "b"]}, ValueError, "an empty set at token 1"),
    "a set of others": ({"y": ["a", {1, 2}, "a", "b"]}, TypeError, "y mixes text and numbers"),
    "None and class_weight": (
        {"y": ["a", None, "a", "b"], "class_weight": "balanced"},
        ValueError,
        "class_weight needs a label for every token",
    ),
    "NaN among texts": ({"y": ["a", np.nan, "a", "b"]}, ValueError, "contains NaN"),
    "NaN among texts in a list": (
        {"X": [X[:2], X[2:]], "y": [["a", np.nan], ["a", "b"]]},
        (ValueError, TypeError),
        "y mixes text and numbers|contains NaN",
    ),
    "a number among texts": ({"y": ["a", 1, "a", "b"]}, TypeError, "y mixes labels of types"),
    "mixed y": (
        {"y": np.array(["a", 1, "a", 1], dtype=object)},
        TypeError,
        "y mixes labels of types int, str",
    ),
    "mixed y in lists": (
        {"X": [X[:2], X[2:]], "y": [["a", "b"], [1, 2]]},
        TypeError,
        "y mixes text and numbers",
    ),
    "weights per token": (
        {"lengths": [2, 2], "sample_weight": np.ones(4)},
        ValueError,
        r"sample_weight must have shape \(2,\), one number a sequence \(not a token\)",
    ),
    "negative weight": ({"sample_weight": [1, 1, 1, -2]}, ValueError, "not negative.*Got -2"),
    "NaN weight": ({"sample_weight": [1, 1, 1, np.nan]}, ValueError, "must be finite"),
    "zero weights": ({"sample_weight": np.zeros(4)}, ValueError, "zero for every sequence"),
    "class weight of another kind": (
        {"class_weight": "even"},
        ValueError,
        "class_weight must be a dict, 'balanced' or None, got 'even'",
    ),
    "negative class weight": (
        {"class_weight": {"a": -1.0}},
        ValueError,
        r"class_weight\['a'\] must be a finite number, 0 or above, got -1.0",
    ),
    "class weights of zero": (
        {"class_weight": {"a": 0.0, "b": 0.0}},
        ValueError,
        "class_weight leaves every sequence with weight 0",
    ),
    "one label after weighting": ({"sample_weight": [1, 0, 1, 0]}, ValueError, "one class only"),
}

PARAMETERS = {
    "lam zero": ({"lam": 0.0}, "lam must be a finite number above 0, got 0.0"),
    "lam negative": ({"lam": -1}, "lam must be a finite number above 0, got -1"),
    "lam NaN": ({"lam": np.nan}, "lam must be a finite number above 0, got nan"),
    "lam infinite": ({"lam": np.inf}, "lam must be a finite number above 0, got inf"),
    "lam text": ({"lam": "1"}, "lam must be a finite number above 0, got '1'"),
    "l2 negative": ({"l2": -1.0}, "l2 must be a finite number, 0 or above, got -1.0"),
    "tol negative": ({"tol": -1e-3}, "tol must be a finite number, 0 or above, got -0.001"),
    "tol NaN": ({"tol": np.nan}, "tol must be a finite number"),
    "n_jobs a word": ({"n_jobs": "2"}, "n_jobs must be an integer other than 0, or None, got '2'"),
    "n_jobs 0": ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
    "max_iter": ({"max_iter": 1.5}, "max_iter must be an integer, 0 or above, got 1.5"),
    "pairs": ({"pairs": "some"}, "pairs must be 'all' or 'observed', got 'some'"),
    "solver": ({"solver": "newton"}, "solver must be one of 'prox-qn'.*got 'newton'"),
}

PREDICT = {
    "other features": ({"X": X[:, :1]}, ValueError, "X has 1 features, but ChainCRF is expecting"),
    "NaN": ({"X": changed(np.nan)}, ValueError, "Input X contains NaN"),
    "lengths": ({"X": X, "lengths": [1, 1]}, ValueError, "lengths sum to 2, but X has 4 rows"),
    "empty": ({"X": X[:0]}, ValueError, "minimum of 1 is required"),
}

SCORE = {
    "unseen labels": (["a", "b", "q", "z"], ValueError, "not there at fit: 'q', 'z'. The model"),
    "other type": ([0, 1, 0, 1], TypeError, "labels of type int64, but the model was fitted with"),
    "too short": (["a"], ValueError, "y has 1 labels, but X has 4 rows"),
}


@pytest.mark.parametrize("case", FIT)
def test_fit_refuses(case):
    arguments, error, message = FIT[case]
    given = {"X": X, "y": Y} | arguments
    model = ChainCRF(class_weight=given.pop("class_weight", None))
    with pytest.raises(error, match=message):
        model.fit(**given)


@pytest.mark.parametrize("case", PARAMETERS)
def test_fit_refuses_parameters(case):
    parameters, message = PARAMETERS[case]
    with pytest.raises(ValueError, match=message):
        ChainCRF(**parameters).fit(X, Y)


@pytest.mark.parametrize("method", ["predict", "predict_marginals"])
@pytest.mark.parametrize("case", PREDICT)
def test_predict_refuses(case, method):
    arguments, error, message = PREDICT[case]
    with pytest.raises(error, match=message):
        getattr(ChainCRF(lam=0.1).fit(X, Y), method)(**arguments)


@pytest.mark.parametrize("method", ["score", "log_probability"])
@pytest.mark.parametrize("case", SCORE)
def test_score_refuses(case, method):
    y, error, message = SCORE[case]
    with pytest.raises(error, match=message):
        getattr(ChainCRF(lam=0.1).fit(X, Y), method)(X, y)


def test_blocks_hold_whole_sequences():
    lengths = np.array([3, 2, 9, 1, 1])
    tokens = Tokens(sp.csr_array(np.eye(16)), lengths, listed=False)
    blocks = list(tokens.blocks(5))
    assert [block.tolist() for _, block in blocks] == [[3, 2], [9], [1, 1]]
    assert [(rows.start, rows.stop) for rows, _ in blocks] == [(0, 5), (5, 14), (14, 16)]
