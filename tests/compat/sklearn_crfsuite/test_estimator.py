"""The stand-in for sklearn-crfsuite's CRF: its tutorial, its attributes, what has no meaning."""

import gc
import inspect
import os
import pickle
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import RandomizedSearchCV

import proxqn
from proxqn.compat import CRF
from proxqn.compat.pycrfsuite import Trainer
from proxqn.metrics import entity_f1_score

X = [
    [{"w": "the"}, {"w": "dog", "len": 3.0}, {"w": "barks"}],
    [{"w": "a"}, {"w": "cat"}, {"w": "purrs", "last": True}],
    [{"w": "dogs"}, {"w": "bark"}],
    [{"w": "the"}, {"w": "cat"}, {"w": "barks"}],
]
Y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]


@pytest.fixture(scope="module")
def crf():
    return CRF(c1=0.1, c2=0.01).fit(X, Y)


@pytest.fixture(scope="module")
def peer():
    return pytest.importorskip("sklearn_crfsuite", reason="the peer is not installed").CRF


# --- the tutorial of sklearn-crfsuite, on CoNLL-2000 ---


def word2features(sent, i):
    word, postag = sent[i][:2]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": postag,
        "postag[:2]": postag[:2],
    }
    for name, j in (("-1", i - 1), ("+1", i + 1)):
        if 0 <= j < len(sent):
            word1, postag1 = sent[j][:2]
            features.update({
                f"{name}:word.lower()": word1.lower(),
                f"{name}:word.istitle()": word1.istitle(),
                f"{name}:word.isupper()": word1.isupper(),
                f"{name}:postag": postag1,
                f"{name}:postag[:2]": postag1[:2],
            })  # fmt: skip
        else:
            features["BOS" if j < 0 else "EOS"] = True
    return features


def sent2features(sent):
    return [word2features(sent, i) for i in range(len(sent))]


def sent2labels(sent):
    return [label for token, postag, label in sent]


def flat_f1(y_true, y_pred, **options):
    flat = [[label for sequence in y for label in sequence] for y in (y_true, y_pred)]
    return f1_score(*flat, zero_division=0, **options)


def sentences(name, n):
    folder = Path(os.environ.get("PROXQN_DATA", Path(__file__).parents[3] / "../shared/data"))
    path = folder / "conll2000" / name
    if not path.exists():
        pytest.skip(f"conll2000/{name} is not in {folder}; set PROXQN_DATA to the data folder")
    blocks = path.read_text().split("\n\n")[:n]
    return [[tuple(line.split()) for line in block.splitlines()] for block in blocks]


@pytest.fixture(scope="module")
def conll():
    train_sents, test_sents = sentences("train.txt", 300), sentences("test.txt", 200)
    train = [sent2features(s) for s in train_sents], [sent2labels(s) for s in train_sents]
    return *train, [sent2features(s) for s in test_sents], [sent2labels(s) for s in test_sents]


def tutorial(crf_class, conll):
    """Everything the tutorial does with a fitted model, and its scores."""
    X_train, y_train, X_test, y_test = conll
    crf = crf_class(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        crf.fit(X_train, y_train)
    labels = list(crf.classes_)
    labels.remove("O")
    y_pred = crf.predict(X_test)
    likely = Counter(crf.transition_features_).most_common(20)
    assert ("B-NP", "I-NP") in [pair for pair, weight in likely]
    unlikely = Counter(crf.transition_features_).most_common()[-20:]
    assert all(weight < 0 for pair, weight in unlikely)
    top = Counter(crf.state_features_).most_common(30)
    assert all(name in crf.attributes_ and label in crf.classes_ for (name, label), weight in top)
    return (
        flat_f1(y_test, y_pred, average="weighted", labels=labels),
        entity_f1_score(y_test, list(y_pred)),
        crf.score(X_test, y_test),
    )


def test_the_tutorial_scores_as_well_as_the_peer(conll, peer):
    ours, theirs = tutorial(CRF, conll), tutorial(peer, conll)
    assert ours[0] > 0.9
    for our, their in zip(ours, theirs, strict=True):
        assert our >= their - 0.01


def test_the_defaults_score_as_well_as_the_peers(conll, peer):
    X_train, y_train, X_test, y_test = conll
    ours = CRF().fit(X_train, y_train).score(X_test, y_test)
    assert ours >= peer().fit(X_train, y_train).score(X_test, y_test) - 0.01


def test_search_over_c1_and_c2(conll):
    X_train, y_train = conll[0][:60], conll[1][:60]
    labels = sorted({label for y in y_train for label in y} - {"O"})
    search = RandomizedSearchCV(
        CRF(algorithm="lbfgs", max_iterations=50),
        {"c1": stats.expon(scale=0.5), "c2": stats.expon(scale=0.05)},
        cv=3,
        n_iter=2,
        random_state=0,
        error_score="raise",
        scoring=make_scorer(flat_f1, average="weighted", labels=labels),
    )
    search.fit(X_train, y_train)
    assert search.best_score_ > 0.7
    assert len(search.best_estimator_.predict(conll[2])) == len(conll[2])


# --- the same model as CRFsuite's ---


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
def test_the_optimum_is_crfsuites(peer, states, transitions):
    setup = {"all_possible_states": states, "all_possible_transitions": transitions}
    setup |= {"c1": 0.05, "c2": 0.2}
    ours = CRF(**setup, tol=1e-9).fit(X, Y)
    theirs = peer(**setup, epsilon=1e-9, delta=1e-9).fit(X, Y)
    assert ours.crf_.l2 == 0.4
    for weights in ("state_features_", "transition_features_"):
        found, expected = getattr(ours, weights), getattr(theirs, weights)
        assert found.keys() <= expected.keys()
        assert all(abs(found.get(pair, 0.0) - w) < 2e-3 for pair, w in expected.items())
    assert ours.classes_ == list(theirs.classes_)
    for ours_x, theirs_x in zip(
        ours.predict_marginals(X), theirs.predict_marginals(X), strict=True
    ):
        for p, q in zip(ours_x, theirs_x, strict=True):
            assert p == pytest.approx(q, abs=1e-3)


@pytest.mark.parametrize("min_freq", [None, 0, 1, 2, 2.5, 3])
def test_min_freq_leaves_crfsuites_attributes(peer, min_freq):
    X = [[["a", "b"], ["a"], ["c"], ["a"]], [["a", "b"], ["c"], ["d"]]]
    y = [["X", "Y", "Y", "X"], ["X", "Y", "X"]]
    theirs = peer(c1=0, c2=0.01, min_freq=min_freq).fit(X, y)
    ours = CRF(c1=1e-3, c2=0.01, min_freq=min_freq).fit(X, y)
    assert sorted(ours.attributes_) == sorted(theirs.attributes_)
    assert ours.num_attributes_ == len(theirs.attributes_)


def test_parameters_are_sklearn_crfsuites(peer):
    theirs = list(inspect.signature(peer).parameters.values())
    ours = list(inspect.signature(CRF).parameters.values())
    assert [(p.name, p.default) for p in ours[: len(theirs)]] == [
        (p.name, p.default) for p in theirs
    ]
    assert [p.name for p in ours[len(theirs) :]] == ["tol", "stop", "n_jobs"]
    assert CRF().get_params().keys() == inspect.signature(CRF).parameters.keys()


# --- methods and attributes ---


def test_predictions_are_lists(crf):
    y_pred = crf.predict(X[:2])
    assert y_pred == Y[:2]
    assert type(y_pred[0][0]) is str
    assert crf.predict_single(X[2]) == Y[2]
    assert crf.score(X, Y) == 1.0
    assert crf.score(X[2:3], [["N", "not a label"]]) == 0.5


def test_marginals_are_dicts(crf):
    marginals = crf.predict_marginals(X)
    assert marginals[2] == crf.predict_marginals_single(X[2])
    for p in marginals[0]:
        assert p.keys() == {"D", "N", "V"}
        assert sum(p.values()) == pytest.approx(1.0)
    assert max(marginals[0][1], key=marginals[0][1].get) == "N"


def test_sequences_without_tokens_are_passed_over(crf):
    again = CRF(c1=0.1, c2=0.01).fit([[], *X], [[], *Y])
    assert again.state_features_ == crf.state_features_
    assert crf.predict([[], X[2], []]) == [[], Y[2], []]
    assert crf.predict_marginals([[]]) == [[]]
    assert crf.predict([]) == []


def test_tokens_may_be_lists_of_strings():
    words = [[[token["w"]] for token in sequence] for sequence in X]
    crf = CRF(c1=0.1, c2=0.01).fit(words, Y)
    assert crf.predict_single([["the"], ["dog"], ["unseen"]]) == ["D", "N", "V"]
    assert "cat" in crf.attributes_


def test_weights_are_the_models(crf):
    assert len(crf.state_features_) == crf.crf_.coef_.nnz
    assert crf.state_features_["w:the", "D"] > 0 < crf.transition_features_["D", "N"]
    assert set(crf.attributes_) == {name for name, label in crf.state_features_}
    assert crf.crf_.gap_ <= 1e-2 * crf.crf_.objective_


def test_size_is_the_files(crf, tmp_path):
    assert crf.size_ == Path(crf.modelfile.name).stat().st_size
    proxqn.save(crf.crf_, tmp_path / "m.proxqn")
    assert [y.tolist() for y in proxqn.load(tmp_path / "m.proxqn").predict(X)] == Y


def test_a_temporary_file_goes_with_its_estimator():
    crf = CRF(c1=0.1).fit(X, Y)
    path = Path(crf.modelfile.name)
    assert path.exists()
    again = crf.fit(X, Y)
    assert not path.exists() or again.modelfile.name == str(path)
    path = Path(crf.modelfile.name)
    del crf, again
    gc.collect()
    assert not path.exists()


def test_a_temporary_file_may_be_kept():
    crf = CRF(c1=0.1, keep_tempfiles=True).fit(X, Y)
    path = Path(crf.modelfile.name)
    del crf
    gc.collect()
    assert path.exists()
    path.unlink()


def test_the_models_file_is_the_originals(tmp_path, peer):
    path = str(tmp_path / "m.crfsuite")
    ours = CRF(c1=0.1, c2=0.01, model_filename=path).fit(X, Y)
    theirs = peer(model_filename=path)
    assert list(map(list, theirs.predict(X))) == ours.predict(X)
    assert theirs.classes_ == ours.classes_
    assert (theirs.size_, theirs.attributes_) == (ours.size_, ours.attributes_)
    for name in ("state_features_", "transition_features_"):
        expected = getattr(theirs, name)
        assert getattr(ours, name) == pytest.approx(expected, abs=1e-6)
        assert list(getattr(ours, name)) == list(expected)
    assert CRF(model_filename=path).predict(X) == ours.predict(X)


def test_training_log(crf):
    log = crf.training_log_
    assert len(log.iterations) == len(crf.crf_.trace_) > 0
    assert log.last_iteration["loss"] == pytest.approx(crf.crf_.objective_, abs=1e-6)
    assert log.last_iteration["active_features"] == crf.crf_.result_.nnz
    assert all(row["time"] >= 0 for row in log.iterations)


def test_clone_pickle_and_repr(crf):
    copy = pickle.loads(pickle.dumps(crf))
    assert copy.predict(X) == crf.predict(X)
    assert copy.state_features_ == crf.state_features_
    fresh = clone(crf)
    assert fresh.get_params() == crf.get_params()
    assert fresh.classes_ is None
    assert repr(fresh) == "CRF(c1=0.1, c2=0.01)"
    assert "CRF" in crf._repr_html_()


# --- what has no meaning, and what is refused ---


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_memories": 7, "epsilon": 1e-3}, "without effect: num_memories, epsilon"),
        ({"algorithm": "ap", "c1": None}, "algorithm 'averaged-perceptron' is not here"),
        ({"algorithm": "pa", "c1": None, "error_sensitive": False}, "effect: error_sensitive"),
    ],
)
def test_one_warning_names_what_changes(parameters, message):
    with pytest.warns(UserWarning, match=message) as caught:
        CRF(**({"c1": 0.1} | parameters)).fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_dev_data_are_scored_after_every_iteration():
    crf = CRF(c1=0.1).fit(X[1:], Y[1:], X_dev=X[:1], y_dev=Y[:1])
    last = crf.training_log_.last_iteration
    assert (last["item_accuracy"], last["instance_accuracy_float"]) == (1, 1.0)
    assert last["scores"]["N"] == (1, 1, 1, 1.0, 1.0, 1.0)
    assert crf.state_features_ == CRF(c1=0.1).fit(X[1:], Y[1:]).state_features_


def test_verbose_prints_a_line_an_iteration(capsys):
    crf = CRF(c1=0.1, verbose=True).fit(X, Y, X_dev=X[:1], y_dev=Y[:1])
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("Iter ") for line in lines) == len(crf.training_log_.iterations)
    assert any(line.split() == ["N", "1.000", "1.000", "1.000", "1"] for line in lines)


def test_a_trainer_of_ones_own(peer):
    pycrfsuite = pytest.importorskip("pycrfsuite")

    class Mine(Trainer):
        seen: ClassVar = []

        def on_iteration(self, log, info):
            self.seen.append(info["num"])

    crf = CRF(c1=0.1, trainer_cls=Mine, verbose=True).fit(X, Y)
    assert Mine.seen == [row["num"] for row in crf.training_log_.iterations]
    theirs = CRF(c1=0.1, trainer_cls=pycrfsuite.Trainer).fit(X, Y)  # the original's own
    assert theirs.predict(X) == Y
    assert theirs.crf_ is None
    with pytest.raises(ValueError, match="callback and initial need a trainer_cls"):
        CRF(trainer_cls=pycrfsuite.Trainer).fit(X, Y, callback=print)


def test_callback_and_initial(crf):
    rows = []
    again = CRF(c1=0.1, c2=0.01).fit(X, Y, callback=rows.append, initial=crf)
    assert len(rows) == len(again.training_log_.iterations) <= len(crf.training_log_.iterations)


def test_nothing_is_said_where_all_has_a_meaning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF("lbfgs", 1, False, False, 0.1, 0.1, 100, n_jobs=2).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "arguments", "error", "message"),
    [
        ({"algorithm": "newton"}, (X, Y), ValueError, "Bad arguments: algorithm='newton'"),
        ({"algorithm": "pa"}, (X, Y), ValueError, "Parameter not found: c1"),
        ({"c1": -1}, (X, Y), ValueError, "lam must be a finite number"),
        ({"c2": np.nan}, (X, Y), ValueError, "l2 must be a finite number"),
        ({}, (X, Y, X), ValueError, "Pass both X_dev and y_dev"),
        ({}, (X, Y[:2]), ValueError, "y has 2 sequences, but X has 4"),
        ({}, (X, [*Y[:3], ["D"]]), ValueError, r"sequence 3 of X: .*\|x\| = 3, \|y\| = 1"),
        ({}, (X, ["DNV", *Y[1:]]), TypeError, r"y\[0\] is a str; expected a list"),
        ({}, ([[{"w": np.nan}, {"w": 1}]], [["a", "b"]]), ValueError, "expected a finite number"),
    ],
)
def test_fit_refuses(parameters, arguments, error, message):
    with pytest.raises(error, match=message):
        CRF(**({"c1": 0.1} | parameters)).fit(*arguments)


@pytest.mark.parametrize(
    "use",
    [lambda crf: crf.predict(X), lambda crf: crf.predict_marginals(X),
     lambda crf: crf.score(X, Y), lambda crf: crf.predict_single(X[0])],
)  # fmt: skip
def test_unfitted(use):
    with pytest.raises(NotFittedError, match="call fit first, or pass the file"):
        use(CRF())
    with pytest.raises(FileNotFoundError, match="none"):
        use(CRF(model_filename="none/model.crfsuite"))


def test_pickles_of_the_originals_are_read_in_their_place(peer):
    program = (
        "import pickle, sys\n"
        "import proxqn.compat.pycrfsuite as p, proxqn.compat.sklearn_crfsuite as s\n"
        "sys.modules.update(pycrfsuite=p, sklearn_crfsuite=s)\n"
        "crf = pickle.load(sys.stdin.buffer)\n"
        "assert crf.tol is None  # not one of the original's\n"
        f"print(crf.predict({X!r}), crf.c1)\n"
    )
    theirs = pickle.dumps(peer(c1=0.1).fit(X, Y))
    run = subprocess.run([sys.executable, "-c", program], input=theirs, capture_output=True)
    assert run.stdout.decode() == f"{Y} 0.1\n", run.stderr.decode()


def test_models_pickled_by_version_0_1_are_read(crf):
    state = {"c1": 0.1, "c2": 0.01, "model_filename": None, "keep_tempfiles": False}
    state |= {"crf_": crf.crf_, "classes_": ["D", "N", "V"]}
    old = CRF.__new__(CRF)
    old.__setstate__(state)
    assert old.predict(X) == Y
    assert old.classes_ == ["D", "N", "V"]
