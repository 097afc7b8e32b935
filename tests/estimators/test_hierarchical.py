"""HierarchicalClassifier: scikit-learn's checks, rivals' optima, and every method's contract."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxqn.estimators.hierarchical import HierarchicalClassifier
from proxqn.estimators.inference import tree as tree_inference
from proxqn.features.distinct import distinct_samples
from proxqn.features.hierarchy import Hierarchy
from proxqn.metrics.hierarchical import hierarchical_f1
from proxqn.solvers.prox_qn import ProxQN


@parametrize_with_checks([HierarchicalClassifier(), HierarchicalClassifier(l2=0.1, n_jobs=2)])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


TREE = Hierarchy.from_nested(
    {"animal": {"pet": ["dog", "cat"], "wild": ["wolf", "bear"]}, "plant": ["oak", "fig"]}
)


def documents(n=240, seed=0):
    """Counts of 30 words; words 2k and 2k+1 speak for node k + 1."""
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, TREE.n_leaves, n)
    counts = rng.poisson(0.15, (n, 30)).astype(float)
    for i, leaf in enumerate(leaves):
        node = int(TREE.leaf_nodes[leaf])
        for k in [node, *TREE.ancestors(node)]:
            if k > 0:
                counts[i, 2 * (k - 1) + rng.integers(0, 2)] += 1
    return sp.csr_array(counts), np.array(TREE.leaf_names)[leaves]


@pytest.fixture(scope="module")
def fitted():
    X, y = documents()
    return HierarchicalClassifier(TREE, lam=0.5, stop="gap").fit(X, y), X, y


def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def saga(lam, l1_ratio=1.0, C=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return LogisticRegression(
            C=1 / lam if C is None else C,
            l1_ratio=l1_ratio,
            solver="saga",
            fit_intercept=False,
            tol=1e-12,
            max_iter=50_000,
            random_state=0,
        )


@pytest.mark.parametrize(("lam", "l2"), [(1.0, 0.0), (5.0, 0.0), (2.0, 1.0)])
def test_flat_tree_has_the_optimum_of_saga(lam, l2):
    X, y = wine()
    ours = HierarchicalClassifier(lam=lam, l2=l2, fit_intercept=False, tol=1e-7, stop="gap").fit(
        X, y
    )
    theirs = saga(lam, l1_ratio=lam / (lam + l2), C=1 / (lam + l2)).fit(X, y)
    coef = theirs.coef_
    loss = -theirs.predict_log_proba(X)[np.arange(len(y)), y].sum()
    objective = loss + lam * np.abs(coef).sum() + l2 / 2 * (coef**2).sum()
    assert ours.objective_ == pytest.approx(objective, rel=1e-6)
    assert ours.objective_ <= objective * (1 + 1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)
    assert not ours.coef_[[0]].nnz  # the root


def test_a_constant_feature_is_the_intercept():
    X, y = wine()
    X *= 0.1
    size = np.sqrt((X**2).mean())
    with_constant = np.hstack([X, np.full((len(X), 1), size)])
    one = HierarchicalClassifier(lam=0.2, tol=1e-7).fit(X, y)
    other = HierarchicalClassifier(lam=0.2, tol=1e-7, fit_intercept=False).fit(with_constant, y)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert one.coef_.shape == (4, 13)
    np.testing.assert_allclose(one.intercept_, size * other.coef_.toarray()[:, -1], atol=1e-3)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(with_constant), atol=1e-3)
    assert one.intercept_.any()
    assert not other.intercept_.any()


def test_finds_the_words_of_each_node(fitted):
    model, X, y = fitted
    assert model.score(X, y) > 0.9
    assert model.gap_ <= 1e-4 * model.objective_
    assert model.coef_.shape == (len(TREE), 30)
    assert model.n_parameters_ == len(TREE) * 31
    for k, name in enumerate(TREE.names[1:], start=1):
        row = model.coef_[[k]].toarray().ravel()
        if row.max() > 0.3:
            assert row.argmax() // 2 == k - 1, name


def test_probabilities_agree_with_each_other(fitted):
    model, X, _ = fitted
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    nodes = model.predict_node_proba(X)
    np.testing.assert_allclose(nodes[:, 0], 1.0, rtol=1e-12)
    at = {name: k for k, name in enumerate(model.hierarchy_.names)}
    for j, name in enumerate(model.classes_):
        np.testing.assert_allclose(nodes[:, at[str(name)]], p[:, j], rtol=1e-12)
    np.testing.assert_allclose(
        nodes[:, at["animal"]], nodes[:, at["pet"]] + nodes[:, at["wild"]], rtol=1e-12
    )
    names, best = model.top_k(X, 3)
    np.testing.assert_array_equal(names[:, 0], model.predict(X))
    np.testing.assert_allclose(best, -np.sort(-p, axis=1)[:, :3])
    with pytest.raises(ValueError, match="k must be from 1 to 6"):
        model.top_k(X, 7)


def test_blocks_do_not_change_predictions(fitted, monkeypatch):
    model, X, _ = fitted
    p, nodes, (names, _) = model.predict_proba(X), model.predict_node_proba(X), model.top_k(X, 2)
    monkeypatch.setattr(tree_inference, "_BLOCK_CELLS", 7 * len(TREE))
    np.testing.assert_array_equal(model.predict_proba(X), p)
    np.testing.assert_array_equal(model.predict_node_proba(X), nodes)
    np.testing.assert_array_equal(model.top_k(X, 2)[0], names)


def test_classes_are_sorted_and_hold_leaves_never_seen():
    X, y = documents()
    seen = y != "oak"
    model = HierarchicalClassifier(TREE, lam=0.5).fit(X[seen], y[seen])
    assert model.classes_.tolist() == sorted(TREE.leaf_names)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_labels_as_paths_give_the_same_model(fitted):
    model, X, y = fitted
    rows = [list(TREE.path(name))[1:] for name in y]
    with_tree = HierarchicalClassifier(TREE, lam=0.5, stop="gap").fit(X, rows)
    assert with_tree.objective_ == model.objective_
    padded = np.array([row + [""] * (3 - len(row)) for row in rows])
    from_paths = HierarchicalClassifier(lam=0.5).fit(X, padded)
    assert set(from_paths.hierarchy_.names) == set(TREE.names)
    assert from_paths.objective_ == pytest.approx(model.objective_, rel=1e-3)
    assert model.score(X, rows) == model.score(X, y)
    assert from_paths.score(X, padded) == pytest.approx(model.score(X, y), abs=0.03)


def test_hierarchical_score_is_that_of_the_metrics(fitted):
    model, X, y = fitted
    expected = hierarchical_f1(y.tolist(), model.predict(X).tolist(), TREE)
    assert model.hierarchical_score(X, y).f1 == expected
    assert model.hierarchical_score(X, y, average="macro").f1 > 0.9


def test_order_repetition_and_threads_do_not_change_a_bit():
    X, y = documents(150)
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 3, X.shape[0])
    rows = rng.permutation(np.repeat(np.arange(X.shape[0]), counts))
    weighted = HierarchicalClassifier(TREE).fit(X, y, sample_weight=counts)
    repeated = HierarchicalClassifier(TREE, n_jobs=3).fit(X[rows], y[rows])
    assert weighted.objective_ == repeated.objective_
    np.testing.assert_array_equal(weighted.coef_.toarray(), repeated.coef_.toarray())


def test_distinct_samples_merge_only_equal_ones():
    X = sp.csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [1, 0], [2, 0]]))
    labels = np.array([0, 1, 0, 0, 0], dtype=np.int32)
    rows, merged, weights = distinct_samples(X, labels, np.array([1.0, 2, 0, 0.5, 3]))
    found = {(*row, int(y)): w for row, y, w in zip(rows.toarray(), merged, weights, strict=True)}
    assert found == {(1, 0, 0): 1.5, (1, 0, 1): 2.0, (2, 0, 0): 3.0}


def test_class_weight_is_a_weight_of_the_samples(fitted):
    _, X, y = fitted
    factors = np.where(y == "cat", 3.0, 1.0)
    by_class = HierarchicalClassifier(TREE, class_weight={"cat": 3.0}).fit(X, y)
    by_sample = HierarchicalClassifier(TREE).fit(X, y, sample_weight=factors)
    assert by_class.objective_ == by_sample.objective_
    balanced = HierarchicalClassifier(TREE, class_weight="balanced").fit(X, y)
    assert balanced.objective_ != by_sample.objective_


def test_warm_start_continues_and_follows_names(fitted):
    model, X, y = fitted
    again = clone(model).set_params(warm_start=True).fit(X, y)
    cold = again.n_iter_
    again.fit(X, y)
    assert again.n_iter_ < cold / 2
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-4)
    grown = Hierarchy.from_nested(
        {
            "plant": ["fig", "oak", "elm"],
            "animal": {"wild": ["bear", "wolf"], "pet": ["dog", "cat"]},
        }
    )
    again.set_params(hierarchy=grown).fit(X, y)
    assert again.n_iter_ <= cold
    assert "elm" in again.classes_


def test_warns_with_the_gap_it_reached():
    X, y = documents()
    model = HierarchicalClassifier(TREE, lam=0.1, max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"3 iterations the duality gap is .* \(tol=0.0001"):
        model.fit(X, y)
    assert np.isfinite(model.gap_)


def test_solver_settings_and_seed(fitted):
    model, X, y = fitted
    paper = HierarchicalClassifier(TREE, lam=0.5, solver=ProxQN.paper()).fit(X, y)
    seeded = HierarchicalClassifier(TREE, lam=0.5, random_state=3).fit(X, y)
    assert paper.objective_ == pytest.approx(model.objective_, rel=2e-4)
    assert seeded.objective_ == pytest.approx(model.objective_, rel=2e-4)


def test_works_in_a_grid_search_and_survives_pickle(fitted):
    model, X, y = fitted
    search = GridSearchCV(HierarchicalClassifier(TREE), {"lam": [0.3, 3.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.7
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"lam": -1.0}, None, "lam must be a finite number"),
        ({"tol": -1.0}, None, "tol must be"),
        ({"n_jobs": 1.5}, None, "n_jobs must be an integer other than 0"),
        ({"solver": "magic"}, None, "solver must be one of"),
        ({"hierarchy": {"a": ["b"]}}, None, r"hierarchy must be a proxqn\.Hierarchy"),
        ({}, "pet", "not a leaf"),
        ({}, "cow", "not in the hierarchy"),
        ({}, "cat\0", "ends in a zero character"),
        ({"hierarchy": None}, ["animal", "cat\0"], "ends in a zero character"),
        ({}, ["plant", "cat"], "does not agree with the hierarchy"),
    ],
)
def test_errors_say_what_to_do(params, y, message):
    X, good = documents(12)
    labels = good if y is None else [y] * 12
    with pytest.raises((ValueError, TypeError), match=message):
        HierarchicalClassifier(**({"hierarchy": TREE} | params)).fit(X, labels)


def test_must_be_fitted():
    X, y = documents(5)
    with pytest.raises(NotFittedError):
        HierarchicalClassifier(TREE).predict(X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        HierarchicalClassifier(TREE).fit(X, y, sample_weight=np.zeros(5))


def test_columns_without_a_weight_cost_nothing():
    """A hashed model has billions of columns; what it does with few of them takes little memory."""
    X = sp.csr_array(np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]] * 5))
    y = ["cat", "dog", "oak", "fig"] * 5
    model = HierarchicalClassifier(lam=0.1).fit(X, y)
    far = np.array([0, 7, 2**40, 2**40 + 1])  # where the four columns are now

    def spread(matrix):
        parts = (matrix.data, far[matrix.indices], matrix.indptr)
        return sp.csr_array(parts, shape=(matrix.shape[0], 2**41))

    wide = copy.copy(model)
    wide.coef_, wide.n_features_in_ = spread(model.coef_), 2**41
    new = sp.csr_array(np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]]))
    assert np.array_equal(wide.predict_proba(spread(new)), model.predict_proba(new))
