"""Chains come from Wapiti's files, label as Wapiti does, and go back."""

import numpy as np
import pytest
from tests.io.golden_files import FOLDER, cells, labelled, rows

from proxqn import ChainCRF, load, save
from proxqn.io.wapiti import parse_model, read_model

NEW = rows("new.txt")


@pytest.fixture(scope="module")
def crf():
    return ChainCRF.from_wapiti(FOLDER / "letters.wapiti")


def test_labels_are_wapitis(crf):
    found = [list(labels) for labels in crf.predict(NEW)]
    expected = labelled("wapiti-scores.txt", 2)
    assert found == [[row[0] for row in part] for _, part in expected]


def test_probabilities_are_wapitis(crf):
    marginals = crf.predict_marginals(NEW)
    classes = crf.classes_.tolist()
    for rows_, (_, part) in zip(marginals, labelled("wapiti-posteriors.txt", 2), strict=True):
        for row, (label, cell) in zip(rows_, part, strict=True):
            assert row[classes.index(label)] == pytest.approx(cells([cell])[label], abs=1e-6)


def test_scores_of_labellings_differ_as_wapitis(crf):
    best = crf.predict_n_best(NEW, n=3)
    scores = iter(labelled("wapiti-3-best.txt", 2))
    for found in best:
        expected = [next(scores) for _ in range(3)]
        assert [list(labels) for labels, _ in found] == [[r[0] for r in p] for _, p in expected]
        differences = np.diff(np.log([p for _, p in found]))
        assert differences == pytest.approx(np.diff([s for s, _ in expected]), abs=2e-6)


def test_status_says_where_it_comes_from(crf):
    assert crf.status_.name == "IMPORTED"


@pytest.mark.parametrize("compact", [True, False])
def test_it_goes_back_as_it_came(crf, tmp_path, compact):
    crf.to_wapiti(tmp_path / "m", compact=compact)
    came, back = read_model(FOLDER / "letters.wapiti"), read_model(tmp_path / "m")
    if not compact:
        assert sorted(back.names) == sorted(came.names)
    assert back.templates == came.templates
    assert _weights(back) == _weights(came)
    again = ChainCRF.from_wapiti(tmp_path / "m")
    for one, other in zip(again.predict_marginals(NEW), crf.predict_marginals(NEW), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def _weights(model):
    found = {}
    for name, labels, pairs in zip(
        model.names, model.weights.toarray(), model.edge_weights.toarray(), strict=True
    ):
        for j, weight in enumerate(labels):
            found[name, model.labels[j]] = weight
        for j, weight in enumerate(pairs):
            found[name, model.labels[j // 3], model.labels[j % 3]] = weight
    return {key: weight for key, weight in found.items() if weight}


def test_our_own_file_keeps_the_dialect(crf, tmp_path):
    save(crf, tmp_path / "m.proxqn")
    again = load(tmp_path / "m.proxqn")
    assert again.encoder_.templates == crf.encoder_.templates
    assert all((a == b).all() for a, b in zip(again.predict(NEW), crf.predict(NEW), strict=True))


def test_bytes_beyond_utf8_are_names_and_labels_too():
    file = (
        b"#mdl#2#1\n#rdr#1/0/0\n10:u0:%x[0,0],\n#qrk#2\n1:A,\n2:\xe9B,\n#qrk#1\n4:u0:\xff,\n1=1\n"
    )
    model = parse_model(file)
    assert [ascii(label) for label in model.labels] == ["'A'", r"'\U0010ffe9B'"]
    assert ascii(model.names[0]) == r"'u0:\U0010ffff'"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"end_weights": True}, "no weights of a label at the first token .start_weights_"),
        ({"fit_intercept": True}, "no weights of a label at every token .intercept_"),
    ],
)
def test_weights_that_wapiti_has_not_are_refused_by_name(tmp_path, settings, message):
    X = [[row[:2] for row in sequence] for sequence in rows("letters.txt")]
    y = [[row[2] for row in sequence] for sequence in rows("letters.txt")]
    model = ChainCRF(lam=0.01, templates="U:%x[0,0]\nB", **settings).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.to_wapiti(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_model_without_templates_is_refused(tmp_path):
    model = ChainCRF(lam=0.1).fit([["a", "b"]] * 2, [["A", "B"]] * 2)
    with pytest.raises(ValueError, match="need feature templates"):
        model.to_wapiti(tmp_path / "m")
