"""Tagger: what the original says of the same file."""

import numpy as np
import pycrfsuite as original
import pytest
from tests.io.crfsuite.conftest import sequences

from proxqn.compat.pycrfsuite import ItemSequence, Tagger

NEW, _ = sequences(seed=5, n=20)
FORMS = [
    [["w:3", "b"], ["nothing"], []],
    ["xx", "abc", ""],
    [{"w": {"": {"3"}}}, {"xx": 0.5, "b": False}, {}],
    [{"xx": 1}.keys(), ("b",), {"b", "xx"}],
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, y = sequences()
    path = str(tmp_path_factory.mktemp("model") / "m.crfsuite")
    trainer = original.Trainer(verbose=False, params={"c1": 0.1, "c2": 0.01})
    for one in zip(X, y, strict=True):
        trainer.append(*one)
    trainer.train(path)
    return path


@pytest.fixture
def pair(path):
    ours, theirs = Tagger(), original.Tagger()
    ours.open(path)
    theirs.open(path)
    return ours, theirs


@pytest.mark.parametrize("xseq", [*NEW, *FORMS, []])
def test_tags_and_probabilities_are_the_originals(pair, xseq):
    ours, theirs = pair
    tags = theirs.tag(xseq)
    assert ours.tag(xseq) == tags
    assert ours.tag(ItemSequence(xseq)) == tags
    assert ours.tag() == tags
    if tags:
        assert ours.probability(tags) == pytest.approx(theirs.probability(tags), abs=1e-9)
    for t in range(len(tags)):
        for label in theirs.labels():
            expected = theirs.marginal(label, t)
            assert ours.marginal(label, t) == pytest.approx(expected, abs=1e-9)


def test_many_sequences_at_once(pair):
    ours, _ = pair
    assert ours.tag_many([*NEW, []]) == [*(ours.tag(x) for x in NEW), []]
    first = ours.marginals(NEW)[0]
    ours.set(NEW[0])
    assert first == [{y: ours.marginal(y, t) for y in ours.labels()} for t in range(len(NEW[0]))]


def test_info_and_dump_are_the_originals(pair, tmp_path):
    ours, theirs = pair
    found, expected = ours.info(), theirs.info()
    assert found.header == expected.header
    assert found.labels == expected.labels
    assert found.attributes == expected.attributes
    for name in ("transitions", "state_features"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    ours.dump(tmp_path / "ours")
    theirs.dump(str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_dump_to_standard_output(pair, capsys):
    pair[0].dump()
    assert capsys.readouterr().out.startswith("FILEHEADER = {\n  magic: lCRF\n")


USES = [
    lambda t: t.labels(), lambda t: t.tag([["a"]]), lambda t: t.set([["a"]]),
    lambda t: t.probability(["A"]), lambda t: t.marginal("A", 0), lambda t: t.info(),
    lambda t: t.dump(),
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_a_closed_tagger_says_so_as_the_original_does(use, path):
    ours, theirs = Tagger(), original.Tagger()
    for tagger in (ours, theirs):
        with tagger.open(path):
            pass
    errors = []
    for tagger in (ours, theirs):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            use(tagger)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]
    ours.close()


WRONG = [
    lambda t: t.probability(["A"]), lambda t: t.probability(["?"] * len(NEW[0])),
    lambda t: t.marginal("?", 0), lambda t: t.marginal("A", 99), lambda t: t.marginal("A", -1),
]  # fmt: skip


@pytest.mark.parametrize("use", WRONG)
def test_what_is_wrong_is_the_same_kind_of_error(pair, use):
    errors = []
    for tagger in pair:
        tagger.set(NEW[0])
        with pytest.raises(Exception) as caught:  # noqa: PT011
            use(tagger)
        errors.append(caught.type)
    assert errors[0] is errors[1]


@pytest.mark.parametrize("xseq", [[{"a": None}], [5], 5, [{"a": float("nan")}]])
def test_tokens_of_another_kind_are_refused(pair, xseq):
    with pytest.raises((TypeError, ValueError)):
        pair[0].tag(xseq)


@pytest.mark.parametrize("data", [b"", b"foo", b"lCRFfoo", b"lCRFfoo" * 100])
def test_files_that_are_no_models(data, tmp_path):
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(ValueError, match="m: "):
        Tagger().open(tmp_path / "m")
    with pytest.raises(ValueError, match="the model in memory: "):
        Tagger().open_inmemory(data)
    with pytest.raises(FileNotFoundError):
        Tagger().open(tmp_path / "none")
    with pytest.raises(TypeError, match="got a str"):
        Tagger().open_inmemory("text")


def test_a_file_that_cannot_be_opened_leaves_the_old_one_open(pair, tmp_path):
    ours, _ = pair
    (tmp_path / "m").write_bytes(b"lCRF")
    with pytest.raises(ValueError, match="damaged"):
        ours.open(tmp_path / "m")
    assert ours.labels()


@pytest.mark.parametrize("n_labels", [0, 1])
def test_models_with_nothing_to_choose(n_labels, tmp_path):
    trainer = original.Trainer(verbose=False)
    for _ in range(n_labels):
        trainer.append([["a"]], ["X"])
    trainer.train(str(tmp_path / "m"))
    tagger = Tagger()
    tagger.open(tmp_path / "m")
    assert tagger.tag([]) == []
    if not n_labels:
        with pytest.raises(ValueError, match="trained without data"):
            tagger.tag([["a"]])
        return
    assert tagger.tag([["a"], ["b"]]) == ["X", "X"]
    assert (tagger.probability(["X", "X"]), tagger.marginal("X", 1)) == (1.0, 1.0)
    assert tagger.info().labels == {"X": "0"}


def test_a_model_without_weights_breaks_ties_in_some_order(tmp_path):
    trainer = original.Trainer(verbose=False, params={"c1": 1e6})
    trainer.append([["a"], ["b"]], ["X", "Y"])
    trainer.train(str(tmp_path / "m"))
    with Tagger().open(tmp_path / "m") as tagger:
        assert set(tagger.tag([["a"], ["b"]])) <= {"X", "Y"}
        assert np.isclose(tagger.probability(["X", "Y"]), 0.25)
