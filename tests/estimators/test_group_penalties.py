"""λ of groups of weights: transitions, intercepts, depths; against independent solvers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize as scipy_minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from proxqn import ChainCRF, ChainOracle, HierarchicalClassifier, Hierarchy, load, save
from proxqn.io import model_file
from proxqn.io.exports import to_crfsuite
from proxqn.losses.lattice.oracle import LatticeOracle
from proxqn.losses.tree.oracle import TreeOracle
from proxqn.problem import SparseVector

RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(160, 5)), 3)
LENGTHS = [4] * 40
Y = np.argmax(X[:, :3] + 0.7 * RNG.normal(size=(160, 3)) + [0.8, 0.0, -0.4], axis=1)
LAM = 1.5
EXACT = {"stop": "gap", "tol": 1e-10, "max_iter": 5000}
TREE = Hierarchy.from_nested({"top": ["a", "b"], "other": ["c", "d"]})
LEAVES = np.array(list("abcd"))[RNG.integers(4, size=160) * (X[:, 0] > -0.5)]


def optimum(oracle, lam):
    """Minimise with L-BFGS-B over w = u - v, u and v not negative; l1 is linear there."""
    n = oracle.n_coordinates
    everything = np.arange(n)

    def value_and_gradient(split):
        point = oracle.at(SparseVector.of_dense(split[:n] - split[n:]))
        g = point.gradient(everything)
        value = point.value + float(lam @ (split[:n] + split[n:]))
        return value, np.concatenate([g + lam, lam - g])

    return scipy_minimize(
        value_and_gradient,
        np.zeros(2 * n),
        jac=True,
        bounds=[(0.0, None)] * (2 * n),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50},
    ).fun


CHAINS = {
    "free transitions": {"lam_transitions": 0.0},
    "dear transitions": {"lam_transitions": 4.0},
    "intercept": {"fit_intercept": True},
    "free intercept": {"fit_intercept": True, "lam_intercept": 0},
    "both free": {"fit_intercept": True, "lam_intercept": 0.0, "lam_transitions": 0.0},
    "with ends": {"fit_intercept": True, "lam_intercept": 0.2, "end_weights": True},
}


@pytest.mark.parametrize("more", CHAINS.values(), ids=CHAINS)
def test_chains_have_the_optimum_of_an_independent_solver(more):
    model = ChainCRF(LAM, **more, **EXACT).fit(X, Y, LENGTHS)
    first = np.cumsum(LENGTHS) - LENGTHS
    columns = [X]
    if more.get("end_weights"):
        ends = np.zeros((len(X), 2))
        ends[first, 0] = ends[first + 3, 1] = 1.0
        columns.append(ends)
    if more.get("fit_intercept"):
        columns.append(np.ones((len(X), 1)))
    design = sp.csr_array(np.hstack(columns))
    oracle = ChainOracle(design, Y.astype(np.int32), np.array(LENGTHS), n_labels=3)
    lam = np.full(oracle.n_coordinates, LAM)
    lam[-9:] = more.get("lam_transitions", LAM)
    if more.get("fit_intercept"):
        lam[-12:-9] = more.get("lam_intercept", LAM)
    best = optimum(oracle, lam)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.result_.kkt <= 1e-6 * LAM


def test_edge_features_keep_lam_where_transitions_are_free():
    edges = np.roll(X[:, :2], 1, axis=0)
    model = ChainCRF(LAM, lam_transitions=0.0, **EXACT).fit(X, Y, LENGTHS, edges=edges)
    oracle = LatticeOracle(
        sp.csr_array(X),
        Y.astype(np.int32),
        np.array(LENGTHS),
        n_labels=3,
        edges=sp.csr_array(edges),
    )
    lam = np.full(oracle.n_coordinates, LAM)
    lam[15:24] = 0.0
    assert model.edge_coef_.nnz
    assert model.objective_ == pytest.approx(optimum(oracle, lam), rel=1e-6)


def test_unpenalised_weights_have_no_gap_and_the_message_says_why():
    model = ChainCRF(LAM, lam_transitions=0.0, stop="gap").fit(X, Y, LENGTHS)
    assert model.status_.success
    assert not np.isfinite(model.gap_)
    assert "some weights have no penalty" in model.status_.value
    assert np.count_nonzero(model.transitions_) == 9


def test_none_and_the_same_number_are_the_same_model():
    plain = ChainCRF(LAM, **EXACT).fit(X, Y, LENGTHS)
    same = ChainCRF(LAM, lam_transitions=LAM, **EXACT).fit(X, Y, LENGTHS)
    assert same.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert np.isfinite(same.gap_)


def test_the_intercept_takes_part_in_predictions(tmp_path):
    model = ChainCRF(LAM, fit_intercept=True, lam_intercept=0.0, **EXACT).fit(X, Y, LENGTHS)
    by_hand = ChainCRF(LAM, **EXACT).fit(X, Y, LENGTHS)
    by_hand.coef_ = sp.csr_array(sp.hstack([model.coef_, model.intercept_[:, None]]))
    by_hand.transitions_, by_hand.n_features_in_ = model.transitions_, 6
    design = np.hstack([X, np.ones((len(X), 1))])
    expected = by_hand.predict_marginals(design, LENGTHS)
    assert np.ptp(model.intercept_) > 0.1
    np.testing.assert_allclose(model.predict_marginals(X, LENGTHS), expected, rtol=1e-10)
    assert model.predict(X, LENGTHS).tolist() == by_hand.predict(design, LENGTHS).tolist()
    loss = -model.log_probability(X, Y, LENGTHS).sum()
    norm = LAM * (abs(model.coef_).sum() + np.abs(model.transitions_).sum())
    assert model.objective_ == pytest.approx(loss + norm, rel=1e-10)
    save(model, tmp_path / "m")
    for again in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), clone(model)):
        assert again.lam_intercept == 0.0
        assert again.fit_intercept
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_marginals(X, LENGTHS),
                                  model.predict_marginals(X, LENGTHS))  # fmt: skip
    assert again.result_.nnz == model.result_.nnz
    assert model_file.pack(model_file.SavedModel(model)).version == 3
    with pytest.raises(ValueError, match="CRFsuite has no intercept"):
        list(to_crfsuite(model))


def test_a_free_intercept_is_that_of_single_tokens():
    crf = ChainCRF(LAM, fit_intercept=True, lam_intercept=0.0, **EXACT).fit(X, Y)
    tree = HierarchicalClassifier(lam=LAM, lam_intercept=0.0, **EXACT).fit(X, Y)
    assert not crf.start_weights_.any()
    assert crf.objective_ == pytest.approx(tree.objective_, rel=1e-7)


@pytest.mark.filterwarnings("ignore:.*penalty.*")  # its name has changed more than once
def test_a_flat_tree_with_a_free_intercept_is_scikit_learns_regression():
    model = HierarchicalClassifier(lam=LAM, lam_intercept=0.0, **EXACT).fit(X, Y)
    theirs = LogisticRegression(
        penalty="l1", C=1.0 / LAM, solver="saga", tol=1e-10, max_iter=50_000, random_state=0
    ).fit(X, Y)
    log_p = theirs.predict_log_proba(X)[np.arange(len(Y)), Y]
    assert model.objective_ == pytest.approx(
        -log_p.sum() + LAM * np.abs(theirs.coef_).sum(), rel=1e-6
    )
    assert model.objective_ <= -log_p.sum() + LAM * np.abs(theirs.coef_).sum() + 1e-6
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


TREES = {
    "by depth": {"lam": [3.0, 0.7]},
    "a free depth": {"lam": [0.0, 1.0], "fit_intercept": False},
    "free intercept": {"lam": LAM, "lam_intercept": 0.0},
    "both": {"lam": np.array([2.0, 1.0]), "lam_intercept": 0.5},
}


@pytest.mark.parametrize("more", TREES.values(), ids=TREES)
def test_trees_have_the_optimum_of_an_independent_solver(more, tmp_path):
    model = HierarchicalClassifier(TREE, **more, **EXACT).fit(X, LEAVES)
    scale = np.sqrt(np.square(X).mean()) * np.ones((len(X), 1))
    design = np.hstack([X, scale]) if model.fit_intercept else X
    leaves = TREE.leaf_index(LEAVES).astype(np.int32)
    oracle = TreeOracle(sp.csr_array(design), leaves, TREE)
    by_depth = np.broadcast_to(more["lam"], 2)
    of_node = by_depth[np.maximum(TREE.depth - 1, 0)]
    lam = np.tile(of_node, design.shape[1])
    if "lam_intercept" in more:
        lam[-len(TREE) :] = more["lam_intercept"]
    lam[:: len(TREE)] = 1.0  # the root has no weight
    best = optimum(oracle, lam)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.result_.kkt <= 1e-6
    assert not model.coef_[[0]].nnz
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.lam, more["lam"])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ChainCRF(lam_transitions=-1), "lam_transitions must be a finite number, 0 or"),
        (lambda: ChainCRF(lam_intercept="no"), "lam_intercept must be a finite number, 0 or"),
        (lambda: HierarchicalClassifier(lam=[1.0, -1.0]), "lam must be a number, or one number a"),
        (lambda: HierarchicalClassifier(lam=[0.0]), "lam must be a number, or one number a depth"),
        (lambda: HierarchicalClassifier(lam=[1.0, 2.0]), "lam has 2 numbers, but the tree has 1 l"),
        (lambda: HierarchicalClassifier(lam_intercept=np.nan), "lam_intercept must be a finite"),
    ],
)  # fmt: skip
def test_bad_numbers_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, Y)
