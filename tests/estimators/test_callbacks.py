"""Callbacks of ``fit``: rows for all, weights for watchers, models for model watchers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from proxqn import ChainCRF, HierarchicalClassifier
from proxqn.compat import CRF
from proxqn.estimators.callbacks import ModelWatcher
from proxqn.run.watch import Watcher

WORDS = [["dogs", "bark"], ["cats", "purr"], ["dogs", "purr"], ["cats", "bark", "dogs"]] * 3
LABELS = [["N", "V"], ["N", "V"], ["N", "V"], ["N", "V", "N"]] * 3
X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "a", "b")

FITS = {
    "chain": lambda **more: ChainCRF(lam=0.1, tol=1e-9).fit(WORDS, LABELS, **more),
    "tree": lambda **more: HierarchicalClassifier(lam=0.1, tol=1e-9).fit(X, Y, **more),
    "compat": lambda **more: CRF(c1=0.1, c2=0.01, tol=1e-9).fit(WORDS, LABELS, **more).crf_,
}
all_fits = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


@all_fits
def test_a_callback_sees_every_row_and_changes_nothing(fit):
    rows = []
    model = fit(callback=rows.append)
    assert [row.objective for row in rows] == list(model.trace_.column("objective"))
    assert (model.coef_ != fit().coef_).nnz == 0


@all_fits
def test_a_callback_ends_the_fit(fit):
    with pytest.warns(ConvergenceWarning, match="the callback asked for it"):
        model = fit(callback=lambda row: row.iteration >= 2)
    assert model.n_iter_ == 2


@all_fits
def test_a_watcher_sees_weights(fit):
    class Weights(Watcher):
        def __init__(self):
            self.seen = []

        def see(self, iterate):
            self.seen.append(len(iterate.weights.values))

        def __call__(self, row):
            assert row.nnz == self.seen[-1]

    watcher = Weights()
    model = fit(callback=watcher)
    assert len(watcher.seen) >= model.n_iter_
    assert watcher.seen[-1] == model.result_.nnz


class Predictions(ModelWatcher):
    """Keeps what the models on the way predict."""

    def __init__(self, X):
        self.X, self.found, self.calls = X, [], 0

    def look(self, row, model):
        if row.iteration % 2 == 0:
            self.found.append(model().predict(self.X))

    def __call__(self, row):
        self.calls += 1


@pytest.mark.parametrize(("kind", "data"), [("chain", WORDS), ("tree", X)])
def test_a_model_watcher_sees_models(kind, data):
    watcher = Predictions(data)
    model = FITS[kind](callback=watcher)
    assert watcher.calls >= model.n_iter_
    assert len(watcher.found) >= model.n_iter_ // 2
    assert type(watcher.found[-1]) is type(model.predict(data))


def test_progress_is_shown_beside_a_callback(capsys):
    rows = []
    model = ChainCRF(lam=0.1, verbose=2).fit(WORDS, LABELS, callback=rows.append)
    assert len(rows) == model.n_iter_ + 1
    assert "converged" in capsys.readouterr().err
