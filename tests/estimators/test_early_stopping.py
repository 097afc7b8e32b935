"""The iterate that scores best on a development set is kept, with what is proved of it."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import proxqn
from proxqn import ChainCRF, HierarchicalClassifier
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.estimators.development import development_set
from proxqn.estimators.early_stopping import EarlyStopping, Looks
from proxqn.problem import SparseVector
from proxqn.run.status import Status
from proxqn.run.trace import Row

KINDS = (ChainCRF, HierarchicalClassifier)
kinds = pytest.mark.parametrize("kind", KINDS)
LIKELIHOOD = {"scoring": "log_likelihood"}


def noisy(n, seed):
    """Return labels that one feature of many tells, most of the time: a fit learns noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 30))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, "a", "b")


X, Y = noisy(80, 0)
DEV = noisy(300, 1)


def likelihood(model):
    return development_set(DEV, "log_likelihood")(model)(model)


@kinds
def test_the_best_iterate_is_kept_and_predictions_come_from_it(kind):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, patience=3, **LIKELIHOOD)
    last = kind(lam=0.01).fit(X, Y)
    found = early.validation_
    assert 0 < found.best_iteration < early.n_iter_ < last.n_iter_
    again = kind(lam=0.01, max_iter=found.best_iteration)  # the iterate itself, made anew
    with pytest.warns(ConvergenceWarning):
        again.fit(X, Y)
    assert (early.coef_ != again.coef_).nnz == 0
    assert (early.predict(DEV[0]) == again.predict(DEV[0])).all()
    assert likelihood(early) == found.best_score > likelihood(last)


@kinds
def test_the_certificate_is_that_of_the_kept_iterate(kind):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, **LIKELIHOOD)
    optimum = kind(lam=0.01, tol=1e-6, stop="gap").fit(X, Y).objective_
    row = early.trace_[early.validation_.best_iteration]
    assert early.objective_ == early.result_.fun == row.objective
    assert early.objective_ - early.gap_ <= optimum <= early.objective_
    assert early.gap_ <= row.gap  # bounds that were proved later hold for it
    assert 0.0 < early.estimate_ <= early.gap_
    assert early.gap_box_ <= early.gap_
    assert early.result_.nnz == row.nnz == len(early.result_.weights.values)
    assert early.result_.x.nnz == row.nnz


@kinds
def test_why_it_stopped_is_said(kind, recwarn):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, patience=3, **LIKELIHOOD)
    found = early.validation_
    assert not recwarn.list
    assert early.status_ is Status.DEVELOPMENT
    assert found.iterations[-1] == early.n_iter_
    assert found.scores.index(found.best_score) == len(found.scores) - 1 - 3
    assert f"kept iteration {found.best_iteration} of {early.n_iter_}" in found.reason
    assert "3 looks brought nothing better" in early.result_.message


@kinds
def test_without_patience_the_fit_goes_on_to_the_end(kind, recwarn):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, patience=None, **LIKELIHOOD)
    last = kind(lam=0.01).fit(X, Y)
    assert early.n_iter_ == last.n_iter_
    assert early.validation_.best_iteration < early.n_iter_
    assert early.status_ is Status.DEVELOPMENT
    assert Status.ESTIMATE.value in early.validation_.reason
    assert not recwarn.list


@kinds
def test_a_fit_that_is_best_at_its_end_has_converged(kind):
    early = kind(lam=5.0).fit(X, Y, validation=(X, Y), patience=None, scoring=lambda *_: 1.0)
    plain = kind(lam=5.0).fit(X, Y)
    assert early.validation_.best_iteration == early.n_iter_  # of equal scores the last
    assert early.status_ is plain.status_
    assert early.status_.success
    assert (early.coef_ != plain.coef_).nnz == 0
    assert (early.gap_, early.estimate_) == (plain.gap_, plain.estimate_)


def test_looks_are_few_and_depend_on_iterations_alone():
    looks, row = Looks(), ChainCRF().fit(X, Y).trace_[0]
    for iteration in range(98):
        if iteration >= looks.next:
            looks = looks.taken(_at(row, iteration), SparseVector.empty(), 0.5)
    first = (0, 1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 66, 76, 86, 96)
    assert looks.iterations == first


def test_ties_keep_the_later_iterate_and_use_up_patience():
    looks, row = Looks(), ChainCRF().fit(X, Y).trace_[0]
    for iteration, score in enumerate((0.1, 0.3, 0.2, 0.3)):
        looks = looks.taken(_at(row, iteration), SparseVector.empty(), score)
    assert looks.kept.iteration == 3
    assert (looks.best, looks.without_better) == (0.3, 2)


def _at(row: Row, iteration: int) -> Row:
    return Row(**(vars(row) | {"iteration": iteration}))


@kinds
def test_the_trace_has_the_scores(kind):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, **LIKELIHOOD)
    scores = early.trace_.column("score")
    found = early.validation_
    assert tuple(np.flatnonzero(~np.isnan(scores))) == found.iterations
    assert tuple(scores[list(found.iterations)]) == found.scores


@kinds
def test_the_same_bits_for_any_number_of_threads(kind):
    one, three = (kind(lam=0.01, n_jobs=n).fit(X, Y, validation=DEV, **LIKELIHOOD) for n in (1, 3))
    assert one.validation_ == three.validation_
    assert (one.coef_ != three.coef_).nnz == 0


@kinds
def test_ctrl_c_keeps_the_best(kind):
    def interrupt(row):
        if row.iteration == 12:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        early = kind(lam=0.01).fit(
            X, Y, validation=DEV, patience=None, callback=interrupt, **LIKELIHOOD
        )
    assert early.status_ is Status.INTERRUPTED
    assert early.validation_.best_iteration < early.n_iter_ == 12
    assert likelihood(early) == early.validation_.best_score


@kinds
def test_a_callback_and_progress_go_beside_it(kind, capsys):
    class Models(ModelWatcher):
        seen, rows = 0, 0

        def look(self, row, model):
            self.seen += len(model().classes_) == 2

        def __call__(self, row):
            self.rows += 1

    watcher = Models()
    early = kind(lam=0.01, verbose=2).fit(
        X, Y, validation=DEV, patience=3, callback=watcher, **LIKELIHOOD
    )
    assert watcher.seen == watcher.rows == early.n_iter_ + 1
    shown = capsys.readouterr().err
    assert "score" in shown.splitlines()[0]
    assert f"{early.validation_.best_score:.4f}" in shown
    assert "nothing better" in shown


@kinds
def test_pickles_clones_and_files(kind, tmp_path):
    early = kind(lam=0.01).fit(X, Y, validation=DEV, **LIKELIHOOD)
    again = pickle.loads(pickle.dumps(early))
    assert again.validation_ == early.validation_
    assert not hasattr(clone(early), "validation_")
    proxqn.save(early, tmp_path / "m")
    loaded = proxqn.load(tmp_path / "m")
    assert loaded.status_ is Status.DEVELOPMENT
    assert (loaded.objective_, loaded.gap_) == (early.objective_, early.gap_)
    assert early.fit(X, Y).validation_ is None  # a fit without forgets


@kinds
def test_units_of_features_do_not_matter(kind):
    """Columns far from 1 in size are scaled in the solver; the iterate is kept in the user's."""
    scale = np.where(np.arange(30) % 2, 1e8, 1.0)
    early = kind(lam=0.01).fit(X * scale, Y, validation=(DEV[0] * scale, DEV[1]), **LIKELIHOOD)
    assert early.validation_.best_iteration < early.n_iter_
    score = development_set((DEV[0] * scale, DEV[1]), "log_likelihood")(early)
    assert score(early) == early.validation_.best_score


def test_one_encoding_serves_all_looks():
    dev = _Counted([["cats", "bark"], ["dogs", "purr"]])
    words = [["dogs", "bark"], ["cats", "purr"], ["cats"]] * 5
    labels = [["N", "V"], ["N", "V"], ["N"]] * 5
    early = ChainCRF(lam=0.01).fit(words, labels, validation=(dev, [["N", "V"]] * 2))
    once = dev.read
    assert len(early.validation_.scores) > 2
    dev.read = 0
    early.predict(dev)
    assert 0 < once <= 4 * dev.read


class _Counted(list):
    read = 0

    def __iter__(self):
        self.read += 1
        return super().__iter__()


@pytest.mark.parametrize("patience", [0, -1, 1.5, True, "five"])
def test_bad_patience_is_refused_before_the_data_are_read(patience):
    with pytest.raises(ValueError, match="patience must be an integer, 1 or above, or None"):
        ChainCRF().fit(None, None, validation=DEV, patience=patience)


def test_as_a_callback_it_says_where_it_belongs():
    with pytest.raises(RuntimeError, match="validation=…"):
        ChainCRF().fit(X, Y, callback=EarlyStopping(development_set(DEV)))


def test_a_resumed_run_is_for_its_own_development_set():
    first = EarlyStopping(development_set(DEV, "log_likelihood"))
    ChainCRF(lam=0.01).fit(X, Y, validation=first)
    other = EarlyStopping(development_set((X, Y), "log_likelihood"), looks=first.looks)
    with pytest.raises(ValueError, match="Pass the development set of that run"):
        ChainCRF(lam=0.01).fit(X, Y, validation=other)
