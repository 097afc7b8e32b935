"""``fit(initial=…)``: start from another model, label by label and feature by feature."""

from __future__ import annotations

import numpy as np
import pytest

from proxqn import ChainCRF, HierarchicalClassifier, Hierarchy, load, save
from proxqn.compat import CRF
from proxqn.features.encoding import SequenceEncoder

WORDS = [["dogs", "bark"], ["cats", "purr"], ["dogs", "purr"], ["cats", "bark", "dogs"]] * 3
LABELS = [["N", "V"], ["N", "V"], ["V", "N"], ["N", "V", "N"]] * 3
SETTINGS = {"lam": 0.1, "stop": "gap", "tol": 1e-8}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = np.where(X[:, 0] > 0.3, "a", np.where(X[:, 1] > 0, "b", "c"))
TREE = Hierarchy.from_nested({"top": ["a", "b"], "c": []})


def start_of(model):
    """Return the objective at the starting point."""
    return model.trace_[0].objective


@pytest.mark.parametrize("more", [{}, {"end_weights": True}, {"fit_intercept": True},
                                  {"pairs": "observed"}])  # fmt: skip
@pytest.mark.parametrize("as_coefficients", [False, True])
def test_the_same_problem_has_nothing_left_to_do(more, as_coefficients):
    first = ChainCRF(**SETTINGS, **more).fit(WORDS, LABELS)
    initial = first.coefficients() if as_coefficients else first
    again = ChainCRF(**SETTINGS, **more).fit(WORDS, LABELS, initial=initial)
    assert start_of(again) == pytest.approx(first.objective_, rel=1e-12)
    assert again.n_iter_ <= 1
    assert not first.warm_start


def test_features_and_labels_are_matched_by_name():
    first = ChainCRF(**SETTINGS).fit(WORDS, LABELS)
    more = [["a", "dogs", "bark"], *WORDS], [["D", "N", "V"], *LABELS]
    second = ChainCRF(**SETTINGS).fit(*more, initial=first)
    fresh = ChainCRF(**SETTINGS).fit(*more)
    assert second.classes_.tolist() == ["D", "N", "V"]
    assert start_of(second) < start_of(fresh)
    assert second.objective_ == pytest.approx(fresh.objective_, rel=1e-7)
    back = ChainCRF(**SETTINGS).fit(WORDS, LABELS, initial=second)  # what it lacks goes
    assert back.classes_.tolist() == ["N", "V"]
    assert back.objective_ == pytest.approx(first.objective_, rel=1e-7)


def test_encoded_sequences_and_loaded_models_are_matched_by_name(tmp_path):
    first = ChainCRF(**SETTINGS).fit(WORDS, LABELS)
    save(first, tmp_path / "m")
    encoded = SequenceEncoder().fit_transform(WORDS[::-1])  # other columns for the same words
    again = ChainCRF(**SETTINGS).fit(encoded, LABELS[::-1], initial=load(tmp_path / "m"))
    assert start_of(again) == pytest.approx(first.objective_, rel=1e-10)
    assert again.predict(encoded)[0].tolist() == first.predict([WORDS[-1]])[0].tolist()


def test_edge_features_are_matched_by_name():
    templates = "U0:%x[0,0]\nB0:%x[0,0]"
    rows = [[[word] for word in words] for words in WORDS]
    first = ChainCRF(**SETTINGS, templates=templates).fit(rows, LABELS)
    again = ChainCRF(**SETTINGS, templates=templates).fit(rows[::-1], LABELS[::-1], initial=first)
    assert first.edge_coef_.nnz
    assert start_of(again) == pytest.approx(first.objective_, rel=1e-10)


def test_data_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("pqrst"))
    for estimator in (ChainCRF, HierarchicalClassifier):
        first = estimator(**SETTINGS).fit(frame, Y)
        again = estimator(**SETTINGS).fit(frame[list("tsrqp")], Y, initial=first)
        assert start_of(again) == pytest.approx(first.objective_, rel=1e-10)


def test_a_tree_matches_nodes_by_name():
    first = HierarchicalClassifier(TREE, **SETTINGS).fit(X, Y)
    again = HierarchicalClassifier(TREE, **SETTINGS).fit(X, Y, initial=first)
    assert start_of(again) == pytest.approx(first.objective_, rel=1e-10)
    assert again.n_iter_ <= 1
    flat = HierarchicalClassifier(**SETTINGS).fit(X, Y, initial=first.coefficients())
    assert flat.objective_ == pytest.approx(
        HierarchicalClassifier(**SETTINGS).fit(X, Y).objective_, rel=1e-7
    )


def test_numbered_features_of_a_tree_are_cut_or_filled_up():
    first = HierarchicalClassifier(**SETTINGS).fit(X, Y)
    for n_features in (3, 9):
        found = first.coefficients().with_columns(n_features)
        assert found.coef.shape == (4, n_features)
        n = min(n_features, 5)
        assert (found.coef[:, :n] != first.coef_[:, :n]).nnz == 0


def test_the_drop_in_starts_from_either():
    first = CRF(c1=0.1, c2=0.01, tol=1e-8).fit(WORDS, LABELS)
    for initial in (first, first.crf_):
        again = CRF(c1=0.1, c2=0.01, tol=1e-8).fit(WORDS, LABELS, initial=initial)
        assert start_of(again.crf_) == pytest.approx(first.crf_.objective_, rel=1e-10)


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: ChainCRF().fit(X[:, :3], Y, initial=ChainCRF().fit(X, Y)), ValueError,
         "initial has 5 features, but X has 3"),
        (lambda: ChainCRF().fit(X, Y, initial=ChainCRF().fit(X, np.char.upper(Y))), ValueError,
         "initial knows none of the labels"),
        (lambda: ChainCRF().fit(X, Y, initial=ChainCRF().fit(X, X[:, 0] > 0)), ValueError,
         "initial knows none of the labels"),
        (lambda: ChainCRF().fit(X, Y, initial=HierarchicalClassifier().fit(X, Y)), TypeError,
         r"initial must be a fitted ChainCRF, its coefficients\(\), or None"),
        (lambda: HierarchicalClassifier().fit(X, Y, initial=3), TypeError, "got a int"),
        (lambda: HierarchicalClassifier().fit(X[:, :3], Y, initial=HierarchicalClassifier()
                                              .fit(X, Y)), ValueError, "5 features, but X has 3"),
        (lambda: ChainCRF().fit(X, Y, initial=ChainCRF()), ValueError, "not fitted yet"),
    ],
)  # fmt: skip
def test_what_does_not_match_is_refused(fit, error, message):
    with pytest.raises(error, match=message):
        fit()


def test_encoded_sequences_are_refused_where_columns_must_stay():
    encoded = SequenceEncoder().fit_transform(WORDS)
    model = ChainCRF(lam=0.1, warm_start=True).fit(WORDS, LABELS)
    with pytest.raises(ValueError, match="whose columns are settled"):
        model.fit(encoded, LABELS)
    with pytest.raises(ValueError, match="Encode them with the model's encoder_"):
        model.predict(SequenceEncoder().fit_transform([["dogs"]]))
