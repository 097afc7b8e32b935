"""ChainCRF with edge features: fitted and applied as enumeration says."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.lattice_problems import enumerate_lattice, random_lattice
from tests.problems import dense

from proxqn import ChainCRF, load, save
from proxqn.estimators.inference.constraints import Constraints
from proxqn.problem import SparseVector

PROBLEM = random_lattice(
    5, n_labels=3, n_sequences=60, max_length=5, n_edge_features=4, edge_binary=False
)
NAMES = np.array(["a", "b", "c"])


def data():
    chain = PROBLEM.chain
    return chain.X, NAMES[chain.labels], {"lengths": chain.lengths, "edges": PROBLEM.edges}


def fitted(**options):
    X, y, more = data()
    return ChainCRF(lam=0.5, stop="gap", tol=1e-8, end_weights=False, **options).fit(X, y, **more)


@pytest.fixture(scope="module")
def crf():
    return fitted()


@pytest.fixture(scope="module")
def truth(crf):
    oracle = PROBLEM.oracle()
    w = oracle.pack(crf.coef_, crf.transitions_, crf.edge_coef_)
    return enumerate_lattice(PROBLEM, oracle, dense(w, oracle.n_coordinates))


def test_objective_is_that_of_enumeration(crf, truth):
    size = sum(np.abs(part.data if sp.issparse(part) else part).sum() for part in weights(crf))
    np.testing.assert_allclose(crf.objective_, truth.value + 0.5 * size, rtol=1e-10)
    assert crf.edge_coef_.shape == (9, 4)
    assert crf.edge_coef_.nnz > 0
    assert 0 <= crf.gap_ <= 1e-8 * crf.objective_
    assert crf.result_.nnz == sum(np.count_nonzero(_dense(part)) for part in weights(crf))


def weights(crf):
    return crf.coef_, crf.transitions_, crf.edge_coef_


def _dense(part):
    return part.toarray() if sp.issparse(part) else part


def test_predictions_equal_enumeration(crf, truth):
    X, _, more = data()
    np.testing.assert_allclose(
        crf.predict_marginals(X, **more), truth.marginals, rtol=1e-10, atol=1e-12
    )
    best = np.concatenate([NAMES[list(paths[0])] for paths in truth.best])
    np.testing.assert_array_equal(crf.predict(X, **more), best)
    n_best = crf.predict_n_best(X, **more, n=4)
    for found, paths, log_p in zip(n_best, truth.best, truth.log_p, strict=True):
        assert len(found) == min(4, len(paths))
        np.testing.assert_allclose([p for _, p in found], np.exp(log_p[: len(found)]), rtol=1e-10)
        for (labels, _), path in zip(found, paths, strict=False):
            assert labels.tolist() == NAMES[list(path)].tolist()


def test_log_probability_and_score(crf, truth):
    X, y, more = data()
    np.testing.assert_allclose(crf.log_probability(X, y, **more), -truth.losses, rtol=1e-10)
    accuracy = np.mean(crf.predict(X, **more) == y)
    assert crf.score(X, y, **more) == pytest.approx(accuracy)


def test_constraints_and_forced_labels(crf, truth):
    X, _, more = data()
    allowed = ~np.eye(3, dtype=bool)  # no label twice in a row
    constraints = Constraints.from_transitions(allowed)
    forced = np.full(X.shape[0], None, dtype=object)
    ends = np.cumsum(PROBLEM.chain.lengths)
    forced[ends - 1] = "b"
    found = crf.predict(X, **more, constraints=constraints, forced=forced)
    start = 0
    for length, paths in zip(PROBLEM.chain.lengths, truth.best, strict=True):
        good = next(y for y in paths if y[-1] == 1 and all(a != b for a, b in pairwise(y)))
        assert found[start : start + length].tolist() == NAMES[list(good)].tolist()
        start += length


def test_lists_of_sequences_are_the_same_data(crf):
    X, y, more = data()
    cuts = np.cumsum(more["lengths"])[:-1]

    def cut(matrix):
        rows = np.split(np.arange(matrix.shape[0]), cuts)
        return [matrix[part] for part in rows]

    again = clone(crf).fit(cut(X), np.split(y, cuts), edges=cut(more["edges"]))
    np.testing.assert_array_equal(again.edge_coef_.toarray(), crf.edge_coef_.toarray())
    listed = again.predict(cut(X), edges=cut(more["edges"]))
    np.testing.assert_array_equal(np.concatenate(listed), crf.predict(X, **more))


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": 3}])
def test_threads_change_nothing(crf, options):
    other = fitted(**options)
    for mine, theirs in zip(weights(crf), weights(other), strict=True):
        np.testing.assert_array_equal(_dense(mine), _dense(theirs))


def test_integer_weights_equal_repetition():
    X, y, more = data()
    lengths, edges = more["lengths"], more["edges"]
    times = np.random.default_rng(0).integers(0, 4, len(lengths))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.concatenate([np.flatnonzero(sequence == i) for i in np.repeat(range(60), times)])
    a = ChainCRF(tol=1e-9).fit(X, y, lengths=lengths, edges=edges, sample_weight=times)
    b = ChainCRF(tol=1e-9).fit(
        X[rows], y[rows], lengths=np.repeat(lengths, times), edges=edges[rows]
    )
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-8)


def test_end_weights_and_ridge_go_with_edges():
    X, y, more = data()
    crf = ChainCRF(lam=0.2, l2=0.5, end_weights=True, tol=1e-7).fit(X, y, **more)
    assert crf.start_weights_.any()
    ends = np.cumsum(more["lengths"])
    marks = np.zeros((X.shape[0], 2))
    marks[ends - more["lengths"], 0] = marks[ends - 1, 1] = 1.0
    wide = sp.csr_array(sp.hstack([X, marks]))
    same = ChainCRF(lam=0.2, l2=0.5, end_weights=False, tol=1e-7).fit(wide, y, **more)
    np.testing.assert_allclose(crf.objective_, same.objective_, rtol=1e-6)
    np.testing.assert_allclose(
        crf.predict_marginals(X, **more), same.predict_marginals(wide, **more), atol=1e-3
    )


@pytest.mark.parametrize("pairs", ["all", "observed"])
def test_warm_start_with_more_labels_starts_where_it_was(pairs):
    X, y, more = data()
    crf = ChainCRF(lam=0.5, tol=1e-7, pairs=pairs, warm_start=True).fit(X, y, **more)
    before, objective = crf.edge_coef_.toarray(), crf.objective_
    crf.max_iter = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit(X, y, **more)
        np.testing.assert_array_equal(crf.edge_coef_.toarray(), before)
        np.testing.assert_allclose(crf.objective_, objective, rtol=1e-12)
        y = y.astype("<U2")
        y[0] = "aa"  # sorted between the old ones
        crf.fit(X, y, **more)
    pairs_before = crf.edge_coef_.toarray().reshape(4, 4, -1)
    kept = pairs_before[np.ix_([0, 2, 3], [0, 2, 3])].reshape(9, -1)
    if pairs == "all":
        np.testing.assert_array_equal(kept, before)
    assert not pairs_before[1].any()


def test_templates_make_the_same_edges():
    rng = np.random.default_rng(3)
    words = [[[w] for w in rng.choice(list("xyz"), rng.integers(2, 6))] for _ in range(30)]
    labels = [[str(rng.choice(["A", "B"])) for _ in sentence] for sentence in words]
    crf = ChainCRF(lam=0.1, templates="U0:%x[0,0]\nB\nB1:%x[-1,0]/%x[0,0]").fit(words, labels)
    encoded = crf.encoder_.transform(words)
    assert crf.edge_coef_.shape == (4, encoded.edges.shape[1])
    assert crf.edge_coef_.nnz
    plain = ChainCRF(lam=0.1).fit(
        encoded.X, np.concatenate(labels), lengths=encoded.lengths, edges=encoded.edges
    )
    np.testing.assert_array_equal(plain.edge_coef_.toarray(), crf.edge_coef_.toarray())
    by_name = crf.predict_marginals(words)
    np.testing.assert_array_equal(
        np.concatenate(by_name),
        plain.predict_marginals(encoded.X, lengths=encoded.lengths, edges=encoded.edges),
    )
    with pytest.raises(ValueError, match="edges came with templates"):
        crf.predict(words, edges=encoded.edges)
    unseen = crf.predict([[["q"], ["q"]]])  # no known feature at all
    assert len(unseen[0]) == 2


def test_warm_start_grows_the_edge_vocabulary():
    crf = ChainCRF(lam=0.05, templates="U0:%x[0,0]\nB1:%x[0,0]", warm_start=True)
    crf.fit([[["x"], ["y"], ["x"]]] * 5, [["A", "B", "A"]] * 5)
    names = crf.encoder_.edge_vocabulary.names()
    crf.fit([[["z"], ["w"], ["x"]]] * 5, [["A", "B", "B"]] * 5)
    assert crf.encoder_.edge_vocabulary.names()[: len(names)] == names
    assert crf.edge_coef_.shape == (4, len(crf.encoder_.edge_vocabulary))


def test_named_models_go_to_files_and_back(tmp_path):
    words = [[["x"], ["y"], ["z"], ["x"]]] * 5
    crf = ChainCRF(lam=0.1, templates="U0:%x[0,0]\nB1:%x[0,0]\nB2:%x[-1,0]")
    crf.fit(words, [["A", "B", "B", "A"]] * 5)
    save(crf, tmp_path / "m.proxqn")
    back = load(tmp_path / "m.proxqn")
    np.testing.assert_array_equal(back.predict_marginals(words), crf.predict_marginals(words))
    assert back.result_.nnz == crf.result_.nnz


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (np.ones((3, 2)), "edges has 3 rows, but there are"),
        (np.full(PROBLEM.edges.shape, np.nan), "Input edges contains NaN"),
        (None, "fitted with 4 edge features; pass edges"),
        (np.ones((PROBLEM.edges.shape[0], 2)), "edges has 2 features, but the model"),
    ],
)
def test_bad_edges_are_refused_with_a_reason(crf, edges, message):
    X, _, more = data()
    with pytest.raises(ValueError, match=message):
        crf.predict(X, lengths=more["lengths"], edges=edges)


def test_a_model_without_edges_refuses_them():
    X, y, more = data()
    crf = ChainCRF().fit(X, y, lengths=more["lengths"])
    with pytest.raises(ValueError, match="edges has 4 features, but the model was fitted with 0"):
        crf.predict(X, **more)


def test_memory_follows_the_entries_not_labels_squared():
    """A million edge features with 30 labels: 9·10⁸ weights, never as one array."""
    import tracemalloc

    rng = np.random.default_rng(0)
    n, lengths = 3000, np.full(300, 10)
    X = sp.csr_array(np.ones((n, 1)))
    columns = rng.integers(0, 10**6, n)
    edges = sp.csr_array((np.ones(n), (np.arange(n), columns)), shape=(n, 10**6))
    y = rng.integers(0, 30, n)
    tracemalloc.start()
    crf = ChainCRF(lam=0.7, pairs="observed", tol=1e-2, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit(X, y, lengths=lengths, edges=edges)
    crf.predict(X, lengths=lengths, edges=edges)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_pack_keeps_what_the_oracle_has(crf):
    oracle = PROBLEM.oracle()
    w = oracle.pack(crf.coef_, crf.transitions_, crf.edge_coef_)
    assert isinstance(w, SparseVector)
    assert np.all(np.diff(w.coordinates) > 0)
