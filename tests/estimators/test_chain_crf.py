"""ChainCRF: scikit-learn's own checks, then what they cannot know about sequences."""

import itertools
import pickle
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from proxqn import ChainCRF, ChainOracle, ProxQN
from proxqn.estimators.inference import chain as chain_inference
from proxqn.estimators.inference.tagger import tagger_of
from proxqn.io.model_file import save
from proxqn.run.status import Status


@parametrize_with_checks([ChainCRF()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def corpus(n_sequences=40, n_features=12, seed=0, names=("a", "b", "c")):
    """Sequences whose labels follow from the features and from the label before."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, n_sequences)
    X = (rng.random((lengths.sum(), n_features)) < 0.3).astype(float)
    X[:, -1] = 1.0
    scores = X @ rng.normal(0, 2, (n_features, len(names)))
    y = np.array(names)[(scores + rng.gumbel(0, 0.5, scores.shape)).argmax(axis=1)]
    return X, y, lengths


@pytest.fixture(scope="module")
def data():
    return corpus()


@pytest.fixture(scope="module")
def fitted(data):
    X, y, lengths = data
    return ChainCRF(lam=1.0, stop="gap", tol=1e-6).fit(X, y, lengths)


def same_model(one, other, tolerance=0.0):
    np.testing.assert_allclose(one.coef_.toarray(), other.coef_.toarray(), atol=tolerance, rtol=0)
    np.testing.assert_allclose(one.transitions_, other.transitions_, atol=tolerance, rtol=0)


def paths(scores, transitions):
    """All labellings of one sequence and their scores."""
    n_tokens, n_labels = scores.shape
    for path in itertools.product(range(n_labels), repeat=n_tokens):
        steps = sum(transitions[a, b] for a, b in itertools.pairwise(path))
        yield path, sum(scores[t, y] for t, y in enumerate(path)) + steps


def test_predictions_equal_brute_force(fitted, data):
    X, y, lengths = data
    labels = fitted.predict(X, lengths)
    marginals = fitted.predict_marginals(X, lengths)
    log_probability = fitted.log_probability(X, y, lengths)
    start = 0
    for i, length in enumerate(lengths):
        rows = slice(start, start + length)
        start += length
        scores = X[rows] @ fitted.coef_.toarray().T
        path, score = zip(*paths(scores, fitted.transitions_), strict=True)
        path, score = np.array(path), np.array(score)
        probability = np.exp(score - logsumexp(score))
        assert (fitted.classes_[path[score.argmax()]] == labels[rows]).all()
        expected = [[probability[path[:, t] == k].sum() for k in range(3)] for t in range(length)]
        np.testing.assert_allclose(marginals[rows], expected, atol=1e-12)
        true = (fitted.classes_[path] == y[rows]).all(axis=1)
        assert log_probability[i] == pytest.approx(np.log(probability[true]).item(), abs=1e-12)


def test_objective_is_loss_plus_penalty(fitted, data):
    X, y, lengths = data
    loss = -fitted.log_probability(X, y, lengths).sum()
    norm = abs(fitted.coef_).sum() + abs(fitted.transitions_).sum()
    assert fitted.objective_ == pytest.approx(loss + norm, rel=1e-12)
    assert 0 <= fitted.gap_ <= 1e-6 * fitted.objective_
    assert fitted.status_ is Status.GAP
    assert fitted.n_parameters_ == 3 * 12 + 9
    assert fitted.n_iter_ == fitted.trace_[-1].iteration == fitted.result_.nit
    assert isinstance(fitted.coef_, sp.csr_array)
    assert fitted.coef_.shape == (3, 12)


FORMS = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "bool": lambda X: X.astype(bool),
    "int8, sparse": lambda X: sp.csr_array(X.astype(np.int8)),
    "nested list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_matrix_give_the_same_model(fitted, data, form):
    X, y, lengths = data
    model = ChainCRF(lam=1.0, stop="gap", tol=1e-6).fit(FORMS[form](X), y, lengths)
    same_model(model, fitted)
    assert (model.predict(FORMS[form](X), lengths) == fitted.predict(X, lengths)).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_lists_of_sequences(fitted, data, kind):
    X, y, lengths = data
    ends = np.cumsum(lengths)[:-1]
    X_list = [kind(part) for part in np.split(X, ends)]
    y_list = [part.tolist() for part in np.split(y, ends)]
    model = ChainCRF(lam=1.0, stop="gap", tol=1e-6).fit(X_list, y_list)
    same_model(model, fitted)
    predicted = model.predict(X_list)
    assert isinstance(predicted, list)
    assert [len(p) for p in predicted] == lengths.tolist()
    assert (np.concatenate(predicted) == fitted.predict(X, lengths)).all()
    assert [m.shape for m in model.predict_marginals(X_list)] == [(n, 3) for n in lengths]
    assert model.score(X_list, y_list) == fitted.score(X, y, lengths)


def test_rows_are_sequences_of_length_one_without_lengths(data):
    X, y, _ = data
    alone = ChainCRF(lam=1.0, stop="gap", tol=1e-6).fit(X, y)
    same_model(alone, ChainCRF(lam=1.0, stop="gap", tol=1e-6).fit(X, y, np.ones(len(X), dtype=int)))
    assert not alone.transitions_.any()


def test_input_is_neither_copied_nor_changed(data):
    X, y, lengths = data
    unsorted = sp.csr_array(X)
    unsorted.indices = unsorted.indices[::-1].copy()  # not canonical any more
    before = unsorted.indices.copy()
    ChainCRF().fit(unsorted, y[: len(X)], lengths)
    assert (unsorted.indices == before).all()

    from proxqn.estimators.input.tokens import read_tokens

    canonical = sp.csr_array(X)
    tokens = read_tokens(ChainCRF(), canonical, lengths, reset=True, to_fit=True)
    assert np.shares_memory(tokens.X.data, canonical.data)
    assert np.shares_memory(tokens.X.indices, canonical.indices)


def test_stored_zeros_and_duplicates_do_not_count(data):
    X, y, lengths = data
    matrix = sp.coo_array(X)
    doubled = sp.csr_array(
        (
            np.concatenate([matrix.data / 2, matrix.data / 2, [0.0]]),
            (
                np.concatenate([matrix.row, matrix.row, [0]]),
                np.concatenate([matrix.col, matrix.col, [0]]),
            ),
        ),
        shape=X.shape,
    )
    one = ChainCRF(pairs="observed", tol=1e-6).fit(X, y, lengths)
    same_model(ChainCRF(pairs="observed", tol=1e-6).fit(doubled, y, lengths), one, 1e-12)


def test_integer_weights_equal_repetition(data):
    X, y, lengths = data
    weights = np.random.default_rng(1).integers(0, 4, len(lengths))
    ends = np.cumsum(lengths)[:-1]
    X_list, y_list = np.split(X, ends), np.split(y, ends)
    repeated = np.repeat(np.arange(len(lengths)), weights)
    for pairs in ("all", "observed"):
        weighted = ChainCRF(stop="gap", tol=1e-7, pairs=pairs).fit(
            X, y, lengths, sample_weight=weights
        )
        copies = ChainCRF(stop="gap", tol=1e-7, pairs=pairs).fit(
            [X_list[i] for i in repeated], [y_list[i] for i in repeated]
        )
        assert weighted.objective_ == pytest.approx(copies.objective_, rel=1e-9)
        same_model(weighted, copies, 1e-3)
        assert weighted.n_parameters_ == copies.n_parameters_


def test_observed_pairs_only():
    X, y = np.tile(np.eye(2), (10, 1)), np.tile(["a", "b"], 10)
    everything = ChainCRF(lam=0.1).fit(X, y, [20])
    observed = ChainCRF(lam=0.1, pairs="observed").fit(X, y, [20])
    assert everything.coef_[0, 1] < 0.0  # feature 1 speaks against label a
    assert observed.coef_[0, 1] == 0.0
    assert everything.n_parameters_ == 8
    assert observed.n_parameters_ == 4


def test_warm_start_continues(data):
    X, y, lengths = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ChainCRF(stop="gap", tol=1e-6, max_iter=10, warm_start=True).fit(X, y, lengths)
    reached = model.objective_
    model.set_params(max_iter=1000).fit(X, y, lengths)
    cold = ChainCRF(stop="gap", tol=1e-6).fit(X, y, lengths)
    assert model.trace_[0].objective == pytest.approx(reached, rel=1e-12)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-7)
    again = model.fit(X, y, lengths)
    assert again.n_iter_ <= 1


def test_warm_start_keeps_the_labels_it_knows(data):
    X, y, lengths = data
    model = ChainCRF(warm_start=True).fit(X, y, lengths)
    others = np.where(y == "c", "d", y)
    model.fit(X, others, lengths)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert set(model.predict(X, lengths)) <= set("abcd")
    with pytest.raises(ValueError, match="expecting 12 features"):
        model.fit(X[:, :5], y, lengths)


def test_threads_and_seeds(data):
    X, y, lengths = data
    one = ChainCRF(n_jobs=1).fit(X, y, lengths)
    same_model(ChainCRF(n_jobs=2).fit(X, y, lengths), one)
    same_model(ChainCRF(n_jobs=-1, random_state=3).fit(X, y, lengths), one, 0.1)
    seeded = [ChainCRF(random_state=3).fit(X, y, lengths) for _ in range(2)]
    same_model(*seeded)


def test_solver_settings(data, fitted):
    X, y, lengths = data
    paper = ChainCRF(solver=ProxQN.paper(), stop="gap", tol=1e-6, random_state=0)
    paper.fit(X, y, lengths)
    assert paper.objective_ == pytest.approx(fitted.objective_, rel=1e-7)
    assert clone(paper).solver == ProxQN.paper()


def test_predicting_in_many_threads_at_once(fitted, data):
    X, _, lengths = data
    expected = fitted.predict(X, lengths)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: fitted.predict(X, lengths), range(64)):
            assert (found == expected).all()


@pytest.mark.parametrize("method", ["predict", "predict_marginals"])
def test_kernels_release_the_gil(method, monkeypatch):
    """Another thread runs while a kernel does: the interpreter itself is told never to switch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 3))
    model = ChainCRF(lam=1.0, max_iter=1).fit(X[:200], np.arange(200) % 100, [200])
    ran = []  # for each kernel call: whether the other thread ran during it
    wanted, done = threading.Event(), threading.Event()

    class Spied:
        def __init__(self, kernel):
            self._kernel = kernel

        def __getattr__(self, name):
            def call(*arguments):
                done.clear()
                wanted.set()
                before = done.is_set()
                getattr(self._kernel, name)(*arguments)
                ran.append(not before and done.is_set())

            return call

    def other():
        while wanted.wait(timeout=10):
            wanted.clear()
            done.set()

    make = chain_inference.chain_kernel
    monkeypatch.setattr(chain_inference, "chain_kernel", lambda *a, **k: Spied(make(*a, **k)))
    tagger = tagger_of(model, model._weights())
    monkeypatch.setattr(tagger, "_kernel", Spied(tagger._kernel))
    threading.Thread(target=other, daemon=True).start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        for _ in range(20):  # on a busy machine the other thread may get no processor in time
            getattr(model, method)(X, [12_000])
            if any(ran):
                break
    finally:
        sys.setswitchinterval(interval)
    assert any(ran)


def test_prediction_in_blocks_equals_prediction_at_once(fitted, data, monkeypatch):
    X, _, lengths = data
    at_once = fitted.predict(X, lengths), fitted.predict_marginals(X, lengths)
    monkeypatch.setattr("proxqn.estimators.inference.chain._BLOCK_TOKENS", 10)
    assert (fitted.predict(X, lengths) == at_once[0]).all()
    np.testing.assert_allclose(fitted.predict_marginals(X, lengths), at_once[1], atol=1e-14)


def test_a_pickle_is_about_as_large_as_a_model_file(tmp_path):
    """The result's point is not in it, for the coefficients are; numbers are narrow."""
    X = [[{"w": f"word{i}", "next": f"word{i + 1}"} for i in range(k, k + 40)] for k in range(50)]
    y = [["ab"[i % 3 == 0] for i in range(40)] for _ in X]
    crf = ChainCRF(lam=1e-3, l2=0.1, pairs="observed", tol=1e-2).fit(X, y)
    save(crf, tmp_path / "model.proxqn")
    pickled = pickle.dumps(crf)
    trace = len(pickle.dumps(crf.trace_))
    assert len(pickled) - trace < 1.5 * (tmp_path / "model.proxqn").stat().st_size
    copy = pickle.loads(pickled)
    assert "x" in crf.result_
    assert "x" not in copy.result_
    assert copy.result_.nnz == crf.result_.nnz
    assert copy.coef_.indices.dtype == np.int32


def test_pickle_and_clone(fitted, data):
    X, _, lengths = data
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.predict(X, lengths) == fitted.predict(X, lengths)).all()
    assert not hasattr(clone(fitted), "coef_")


def test_grid_search_over_lists(data):
    X, y, lengths = data
    ends = np.cumsum(lengths)[:-1]
    search = GridSearchCV(ChainCRF(tol=1e-3), {"lam": [0.5, 50.0]}, cv=KFold(3))
    search.fit(np.split(X, ends), [part.tolist() for part in np.split(y, ends)])
    assert search.best_params_ == {"lam": 0.5}


def test_score_is_token_accuracy(fitted, data):
    X, y, lengths = data
    right = fitted.predict(X, lengths) == y
    assert fitted.score(X, y, lengths) == right.mean()
    weights = np.arange(len(lengths))
    expected = np.average(right, weights=np.repeat(weights, lengths))
    assert fitted.score(X, y, lengths, sample_weight=weights) == pytest.approx(expected)


def test_warning_tells_the_gap(data):
    X, y, lengths = data
    with pytest.warns(ConvergenceWarning, match=r"max_iter .* duality gap is .* of the objective"):
        model = ChainCRF(max_iter=2, tol=1e-9).fit(X, y, lengths)
    assert model.status_ is Status.MAX_ITER
    assert model.n_iter_ == 2


def test_interrupt_keeps_the_last_iterate(data, monkeypatch):
    X, y, lengths = data

    def interrupt_after_five(self, row):
        if row.iteration == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("proxqn.ui.progress.Progress.__call__", interrupt_after_five)
    with pytest.warns(ConvergenceWarning, match="interrupted: the last accepted iterate"):
        model = ChainCRF(tol=1e-12, verbose=1).fit(X, y, lengths)
    assert threading.current_thread() is threading.main_thread()
    assert model.n_iter_ == 5
    assert model.objective_ == model.trace_[-1].objective
    loss = -model.log_probability(X, y, lengths).sum()
    norm = abs(model.coef_).sum() + abs(model.transitions_).sum()
    assert model.objective_ == pytest.approx(loss + norm, rel=1e-12)


def test_interrupt_before_the_first_value(data, monkeypatch):
    X, y, lengths = data
    at = ChainOracle.at

    def interrupt_once(self, w):
        monkeypatch.setattr(ChainOracle, "at", at)
        raise KeyboardInterrupt

    monkeypatch.setattr(ChainOracle, "at", interrupt_once)
    with pytest.warns(ConvergenceWarning, match="interrupted: .* No certificate was computed yet"):
        model = ChainCRF(verbose=1).fit(X, y, lengths)
    assert model.coef_.nnz == 0
    assert model.objective_ == pytest.approx(len(X) * np.log(3))
    assert model.predict(X, lengths).shape == y.shape


def test_verbose_writes_lines(data, capsys):
    X, y, lengths = data
    ChainCRF(verbose=2).fit(X, y, lengths)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split()[:2] == ["iteration", "objective"]
    assert lines[-1].startswith("converged")


def test_end_weights(data):
    X, _, lengths = data
    ends = np.cumsum(lengths)
    y = np.full(len(X), "middle")
    y[ends - 1] = "end"
    y[ends - lengths] = "start"
    plain = ChainCRF(lam=0.1).fit(X, y, lengths)
    assert not plain.start_weights_.any()
    model = ChainCRF(lam=0.1, end_weights=True, stop="gap", tol=1e-6).fit(X, y, lengths)
    assert model.coef_.shape == (3, 12)
    assert model.n_parameters_ == 3 * 14 + 9
    assert model.classes_[model.start_weights_.argmax()] == "start"
    assert model.classes_[model.end_weights_.argmax()] == "end"
    assert model.score(X, y, lengths) == 1.0
    assert model.objective_ < plain.objective_
    # By hand: two more features, at the first and at the last token.
    marks = np.zeros((len(X), 2))
    marks[ends - lengths, 0] = marks[ends - 1, 1] = 1.0
    by_hand = ChainCRF(lam=0.1, stop="gap", tol=1e-6).fit(np.hstack([X, marks]), y, lengths)
    assert model.objective_ == by_hand.objective_
    assert model.log_probability(X, y, lengths) == pytest.approx(
        by_hand.log_probability(np.hstack([X, marks]), y, lengths)
    )
    again = model.set_params(warm_start=True).fit(X, y, lengths)
    assert again.n_iter_ <= 1


def test_data_frames_pipelines_and_routing(data):
    pd = pytest.importorskip("pandas")
    X, y, lengths = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])
    model = ChainCRF().fit(frame, pd.Series(y), lengths)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"f0": "other"}), lengths)
    with config_context(enable_metadata_routing=True):
        crf = ChainCRF().set_fit_request(lengths=True).set_predict_request(lengths=True)
        crf.set_score_request(lengths=True)
        pipeline = make_pipeline(MaxAbsScaler(), crf).fit(X, y, lengths=lengths)
        same_model(pipeline[-1], model)
        assert (pipeline.predict(X, lengths=lengths) == model.predict(frame, lengths)).all()
        assert pipeline.score(X, y, lengths=lengths) == model.score(frame, y, lengths)


def test_html_representation(fitted):
    assert "ChainCRF" in fitted._repr_html_()
