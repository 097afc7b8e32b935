"""Named features straight into ChainCRF: dicts, strings, columns, DataFrames, records."""

import io
import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline

import proxqn
from proxqn import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.templates import Templates
from proxqn.io.readers import read_columns

ROWS = [
    [["the", "D"], ["dog", "N"], ["barks", "V"]],
    [["a", "D"], ["cat", "N"]],
    [["dogs", "N"], ["bark", "V"]],
    [["cats", "N"]],
] * 5
Y = [["B", "I", "O"], ["B", "I"], ["B", "O"], ["B"]] * 5
TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB"
FLAT = [label for labels in Y for label in labels]
SETTINGS = {"lam": 0.2, "tol": 1e-8}


def dicts(rows=ROWS):
    return [[{"w": w, "tag": {t: True}, "size": len(w) / 8} for w, t in seq] for seq in rows]


def frame(rows=ROWS):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        [(f"s{i}", w, t, len(w) / 8) for i, seq in enumerate(rows) for w, t in seq],
        columns=["sid", "w", "tag", "size"],
    )


FORMS = {
    "dicts": (dicts, {}),
    "strings": (lambda rows=ROWS: [[w for w, _ in seq] for seq in rows], {}),
    "lists of strings": (lambda rows=ROWS: rows, {}),
    "columns": (lambda rows=ROWS: rows, {"templates": TEMPLATES}),
    "frame": (frame, {"sequence_id": "sid"}),
    "frame with templates": (frame, {"sequence_id": "sid", "templates": TEMPLATES}),
}


def flat(predicted):
    if isinstance(predicted, np.ndarray):
        return predicted.tolist()
    return np.concatenate(predicted).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_the_same_model_as_with_numbers_made_before(form):
    make, settings = FORMS[form]
    X, y = make(), FLAT if "frame" in form else Y
    model = ChainCRF(**SETTINGS, **settings).fit(X, y)
    templates = settings.get("templates")
    encoder = SequenceEncoder(
        None if templates is None else Templates.parse(templates),
        sequence_id=settings.get("sequence_id"),
    )
    data = encoder.fit_transform(X)
    before = ChainCRF(**SETTINGS).fit(data.X, FLAT, lengths=data.lengths)
    assert (model.coef_ != before.coef_).nnz == 0
    assert (model.transitions_ == before.transitions_).all()
    assert model.vocabulary_ == encoder.vocabulary
    assert model.n_features_in_ == len(model.vocabulary_) == model.coef_.shape[1]
    predicted = model.predict(X)
    assert isinstance(predicted, np.ndarray) == ("frame" in form)
    assert flat(predicted) == before.predict(data.X, data.lengths).tolist()
    assert model.score(X, y) == before.score(data.X, FLAT, data.lengths)
    assert (model.log_probability(X, y) == before.log_probability(data.X, FLAT, data.lengths)).all()
    np.testing.assert_array_equal(
        np.vstack(model.predict_marginals(X)), before.predict_marginals(data.X, data.lengths)
    )
    assert len(model.predict_n_best(X, n=2)) == len(ROWS)
    # The numbers themselves are still welcome.
    assert model.predict(data.X, data.lengths).tolist() == flat(predicted)


@pytest.mark.parametrize("form", FORMS)
def test_pickle_clone_and_file(form, tmp_path):
    make, settings = FORMS[form]
    model = ChainCRF(**SETTINGS, **settings).fit(make(), FLAT if "frame" in form else Y)
    expected = flat(model.predict(make()))
    assert flat(pickle.loads(pickle.dumps(model)).predict(make())) == expected
    proxqn.save(model, tmp_path / "m.proxqn")
    loaded = proxqn.load(tmp_path / "m.proxqn")
    assert flat(loaded.predict(make())) == expected
    again = clone(loaded).fit(make(), FLAT if "frame" in form else Y)
    assert again.objective_ == model.objective_
    assert not hasattr(clone(model), "vocabulary_")


def test_unseen_features_are_ignored_and_counted():
    model = ChainCRF(**SETTINGS).fit([[w for w, _ in seq] for seq in ROWS], Y)
    assert model.count_unseen([["the", "dog", "barks"]]) == 0
    assert model.count_unseen([["the", "wolf", "howls"]]) == 2
    known = model.predict_marginals([[["the"], [], []]])
    np.testing.assert_array_equal(model.predict_marginals([["the", "wolf", "howls"]])[0], known[0])


def test_min_freq_leaves_rare_features_out():
    X = [[["a", "rare"], ["b"]], [["a"], ["b"]]]
    model = ChainCRF(**SETTINGS, min_freq=2).fit(X, [["x", "y"]] * 2)
    assert model.vocabulary_.names() == ["a", "b"]
    assert model.count_unseen(X) == 1


def test_records_bring_labels_and_weights():
    text = "the D B\ndog N I\n\na D B\ncat N I\nsat V O\n"
    records = list(read_columns(io.BytesIO(text.encode())))
    model = ChainCRF(**SETTINGS, templates=TEMPLATES).fit(records)
    stream = ChainCRF(**SETTINGS, templates=TEMPLATES).fit(read_columns(io.BytesIO(text.encode())))
    assert model.objective_ == stream.objective_
    assert flat(model.predict(records)) == ["B", "I", "B", "I", "O"]
    rows = [record.tokens for record in records]
    assert flat(model.predict(rows)) == ["B", "I", "B", "I", "O"]


def test_series_arrays_tuples_and_sets():
    pd = pytest.importorskip("pandas")
    expected = ChainCRF(**SETTINGS).fit(dicts(), Y)
    series = ChainCRF(**SETTINGS).fit(pd.Series(dicts()), pd.Series(Y))
    assert series.objective_ == expected.objective_
    assert flat(series.predict(pd.Series(dicts()))) == flat(expected.predict(dicts()))
    assert ChainCRF(**SETTINGS).fit(tuple(map(tuple, dicts())), Y).objective_ == expected.objective_
    objects = np.empty(len(ROWS), dtype=object)
    objects[:] = dicts()
    assert ChainCRF(**SETTINGS).fit(objects, Y).objective_ == expected.objective_
    words = [[w for w, _ in seq] for seq in ROWS]
    plain = ChainCRF(**SETTINGS).fit(words, Y)
    arrays = ChainCRF(**SETTINGS).fit([np.array(w) for w in words], [np.array(y) for y in Y])
    sets = ChainCRF(**SETTINGS).fit([[{w} for w in sequence] for sequence in words], Y)
    assert plain.objective_ == arrays.objective_ == sets.objective_
    assert arrays.count_unseen([np.array(["the", "wolf"])]) == 1


def test_marginals_as_dicts():
    model = ChainCRF(**SETTINGS).fit(dicts(), Y)
    table, tokens = model.predict_marginals(dicts()), model.predict_marginal_dicts(dicts())
    assert [len(sequence) for sequence in tokens] == [len(labels) for labels in Y]
    assert tokens[0][1] == dict(zip(["B", "I", "O"], table[0][1], strict=True))


# --- refits on new data from old weights ---


def test_warm_start_grows_vocabulary_and_labels():
    model = ChainCRF(**SETTINGS, warm_start=True).fit(dicts(), Y)
    names, old = model.vocabulary_.names(), model.coef_.toarray()
    more = [[{"w": "zebra", "tag": {"N": True}}, {"w": "runs", "tag": {"X": True}}]]
    new_X, new_Y = dicts() + more * 3, Y + [["B", "NEW"]] * 3
    start = _starting_point(model, new_X, new_Y)
    model.fit(new_X, new_Y)
    assert model.classes_.tolist() == ["B", "I", "NEW", "O"]
    assert model.vocabulary_.names()[: len(names)] == names
    assert model.vocabulary_.names()[len(names) :] == ["w:zebra", "w:runs", "tag:X"]
    np.testing.assert_array_equal(start.coef_.toarray()[[0, 1, 3], : len(names)], old)
    cold = ChainCRF(**SETTINGS).fit(new_X, new_Y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-7)
    assert flat(model.predict(more)) == ["B", "NEW"]
    assert flat(model.predict(dicts())) == FLAT  # what was known before still has its columns


def _starting_point(model, X, y):
    """The model that a fit of no iterations gives: where the next fit starts."""
    copy = pickle.loads(pickle.dumps(model)).set_params(max_iter=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return copy.fit(X, y)


def test_warm_start_on_the_same_data_has_nothing_to_do():
    model = ChainCRF(**SETTINGS, warm_start=True, end_weights=True).fit(dicts(), Y)
    assert model.fit(dicts(), Y).n_iter_ <= 1


def test_a_loaded_model_goes_on_with_new_words(tmp_path):
    proxqn.save(ChainCRF(**SETTINGS).fit(dicts(), Y), tmp_path / "m")
    model = proxqn.load(tmp_path / "m").set_params(warm_start=True)
    before = model.objective_
    assert _starting_point(model, dicts(), Y).objective_ == pytest.approx(before)
    model.fit([*dicts(), [{"w": "zebra"}]], [*Y, ["B"]])
    assert "w:zebra" in model.vocabulary_


def test_from_matrix_to_names_and_back():
    model = ChainCRF(**SETTINGS, warm_start=True).fit(np.eye(len(FLAT)), FLAT)
    with pytest.raises(TypeError, match="fitted on numbers"):
        model.fit(dicts(), Y)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(np.eye(len(FLAT))).rename(columns=str)
    model = ChainCRF(**SETTINGS).fit(table, FLAT).fit(dicts(), Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.fit(table, FLAT).encoder_ is None


# --- scikit-learn's tools ---


def test_search_and_cross_validation_over_dicts():
    search = GridSearchCV(ChainCRF(tol=1e-3), {"lam": [0.1, 5.0]}, cv=KFold(2), error_score="raise")
    search.fit(dicts(), Y)
    assert search.best_params_ == {"lam": 0.1}
    assert flat(search.predict(dicts()[:2])) == FLAT[:5]
    assert len(search.best_estimator_.vocabulary_) > 0


def test_search_over_a_frame_by_sequence():
    table = frame()
    model = ChainCRF(tol=1e-3, lam=0.1, sequence_id="sid")
    folds = GroupKFold(4)
    scores = cross_val_score(
        model, table, np.array(FLAT), cv=folds, groups=table["sid"], error_score="raise"
    )
    assert scores.min() > 0.8


def test_sample_weights_are_routed_through_search_and_pipeline():
    weights = np.tile([1.0, 0.0, 2.0, 1.0], 5)
    with config_context(enable_metadata_routing=True):
        crf = ChainCRF(tol=1e-6).set_fit_request(sample_weight=True)
        crf.set_score_request(sample_weight=True)
        search = GridSearchCV(
            Pipeline([("crf", crf)]), {"crf__lam": [0.2]}, cv=KFold(2), error_score="raise"
        ).fit(dicts(), Y, sample_weight=weights)
    best = search.best_estimator_["crf"]
    direct = ChainCRF(lam=0.2, tol=1e-6).fit(dicts(), Y, sample_weight=weights)
    assert best.objective_ == direct.objective_
    assert best.objective_ != ChainCRF(lam=0.2, tol=1e-6).fit(dicts(), Y).objective_


# --- bad input: what comes, what is said ---

BAD = {
    "NaN": (
        [[{"a": 1, "b": np.nan}]],
        {},
        ValueError,
        "sequence 0, position 0: feature 'b' is nan",
    ),
    "infinity": ([[{"a": 1}, {"a": -np.inf}]], {}, ValueError, "position 1: feature 'a' is -inf"),
    "empty list": ([], {}, ValueError, "X is an empty list"),
    "empty stream": (iter([]), {}, ValueError, "expected at least one sequence to fit, got none"),
    "empty sequence": ([[{"a": 1}], []], {}, ValueError, "sequence 1 has length 0"),
    "only empty sequences": ([[], []], {}, ValueError, r"0 feature\(s\)"),
    "no features": ([[{}, {}]], {}, ValueError, "no feature is left"),
    "all too rare": ([[{"a": 1}]], {"min_freq": 2}, ValueError, r"no feature is left .*min_freq=2"),
    "flat dicts": ([{"a": 1}], {}, TypeError, "sequence 0: expected a list of tokens, got a dict"),
    "flat text": (["dog"], {}, TypeError, "sequence 0: expected a list of tokens, got a str"),
    "a number among dicts": ([[{"a": 1}, 3]], {}, TypeError, "position 1: expected a token"),
    "None as a value": ([[{"a": None}]], {}, TypeError, "feature 'a': expected a string, a bool"),
    "an object as a value": ([[{"a": object()}]], {}, TypeError, "feature 'a': expected a string"),
    "a number as a name": ([[{1: 2}]], {}, TypeError, "feature name to be a string, got 1"),
    "lone surrogate": ([[{"\ud800": 1}]], {}, ValueError, "lone surrogate"),
    "rows of other widths": (
        [[["a", "b"], ["c"]]],
        {"templates": "U:%x[0,1]"},
        ValueError,
        "sequence 0, position 1: expected 2 columns, got 1",
    ),
    "dicts for templates": (
        [[{"a": 1}]],
        {"templates": "U:%x[0,0]"},
        TypeError,
        "position 0: expected a row of columns, got a dict",
    ),
    "too few columns": ([[["a"]]], {"templates": "U:%x[0,7]"}, ValueError, "reads column 7"),
    "bad template": ([[["a"]]], {"templates": "X"}, ValueError, "to start with U, B or"),
    "templates of another kind": ([[["a"]]], {"templates": 3}, TypeError, "templates must be"),
    "min_freq": ([[["a"]]], {"min_freq": 1.5}, TypeError, "min_freq must be an integer, got 1.5"),
    "mixed widths of arrays in a stream": (
        iter([np.eye(2), np.eye(3)]),
        {},
        ValueError,
        "sequence 1: expected 2 features, got 3",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_fit_refuses(case):
    X, settings, error, message = BAD[case]
    y = [["x"] * len(s) for s in X] if isinstance(X, list) else [["x"], ["y"]]
    with pytest.raises(error, match=message):
        ChainCRF(**settings).fit(X, y)


def test_lengths_do_not_go_with_names():
    with pytest.raises(ValueError, match="lengths came with sequences of named features"):
        ChainCRF().fit(dicts(), Y, lengths=[1])


def test_labels_that_do_not_fit():
    with pytest.raises(ValueError, match=r"y\[1\] has 1 labels, but sequence 1 of X has 2"):
        ChainCRF().fit(dicts()[:2], [["B", "I", "O"], ["B"]])
    with pytest.raises(ValueError, match="y has 1 sequences, but X has 2"):
        ChainCRF().fit(dicts()[:2], [["B", "I", "O"]])
    with pytest.raises(ValueError, match="requires y to be passed"):
        ChainCRF().fit(dicts())
    with pytest.raises(ValueError, match="one class only, 'B'"):
        ChainCRF().fit([["a"], ["b"]], [["B"], ["B"]])
    model = ChainCRF(**SETTINGS).fit(dicts(), Y)
    with pytest.raises(ValueError, match="not there at fit: 'Q'"):
        model.score(dicts()[:1], [["B", "I", "Q"]])


@pytest.mark.parametrize(
    "y",
    [
        [["a\0", "a"], ["b"]],  # texts alone
        [["a\0", None], ["b"]],
        [["b", {"a\0", "a"}], ["b"]],
        (np.array(["a\0", "a"], dtype=object), np.array(["b"], dtype=object)),
        [[b"a\0", b"a"], [b"b"]],
    ],
)
def test_labels_that_numpy_would_make_one_are_refused(y):
    X = [["x", "y"], ["z"]]
    with pytest.raises(ValueError, match=r"the label b?'a\\x00', which ends in a zero character"):
        ChainCRF().fit(X, y)
    model = ChainCRF().fit(X, [["a", "a\0b"], ["b"]])  # inside text they stay
    assert model.classes_.tolist() == ["a", "a\0b", "b"]
    with pytest.raises(ValueError, match="ends in a zero character"):
        model.score(X, [["a\0", "a"], ["b"]])


FRAMES = {
    "another column name": (
        lambda t: t.rename(columns={"sid": "x"}),
        "expected sequence_id to name",
    ),
    "missing id": (lambda t: t.assign(sid=[None, *t["sid"][1:]]), "row 0: expected a sequence id"),
    "rows apart": (lambda t: t.iloc[[0, 3, 1, 2]], "row 2: sequence 's0' starts again"),
    "NaN": (lambda t: t.assign(size=np.nan), "sequence 0, position 0: feature 'size' is nan"),
    "no rows": (lambda t: t[:0], "at least one sequence"),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames_that_are_refused(case):
    change, message = FRAMES[case]
    table = change(frame())
    with pytest.raises((ValueError, TypeError), match=message):
        ChainCRF(sequence_id="sid").fit(table, FLAT[: len(table)])


def test_a_frame_of_text_without_sequence_id():
    with pytest.raises(ValueError, match=r"column 'sid' .* text, .* ChainCRF\(sequence_id="):
        ChainCRF().fit(frame(), FLAT)


@pytest.mark.parametrize(
    "X",
    [
        [],
        [[]],
        [(), []],
        [[], [{"w": "the"}, {"w": "dog"}], [], [], [{"w": "dog"}], []],
        pytest.param([[["the"], ["dog"]], [], [["dog"]]], id="strings"),
    ],
)
@pytest.mark.parametrize("templates", [None, "U0:%x[0,0]\nB0:%x[0,0]\nB"])
def test_an_empty_sentence_has_an_empty_answer(X, templates):
    rows = [[["the"], ["dog"], ["the"]], [["dog"], ["the"]]]
    model = ChainCRF(lam=0.01, templates=templates)
    model.fit(
        rows if templates else [[{"w": w} for (w,) in s] for s in rows],
        [["A", "B", "A"], ["B", "A"]],
    )
    if templates:
        X = [[[token["w"]] if isinstance(token, dict) else token for token in s] for s in X]
    full = [s for s in X if len(s)]
    expected = iter(model.predict(full) if full else [])
    labels, marginals = model.predict(X), model.predict_marginals(X)
    assert [a.tolist() for a in labels] == [next(expected).tolist() if len(s) else [] for s in X]
    assert [a.shape for a in marginals] == [(len(s), 2) for s in X]
    assert [len(dicts) for dicts in model.predict_marginal_dicts(X)] == [len(s) for s in X]
    best = model.predict_n_best(X, n=2)
    for sentence, paths, found in zip(X, best, labels, strict=True):
        assert len(paths) == (2 if len(sentence) else 1)
        assert paths[0][0].tolist() == found.tolist()
        assert len(sentence) or paths[0][1] == 1.0
    forced = [["B"] * len(s) for s in X]
    assert [a.tolist() for a in model.predict(X, forced=forced)] == forced
    if 0 < len(full) < len(X):
        for refused in (model.fit, model.score, model.log_probability):
            with pytest.raises(ValueError, match="has length 0"):
                refused(X, forced)


def test_empty_sequences_of_numbers():
    model = ChainCRF(**SETTINGS).fit(np.eye(len(FLAT)), FLAT)
    assert model.predict([]) == []
    assert [len(found) for found in model.predict([np.eye(len(FLAT))[:0]])] == [0]
    found = model.predict([np.eye(len(FLAT))[:2], np.eye(len(FLAT))[:0]])
    assert [a.tolist() for a in found] == [model.predict(np.eye(len(FLAT))[:2], [2]).tolist(), []]
    with pytest.raises(ValueError, match="sequence 1 has length 0"):
        model.predict(np.eye(len(FLAT))[:2], lengths=[2, 0])


def test_prediction_refuses():
    model = ChainCRF(**SETTINGS).fit(dicts(), Y)
    for X, error, message in (
        ([[{"w": np.inf}]], ValueError, "position 0: feature 'w' is inf"),
        (iter([]), ValueError, "X holds no sequence"),
        (np.ones((2, 3)), ValueError, "X has 3 features, but ChainCRF is expecting"),
    ):
        with pytest.raises(error, match=message):
            model.predict(X)
    numbers = ChainCRF(**SETTINGS).fit(np.eye(len(FLAT)), FLAT)
    with pytest.raises(TypeError, match="the model was fitted on numbers"):
        numbers.predict(dicts())
    assert flat(model.predict(dicts([[["dog", "N"]]]))) == ["B"]  # a single token is a sequence
