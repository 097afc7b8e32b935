"""Chains come from CRF++'s files, label as CRF++ does, and go back."""

import numpy as np
import pytest
from tests.io.golden_files import FOLDER, cells, labelled, rows

from proxqn import ChainCRF

NEW = rows("new.txt")


@pytest.fixture(scope="module", params=["letters.crfpp", "letters.crfpp.txt"])
def crf(request):
    return ChainCRF.from_crfpp(FOLDER / request.param)


def test_labels_and_probabilities_are_crfpps(crf):
    expected = labelled("crfpp-v2.txt", 2)
    marginals, classes = crf.predict_marginals(NEW), crf.classes_.tolist()
    for labels, rows_, (_, part) in zip(crf.predict(NEW), marginals, expected, strict=True):
        assert [row[0].partition("/")[0] for row in part] == list(labels)
        for row, cells_ in zip(rows_, part, strict=True):
            given = cells(cells_[1:])
            assert [given[label] for label in classes] == pytest.approx(row, abs=1e-6)


def test_the_three_best_are_crfpps(crf):
    expected = iter(labelled("crfpp-3-best.txt", 2))
    for found in crf.predict_n_best(NEW, n=3):
        for labels, probability in found:
            given, part = next(expected)
            assert [row[0] for row in part] == list(labels)
            assert probability == pytest.approx(given, abs=1e-6)


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("compact", [True, False])
def test_it_goes_back_as_it_came(crf, tmp_path, text, compact):
    crf.to_crfpp(tmp_path / "m", text=text, compact=compact)
    again = ChainCRF.from_crfpp(tmp_path / "m")
    assert again.encoder_.templates.items[0] == crf.encoder_.templates.items[0]
    for one, other in zip(again.predict_marginals(NEW), crf.predict_marginals(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7 if not text else 1e-12)


def test_the_other_programs_file_says_the_same(crf, tmp_path):
    crf.to_wapiti(tmp_path / "m")
    again = ChainCRF.from_wapiti(tmp_path / "m")
    for one, other in zip(again.predict_marginals(NEW), crf.predict_marginals(NEW), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_templates_that_crfpp_has_not_are_refused_by_name(tmp_path):
    crf = ChainCRF.from_wapiti(FOLDER / "letters.wapiti")
    with pytest.raises(ValueError, match=r"CRF\+\+ cannot hold the template 'u01:%X\[0,0\]'"):
        crf.to_crfpp(tmp_path / "m")


def test_rare_features_left_out_by_crfpp_are_not_missed():
    crf = ChainCRF.from_crfpp(FOLDER / "frequent.crfpp")
    assert "U01:Anna" not in crf.vocabulary_
    assert "U01:The" in crf.vocabulary_
