"""Chains go to CRFsuite and come back; its Tagger says what we say."""

import pickle

import numpy as np
import pycrfsuite
import pytest
from tests.io.crfsuite.conftest import sequences

import proxqn
from proxqn import ChainCRF
from proxqn.io.crfsuite import from_bytes, to_bytes
from proxqn.io.crfsuite.chain import to_chain, to_model
from proxqn.io.foreign import ForeignFileError
from proxqn.run.status import Status

NEW, _ = sequences(seed=1)


def marginals(tagger, x):
    tagger.set(x)
    return [[tagger.marginal(label, t) for label in sorted(tagger.labels())] for t in range(len(x))]


def assert_same(crf, path, X):
    """Every tag equal, marginals to 1e-6."""
    with pycrfsuite.Tagger().open(str(path)) as _:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        assert [tagger.tag(x) for x in X] == [y.tolist() for y in crf.predict(X)]
        for x, ours in zip(X, crf.predict_marginals(X), strict=True):
            np.testing.assert_allclose(ours, marginals(tagger, x), atol=1e-6)


def test_their_model_labels_as_in_their_program(theirs):
    crf = ChainCRF.from_crfsuite(theirs)
    assert crf.classes_.tolist() == ["A", "Z", "é"]  # sorted; theirs are as they first occur
    assert_same(crf, theirs, NEW)


@pytest.mark.parametrize("structure", [{"pairs": "observed"}, {"pairs": "all"}])
def test_our_model_labels_as_in_their_program(data, structure, tmp_path):
    crf = ChainCRF(lam=0.1, l2=0.02, **structure).fit(*data)
    crf.to_crfsuite(tmp_path / "m")
    assert_same(crf, tmp_path / "m", NEW)
    again = ChainCRF.from_crfsuite(tmp_path / "m")
    assert [y.tolist() for y in again.predict(NEW)] == [y.tolist() for y in crf.predict(NEW)]


def test_labels_may_have_the_order_they_have_in_the_data(data, tmp_path):
    crf = ChainCRF(lam=0.1).fit(*data)
    assert to_model(crf, ["é", "Z", "A"]).labels == ("é", "Z", "A")
    (tmp_path / "m").write_bytes(to_bytes(to_model(crf, ["é", "Z", "A"])))
    assert_same(crf, tmp_path / "m", NEW)


def test_what_comes_from_a_file_is_a_model_like_others(theirs, tmp_path):
    crf = ChainCRF.from_crfsuite(theirs)
    assert crf.status_ is Status.IMPORTED
    assert (np.isnan(crf.objective_), crf.gap_) == (True, np.inf)
    proxqn.save(crf, tmp_path / "m.proxqn")
    loaded = proxqn.load(tmp_path / "m.proxqn")
    assert np.isnan(loaded.objective_)
    for other in (loaded, pickle.loads(pickle.dumps(crf))):
        assert [y.tolist() for y in other.predict(NEW)] == [y.tolist() for y in crf.predict(NEW)]
    assert to_bytes(to_model(crf)) == to_bytes(to_model(loaded))


def test_a_fit_may_start_from_it(theirs, data):
    crf = ChainCRF(lam=0.1, l2=0.02, pairs="observed", end_weights=False, tol=1e-6)
    near = crf.fit(*data, initial=ChainCRF.from_crfsuite(theirs)).n_iter_
    assert 0 < near <= crf.fit(*data).n_iter_


def test_numbers_without_names_are_called_x(tmp_path):
    crf = ChainCRF(lam=0.1).fit(np.eye(2)[[0, 1] * 4], [3, 4] * 4, lengths=[8])
    model = to_model(crf)
    assert (model.labels, model.attributes.names()) == (("3", "4"), ["x0", "x1"])


@pytest.mark.parametrize(
    ("crf", "fit", "message"),
    [
        (ChainCRF(lam=0.1, fit_intercept=True), {}, "no intercept"),
        (ChainCRF(lam=0.1, end_weights=True), {}, "no weights for the ends"),
        (ChainCRF(lam=0.1), {"edges": np.arange(8)[:, None] % 2}, r"the model has \d+ such"),
    ],
)
def test_weights_without_a_place_are_refused(crf, fit, message, tmp_path):
    y = list("AABAABBA")
    X = np.column_stack([np.arange(8) % 3 == 0, np.arange(8) % 2])
    crf.fit(X, y, lengths=[4, 4], **fit)
    with pytest.raises(ValueError, match=message):
        crf.to_crfsuite(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_model_of_one_label_is_no_chain(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"]], ["X"])
    trainer.train(str(tmp_path / "m"))
    with pytest.raises(ForeignFileError, match="a model of 1 label;"):
        ChainCRF.from_crfsuite(tmp_path / "m")
    assert from_bytes((tmp_path / "m").read_bytes()).labels == ("X",)


def test_a_model_without_weights_labels(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False, params={"c1": 1e6})
    trainer.append([["a"], ["b"]], ["X", "Y"])
    trainer.train(str(tmp_path / "m"))
    crf = to_chain(from_bytes((tmp_path / "m").read_bytes()))
    np.testing.assert_allclose(crf.predict_marginals([[["a"], ["b"]]])[0], 0.5)
