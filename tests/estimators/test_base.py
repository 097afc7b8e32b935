"""A fit is whole, or nothing of it is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from proxqn import ChainCRF, HierarchicalClassifier


def break_off(row):
    raise MemoryError


@pytest.mark.parametrize(
    ("model", "X", "y", "other"),
    [
        (ChainCRF(), [["a", "b"], ["b"]], [["P", "Q"], ["Q"]], ([["c", "d"]], [["R", "S"]])),
        (
            HierarchicalClassifier(),
            np.eye(4),
            ["a/b", "a/c", "d", "d"],
            (np.eye(3), ["e", "f/g", "f/h"]),
        ),
    ],
    ids=["chain", "tree"],
)
def test_a_fit_that_fails_leaves_its_estimator_as_it_was(model, X, y, other):
    with pytest.raises(MemoryError):
        model.fit(X, y, callback=break_off)
    assert not [name for name in vars(model) if name.endswith("_")]
    model.fit(X, y)
    before, labels = dict(vars(model)), model.predict(X)
    with pytest.raises(MemoryError):
        model.fit(*other, callback=break_off)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert list(map(list, model.predict(X))) == list(map(list, labels))


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (ChainCRF(lam=0.01, max_iter=0), [["a", "b"], ["b"]], [["P", "Q"], ["Q"]]),
        (HierarchicalClassifier(lam=0.01, max_iter=0), np.eye(4), ["a/b", "a/c", "d", "d"]),
    ],
    ids=["chain", "tree"],
)
def test_a_warning_names_the_line_that_fitted(model, X, y):
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as seen:
        model.fit(X, y)
    assert {warning.filename for warning in seen} == {__file__}
