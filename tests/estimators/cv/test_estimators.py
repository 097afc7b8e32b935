"""λ chosen by cross-validation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxqn import (
    ChainCRF,
    ChainCRFCV,
    HierarchicalClassifier,
    HierarchicalClassifierCV,
    load,
    save,
)
from proxqn.metrics import entity_f1_scorer

FEW = {"lams": 3, "cv": 3}  # the defaults pass as well, in three minutes
WORDS = ["the", "a", "dog", "cat", "man", "runs", "sees", "eats", "big", "old"]
LABELS = dict(zip(WORDS, ["O", "O", *["B-N"] * 3, *["B-V"] * 3, "O", "O"], strict=True))


@parametrize_with_checks([ChainCRFCV(**FEW), HierarchicalClassifierCV(**FEW)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def sentences(n: int, seed: int = 0):
    """Return words with labels, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.choice(WORDS, size=rng.integers(2, 7)).tolist()
        X.append([{"word": word, f"noise{rng.integers(40)}": 1.0} for word in words])
        labels = [LABELS[word] for word in words]
        y.append(
            [str(rng.choice(["O", "B-N", "B-V"])) if rng.random() < 0.1 else v for v in labels]
        )
    return X, y


def test_the_lambda_is_that_of_a_grid_of_separate_fits():
    X, y = sentences(120)
    lams = [8.0, 4.0, 2.0, 1.0, 0.5]
    crf = ChainCRF(tol=1e-6, max_iter=5000)
    grid = GridSearchCV(crf, {"lam": lams}, cv=KFold(4), refit=False).fit(X, y)
    cv = ChainCRFCV(crf, lams=lams, cv=KFold(4)).fit(X, y)
    separate = [grid.cv_results_[f"split{k}_test_score"] for k in range(4)]
    np.testing.assert_allclose(cv.cv_scores_, np.transpose(separate), atol=0.004)
    np.testing.assert_allclose(cv.cv_mean_, grid.cv_results_["mean_test_score"], atol=0.002)
    assert cv.lam_ == grid.best_params_["lam"]


def test_trees_are_chosen_as_by_a_grid():
    X, y = load_iris(return_X_y=True)
    lams, folds = [30.0, 10.0, 3.0, 1.0], StratifiedKFold(3)
    tree = HierarchicalClassifier(tol=1e-6)
    grid = GridSearchCV(tree, {"lam": lams}, cv=folds, scoring="neg_log_loss").fit(X, y)
    cv = HierarchicalClassifierCV(tree, lams=lams, cv=folds, scoring="neg_log_loss").fit(X, y)
    np.testing.assert_allclose(cv.cv_mean_, grid.cv_results_["mean_test_score"], rtol=0.01)
    assert cv.lam_ == grid.best_params_["lam"]
    assert cv.predict_proba(X).shape == (150, 3)


def test_the_model_is_a_fit_at_that_lambda(tmp_path):
    X, y = sentences(60)
    cv = ChainCRFCV(lams=[2.0, 1.0], cv=3).fit(X, y)
    direct = ChainCRF(lam=cv.lam_).fit(X, y)
    assert cv.best_estimator_.objective_ == pytest.approx(direct.objective_, rel=2e-4)
    assert cv.best_estimator_.lam == cv.lam_
    save(cv.best_estimator_, tmp_path / "model")
    again = load(tmp_path / "model")
    for one, other in zip(again.predict(X), cv.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_result_does_not_depend_on_the_jobs_and_survives_a_pickle():
    X, y = sentences(60)
    one, two = (ChainCRFCV(cv=3, eps=0.1, lam_min=0.5, n_jobs=n).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.best_estimator_.coef_.data, two.best_estimator_.coef_.data)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.path_.weights.data, one.path_.weights.data)
    assert again.score(X, y) == one.score(X, y)


@pytest.mark.parametrize(
    "scoring",
    ["entity_f1", "token_accuracy", "sequence_accuracy", "log_likelihood", entity_f1_scorer],
)
def test_many_ways_to_score(scoring):
    X, y = sentences(60)
    cv = ChainCRFCV(lams=[2.0, 0.5], cv=3, scoring=scoring).fit(X, y)
    assert np.isfinite(cv.cv_scores_).all()
    assert len(np.unique(cv.cv_scores_)) > 1
    if scoring == "token_accuracy":
        plain = ChainCRFCV(lams=[2.0, 0.5], cv=3).fit(X, y)
        np.testing.assert_array_equal(cv.cv_scores_, plain.cv_scores_)


def test_groups_are_not_cut():
    X, y = sentences(40)
    groups = np.repeat([0, 1, 2, 3], 10)
    whole = ChainCRFCV(lams=[2.0, 0.5], cv=4).fit(X, y, groups=groups)
    folds = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(4)]
    given = ChainCRFCV(lams=[2.0, 0.5], cv=folds).fit(X, y)
    assert sorted(map(tuple, whole.cv_scores_.T)) == sorted(map(tuple, given.cv_scores_.T))


def test_the_rule_of_one_standard_error_takes_a_sparser_model():
    X, y = sentences(80)
    best, sparser = (
        ChainCRFCV(lams=[16.0, 8.0, 4.0, 2.0, 1.0, 0.5], rule=rule).fit(X, y)
        for rule in ("best", "1se")
    )
    assert sparser.lam_ >= best.lam_
    k = best.lams_.tolist().index(best.lam_)
    enough = best.cv_mean_[k] - best.cv_error_[k]
    assert sparser.cv_mean_[sparser.lams_.tolist().index(sparser.lam_)] >= enough


def test_matrices_with_lengths_and_weights():
    rng = np.random.default_rng(0)
    X = (rng.random((200, 12)) < 0.3).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 0, "a", "b")
    lengths, weights = np.full(50, 4), np.r_[np.zeros(5), np.ones(45)]
    cv = ChainCRFCV(lams=[4.0, 1.0], cv=3).fit(X, y, lengths, weights)
    assert cv.cv_scores_.shape == (2, 3)
    assert cv.score(X, y, lengths) > 0.9


def test_levels_of_a_tree_keep_their_proportions():
    X, y = load_iris(return_X_y=True)
    paths = [["wild", f"i{k}"] if k else ["tame", "i0"] for k in y]
    tree = HierarchicalClassifier(lam=[2.0, 1.0])
    cv = HierarchicalClassifierCV(tree, lams=[8.0, 2.0], cv=3).fit(X, paths)
    assert cv.best_estimator_.lam.tolist() == [cv.lam_, cv.lam_ / 2.0]


def test_what_it_refuses():
    X, y = sentences(12)
    with pytest.raises(TypeError, match="estimator must be a ChainCRF or None"):
        ChainCRFCV(HierarchicalClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="rule must be one of"):
        ChainCRFCV(lams=[1.0], cv=2, rule="mean").fit(X, y)
    with pytest.raises(ValueError, match="labels are missing"):
        ChainCRFCV(lams=[1.0], cv=2).fit(X, [[None, *labels[1:]] for labels in y])


def test_its_picture():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = sentences(30)
    axes = ChainCRFCV(lams=[2.0, 0.5], cv=2).fit(X, y).plot()
    assert axes.get_xscale() == "log"
