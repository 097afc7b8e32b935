"""ChainCRF on sequences of which some labels are missing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.lattice_problems import enumerate_lattice, random_lattice
from tests.problems import dense

from proxqn import ChainCRF, load, save
from proxqn.run.status import Status

FULL = random_lattice(5, n_labels=3, n_sequences=60, max_length=5, edge_density=0.0)
PARTIAL = FULL.with_unknown(2, 0.3)
NAMES = np.array(["a", "bb", "c"])
LENGTHS = FULL.chain.lengths


def given_labels():
    """Names, None and sets, as a user has them."""
    marks, y = PARTIAL.partial.allowed(), []
    for row in marks:
        names = set(NAMES[row].tolist())
        y.append(None if len(names) == 3 else names if len(names) == 2 else names.pop())
    assert any(v is None for v in y)
    assert any(isinstance(v, set) for v in y)
    return y


def fitted(y, **options):
    return ChainCRF(lam=0.5, stop="gap", tol=1e-6, **options).fit(FULL.chain.X, y, lengths=LENGTHS)


def test_objective_is_that_of_enumeration():
    crf = fitted(given_labels())
    oracle = PARTIAL.oracle()
    w = oracle.pack(crf.coef_, crf.transitions_, crf.edge_coef_)
    truth = enumerate_lattice(PARTIAL, oracle, dense(w, oracle.n_coordinates))
    size = np.abs(w.values).sum()
    np.testing.assert_allclose(crf.objective_, truth.value + 0.5 * size, rtol=1e-9)
    np.testing.assert_allclose(
        crf.log_probability(FULL.chain.X, given_labels(), lengths=LENGTHS),
        -truth.losses,
        rtol=1e-9,
        atol=1e-12,
    )


def test_the_result_says_that_there_is_no_certificate(tmp_path):
    crf = fitted(given_labels())
    assert crf.status_ is Status.STATIONARY
    assert crf.gap_ == math.inf
    assert not crf.result_.certified
    assert "there is no certificate" in crf.result_.message
    save(crf, tmp_path / "m.proxqn")
    back = load(tmp_path / "m.proxqn")
    assert back.status_ is Status.STATIONARY
    assert back.gap_ == math.inf
    assert not back.result_.certified


def test_the_warning_says_so_too():
    with pytest.warns(ConvergenceWarning, match="labels missing the loss is not convex"):
        fitted(given_labels(), max_iter=3)


def test_progress_says_so_too(capsys):
    fitted(given_labels(), verbose=1)
    shown = capsys.readouterr().err
    assert "there is no certificate" in shown
    assert "—" in shown  # in the column of the gap


def test_missing_labels_are_filled_in_by_the_rest():
    """Half of the labels are enough where they follow a rule."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 6)).astype(float)
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    missing = rng.random(400) < 0.5
    shown = y.copy()
    shown[missing] = None
    crf = ChainCRF(lam=1.0).fit(X, shown, lengths=[8] * 50)
    assert (crf.predict(X, lengths=[8] * 50)[missing] == y[missing]).all()


def test_known_labels_in_sets_give_the_ordinary_fit():
    y = NAMES[FULL.chain.labels]
    plain = fitted(y.tolist())
    by_set = fitted([{name} for name in y[:-1].tolist()] + [y[-1]])
    np.testing.assert_allclose(by_set.objective_, plain.objective_, rtol=1e-6)
    as_objects = fitted(y.astype(object))
    assert as_objects.objective_ == plain.objective_
    assert as_objects.status_ is Status.GAP


def test_integer_weights_equal_repetition():
    y = np.array(given_labels(), dtype=object)
    times = np.random.default_rng(0).integers(0, 3, len(LENGTHS))
    sequence = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    rows = np.concatenate([np.flatnonzero(sequence == i) for i in np.repeat(range(60), times)])
    X = FULL.chain.X
    start = fitted(y).set_params(warm_start=True)  # from one point, to the same stationary point
    a = start.fit(X, y, lengths=LENGTHS, sample_weight=times).objective_
    start = fitted(y).set_params(warm_start=True)
    b = start.fit(X[rows], y[rows], lengths=np.repeat(LENGTHS, times)).objective_
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_lists_of_sequences_and_named_features():
    X = [[["x"], ["y"], ["x"]], [["y"], ["x"]]] * 10
    y = [["A", None, "A"], ["B", {"A", "B"}]] * 10
    crf = ChainCRF(lam=0.1).fit(X, y)
    assert crf.classes_.tolist() == ["A", "B"]
    assert crf.predict([[["x"], ["y"]]])[0].tolist() == ["A", "B"]
    assert crf.log_probability(X[:1], [[None, None, None]])[0] == pytest.approx(0.0, abs=1e-12)


def test_integer_labels():
    crf = ChainCRF(lam=0.1).fit(np.eye(4), [0, None, 1, {0, 5}], lengths=[4])
    assert crf.classes_.tolist() == [0, 1, 5]


def test_log_probability_of_what_is_known():
    crf = fitted(NAMES[FULL.chain.labels])
    X, y = FULL.chain.X, NAMES[FULL.chain.labels].astype(object)
    none = np.full(len(y), None)
    np.testing.assert_allclose(crf.log_probability(X, none, lengths=LENGTHS), 0.0, atol=1e-12)
    first = none.copy()
    begin = np.cumsum(LENGTHS) - LENGTHS
    first[begin] = y[begin]
    marginals = crf.predict_marginals(X, lengths=LENGTHS)[begin, FULL.chain.labels[begin]]
    np.testing.assert_allclose(
        crf.log_probability(X, first, lengths=LENGTHS), np.log(marginals), rtol=1e-10
    )


def test_score_needs_all_labels():
    crf = fitted(given_labels())
    y = np.array(NAMES[FULL.chain.labels], dtype=object)
    y[0] = None
    with pytest.raises(ValueError, match="y contains None; expected a label for every token"):
        crf.score(FULL.chain.X, y, lengths=LENGTHS)
    y[0] = {"a"}
    with pytest.raises(ValueError, match="y contains sets; expected a label for every token"):
        crf.score(FULL.chain.X, y, lengths=LENGTHS)


def test_sets_of_unknown_labels_are_refused_after_the_fit():
    crf = fitted(NAMES[FULL.chain.labels])
    y = NAMES[FULL.chain.labels].astype(object)
    y[0] = {"a", "zz"}
    with pytest.raises(ValueError, match="labels that were not there at fit: 'zz'"):
        crf.log_probability(FULL.chain.X, y, lengths=LENGTHS)
