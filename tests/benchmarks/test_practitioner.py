"""The practitioner's benchmark in small: what it measures must hold here as well."""

from __future__ import annotations

import pytest

pytest.importorskip("pycrfsuite", reason="the peer python-crfsuite is not installed")
pytest.importorskip("sklearn_crfsuite", reason="the peer sklearn-crfsuite is not installed")

from benchmarks.data import MissingDataError, data_file
from benchmarks.practitioner import dropin, interrupt, tight, vocabulary


@pytest.fixture(autouse=True)
def data():
    try:
        data_file("conll2000", "train.txt")
    except MissingDataError as error:
        pytest.skip(str(error))


def test_crfsuites_optimum_and_labels():
    found = tight.measure(n_sentences=60)
    assert found["relative_difference"] < 1e-6
    assert found["same_labels"] >= 0.999
    assert found["crfsuite"]["objective"] >= found["ours"]["objective"] - found["ours"]["gap"]
    assert "same label on 99.9" in tight.table(found) or "same label on 100" in tight.table(found)


def test_the_tutorial_with_another_import():
    found = dropin.measure(n_sentences=150)
    ours, theirs = found["proxqn.compat"], found["sklearn-crfsuite"]
    assert ours["weighted_f1"] >= theirs["weighted_f1"] - 0.01
    assert ours["chunk_f1"] >= theirs["chunk_f1"] - 0.01
    assert "150 sentences" in dropin.table(found)


def test_interrupted_runs_leave_a_model_or_the_old_file():
    found = interrupt.measure(moments=4, seed=1)
    counts = found["counts"]
    good = ("the previous file", "the whole run's model", "a model of fewer iterations")
    assert sum(counts.get(state, 0) for state in good) == 4
    assert not [what for what in counts if what.isupper()]


def test_a_large_vocabulary():
    found = vocabulary.measure(n_features=20_000)
    assert min(cpu for what, (_, cpu) in found["seconds"].items() if "load" in what) < 2.0
    assert "20,000 features" in vocabulary.table(found)
