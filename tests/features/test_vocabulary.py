"""The vocabulary: columns of names, counts, cut-off, storage."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.name_index import NameIndex, pack_names
from proxqn.features.vocabulary import UNSEEN, Vocabulary, VocabularyBuilder

names_of_text = st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True)


@given(names_of_text, names_of_text)
def test_columns_equal_a_dictionary(names, others):
    vocabulary = Vocabulary.from_names(names)
    table = {name: j for j, name in enumerate(names)}
    asked = names + others
    assert vocabulary.columns(asked).tolist() == [table.get(name, UNSEEN) for name in asked]
    assert vocabulary.names() == names
    assert [vocabulary.name(j) for j in range(len(names))] == names


@given(names_of_text)
def test_names_survive_storage(names):
    vocabulary = Vocabulary.from_names(names, counts=np.arange(len(names)))
    assert Vocabulary(*vocabulary.to_arrays()) == vocabulary
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary
    assert again.columns(names).tolist() == list(range(len(names)))
    assert again.counts.dtype == np.int64


def test_pickles_are_small_and_those_of_before_are_read():
    names = [f"word:{j}" for j in range(1000)]
    vocabulary = Vocabulary.from_names(names, counts=np.full(1000, 300))
    n_bytes = sum(map(len, names)) + 1000 * (1 + 2)  # of a name: its size, and how often it occurs
    assert len(pickle.dumps(vocabulary)) < n_bytes + 1000
    again = Vocabulary.__new__(Vocabulary)
    again.__setstate__(vocabulary.to_arrays())  # the state of 0.1
    assert again == vocabulary


def test_names_that_share_a_hash_are_told_apart():
    """The Thue-Morse word and its opposite: equal under every such polynomial modulo 2^64."""
    word = "a"
    for _ in range(11):
        word += word.translate(str.maketrans("ab", "ba"))
    opposite = word.translate(str.maketrans("ab", "ba"))
    index = NameIndex(*pack_names([word, "a", ""]))
    assert index.find([opposite, word, "", "b"]).tolist() == [-1, 0, 2, -1]
    both = NameIndex(*pack_names([word, opposite]))
    assert both.find([opposite, word]).tolist() == [1, 0]


def test_long_and_many_names():
    names = [f"feature {i} " + "x" * (i % 300) for i in range(2000)] + ["y" * 200_000]
    shuffled = [names[i] for i in np.random.default_rng(0).permutation(len(names))]
    vocabulary = Vocabulary.from_names(names)
    assert vocabulary.names(vocabulary.columns(shuffled)) == shuffled


def test_builder_counts_and_cuts():
    builder = VocabularyBuilder()
    assert builder.add(["a", "b", "a"]).tolist() == [0, 1, 0]
    assert builder.add(["c", "b"], counts=[5, 1]).tolist() == [2, 1]
    vocabulary, new_column = builder.freeze(min_freq=3)
    assert vocabulary.names() == ["c"]
    assert vocabulary.counts.tolist() == [5]
    assert new_column.tolist() == [-1, -1, 0]
    everything, _ = builder.freeze()
    assert everything.counts.tolist() == [2, 2, 5]


def test_builder_grows_past_its_first_capacity():
    builder = VocabularyBuilder()
    names = [str(i) for i in range(5000)]
    builder.add(names)
    builder.add(names[::-1])
    vocabulary, _ = builder.freeze()
    assert (vocabulary.counts == 2).all()
    assert vocabulary.names() == names


def test_it_can_be_looked_at():
    vocabulary = Vocabulary.from_names(["U0:the", "U0:dog", "U1:é", "B"], counts=[3, 1, 9, 9])
    assert repr(vocabulary) == "Vocabulary(4 features: 'U0:the', 'U0:dog', 'U1:é', …)"
    assert repr(Vocabulary.from_names([])) == "Vocabulary(0 features)"
    assert vocabulary.most_common(2) == [("U1:é", 9), ("B", 9)]
    assert vocabulary.search("^U0") == ["U0:the", "U0:dog"]
    assert vocabulary.search("(") == []  # not a regular expression: taken as text
    assert "B" in vocabulary
    assert 3 not in vocabulary
    assert vocabulary.subset([3, 1]).names() == ["B", "U0:dog"]
    assert vocabulary.subset([3, 1]).counts.tolist() == [9, 1]
    assert vocabulary != "a string"


def test_missing_names_and_columns_are_explained():
    vocabulary = Vocabulary.from_names(["U0:the", "U0:dog"])
    with pytest.raises(KeyError, match=r"no feature 'U0:teh' among 2; did you mean.*U0:the"):
        vocabulary["U0:teh"]
    with pytest.raises(IndexError, match="expected a column from 0 to 1, got 2"):
        vocabulary.name(2)


@pytest.mark.parametrize(
    ("blob", "offsets", "counts", "message"),
    [
        (b"ab", [0, 1], None, "offsets that rise from 0 to 2"),
        (b"ab", [0, 2, 1, 2], None, "offsets that rise"),
        (b"ab", [1, 2], None, "offsets that rise"),
        (b"ab", [], None, "n_features \\+ 1 offsets"),
        (b"ab", [0, 1, 2], [1], "expected 2 counts"),
        ("é".encode(), [0, 1, 2], None, "in the middle of a UTF-8 character"),
        (b"a\xff", [0, 1, 2], None, "not valid UTF-8"),
    ],
)
def test_damaged_arrays_are_refused(blob, offsets, counts, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary(np.frombuffer(blob, np.uint8), np.array(offsets, np.int64), counts)


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "b", "a"], "'a' occurs twice"), (["\ud800"], "valid text, got '\\\\ud800'")],
)
def test_bad_names_are_refused(names, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.from_names(names)
