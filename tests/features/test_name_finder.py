"""Features found in a vocabulary by their pieces: the same as those spelt out in Python."""

import contextlib
import itertools
import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.features.test_template_columns import sequences, template_lines

from proxqn import ChainCRF
from proxqn.features.encoding import SequenceEncoder
from proxqn.features.name_finder import NameFinder
from proxqn.features.sequence_record import SequenceRecord
from proxqn.features.templates import Templates


def in_python():
    """Leave everything to the slow way."""
    return mock.patch.object(NameFinder, "find", return_value=None)


def same(a, b):
    assert (a is None) == (b is None)
    if a is not None:
        assert a.shape == b.shape
        assert a.has_canonical_format
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
            assert getattr(a, name).dtype == getattr(b, name).dtype


def check(encoder, data):
    """Both ways give the same; returns whether the quick one read the data."""
    quick = encoder.transform(data)
    with in_python():
        slow = encoder.transform(data)
    same(quick.X, slow.X)
    same(quick.edges, slow.edges)
    assert quick.n_unseen == slow.n_unseen
    np.testing.assert_array_equal(quick.lengths, slow.lengths)
    return encoder._known().find(data, None) is not None


@given(st.lists(template_lines, min_size=1, max_size=5), sequences, sequences, st.integers(1, 8))
def test_templates(lines, known, new, chunk_tokens):
    templates = Templates.parse("\n".join(lines))
    encoder = SequenceEncoder(templates, chunk_tokens=chunk_tokens).fit(known)
    assert check(encoder, new) == any(new)  # without a token there are no columns to count


@given(st.lists(template_lines, min_size=1, max_size=5), sequences, sequences, st.integers(1, 8))
def test_templates_of_a_vocabulary_that_grows(lines, first, more, chunk_tokens):
    templates = Templates.parse("\n".join(lines))
    learnt = []
    for way in (contextlib.nullcontext, in_python):
        encoder = SequenceEncoder(templates, chunk_tokens=chunk_tokens)
        with way():
            encoded = [encoder.fit_transform(first), encoder.grow_transform(more)]
        learnt.append((encoder, encoded))
    (quick, encoded), (slow, expected) = learnt
    assert quick.vocabulary == slow.vocabulary
    assert quick.edge_vocabulary == slow.edge_vocabulary
    for a, b in zip(encoded, expected, strict=True):
        same(a.X, b.X)
        same(a.edges, b.edges)


def test_nothing_is_learnt_of_what_is_left_to_the_slow_way():
    """Else the names before it would be counted twice."""
    templates = Templates.parse("U:%x[0,0]")
    data = [[["the"], ["dog"]], [["the"], [Text("dog")]]]
    assert SequenceEncoder(templates).fit(data).vocabulary.counts.tolist() == [2, 2]


letters = st.text("aé:", max_size=2)
plain_values = st.one_of(letters, st.booleans(), st.integers(-2, 2), st.floats(-2, 2))
plain_items = st.one_of(letters, st.lists(letters), st.dictionaries(letters, plain_values))


@given(
    st.lists(st.lists(plain_items), min_size=1),
    st.lists(st.lists(plain_items), min_size=1),
    st.sets(st.integers(0, 5)),
)
def test_some_of_the_columns(known, new, wanted):
    encoder = SequenceEncoder().fit(known)
    among = np.array(sorted(c for c in wanted if c < len(encoder.vocabulary)), dtype=np.int32)
    expected = encoder.transform(new).X.toarray()
    expected[:, np.setdiff1d(np.arange(expected.shape[1]), among)] = 0.0
    found = encoder.find(new, among)
    values = np.ones(len(found.columns)) if found.values is None else found.values
    given = sparse.csr_array((values, among[found.columns], found.start), shape=expected.shape)
    np.testing.assert_array_equal(given.toarray(), expected)
    assert encoder._known(among) is encoder._known(among)


def test_names_of_all_sizes_among_many():
    """Full groups of the table, names in words of eight bytes, and many lookups at a time."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdé:"))
    names = {"".join(rng.choice(letters, size=i % 40)) for i in range(40_000)}
    names = sorted(names)[: 2 * 3 * 2**12]
    rng.shuffle(names)
    known = names[::2]  # as many as fit the table, by its own measure
    assert len(known) == 3 * 2**12
    encoder = SequenceEncoder().fit([known])
    columns = {name: j for j, name in enumerate(encoder.vocabulary.names())}
    expected = sorted(columns[name] for name in known)
    assert encoder.vocabulary.columns(names[1::2]).max() == -1
    one_token, one_each = encoder.transform([[names]]), encoder.transform([names])
    assert one_token.X.indices.tolist() == expected
    assert one_each.X.indices.tolist() == [columns[name] for name in names if name in columns]
    assert one_token.n_unseen == one_each.n_unseen == len(names) - len(known)
    for data in ([[names]], [names], [[dict.fromkeys(names, 1.0)]], [[{"a": n} for n in names]]):
        assert check(encoder, data)


def test_names_that_differ_in_one_byte():
    names = ["x" * n for n in range(34)]
    encoder = SequenceEncoder().fit([names])
    for name in names:
        changed = [name[:i] + "y" + name[i + 1 :] for i in range(len(name))]
        assert encoder._known().find([[[*changed, name]]], None)[0].columns.tolist() == [len(name)]


@pytest.mark.parametrize("first", ["abc", "abcdefghijkabc"])
def test_others_are_not_taken_for_the_first_name(first):
    """Which has no eight bytes before it; of so many others some look like it in the table."""
    others = [first[:-3] + "".join(end) for end in itertools.product("abcdefghijklmnop", repeat=3)]
    found, _ = SequenceEncoder().fit([[first]])._known().find([others], None)
    assert found.start.tolist() == [int(other >= first) for other in ["", *others]]


@pytest.mark.parametrize("n", [3, 32, 33, 300])
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("valued", [False, True])
def test_rows_in_any_order(n, twice, valued):
    """Columns ascend, equal ones are one entry, and there are values only if one is not 1."""
    names = [f"f:{j}" for j in range(n)]
    encoder = SequenceEncoder().fit([[names]])
    shuffled = np.random.default_rng(n).permutation(names).tolist()
    token = shuffled + shuffled[:1] * twice
    if valued:
        token = {name: 0.5 + j for j, name in enumerate(shuffled)}
        token |= {"f": shuffled[0].removeprefix("f:")} if twice else {}
    data = [[names[:2], token, names[1:]]]
    assert check(encoder, data)
    found, _ = encoder._known().find(data, None)
    assert (found.values is not None) == (valued or twice)


class Text(str):
    """A subclass of str."""

    __slots__ = ()


def test_what_is_left_to_the_slow_way():
    words = SequenceEncoder().fit([["the", "dog"]])
    one = np.array([0], dtype=np.int32)
    assert words.find([SequenceRecord(["dog"], None, 1)], one) is None
    rows = SequenceEncoder(Templates.parse("U:%x[0,0]")).fit([[["the"], ["dog"]]])
    check(rows, [[[Text("dog")]]])
    assert rows.find([[[Text("dog")]]], one) is None
    long = SequenceEncoder(Templates.parse("U:" + "%x[0,0]" * 20)).fit([[["a"], ["b"]]])
    assert check(long, [[["b"], ["c"]]])


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        ([{"a": float("nan")}], "sequence 0, position 0: feature 'a' is nan"),
        ([{"a": 10**400}], "sequence 0, position 0: feature 'a'"),
        ([["a", 1]], "sequence 0, position 0: expected a feature name to be a string"),
        (["a", "\ud800"], "a lone surrogate"),
        ([{"a": object()}], "sequence 0, position 0: feature 'a': expected a string"),
    ],
)
def test_errors_are_those_of_the_slow_way(sequence, message):
    encoder = SequenceEncoder().fit([["a"]])
    with pytest.raises((ValueError, TypeError), match=message):
        encoder.transform([sequence])


def test_an_encoder_in_use_can_be_pickled_and_refitted():
    encoder = SequenceEncoder().fit([["a", "b"]])
    assert encoder.transform([["b"]]).X.indices.tolist() == [1]
    again = pickle.loads(pickle.dumps(encoder))
    assert again.transform([["b"]]).X.indices.tolist() == [1]
    encoder.fit([["b"]])
    assert encoder.transform([["b"]]).X.indices.tolist() == [0]
    encoder.templates = Templates.parse("U:%x[0,0]")
    assert encoder.transform([[["b"]]]).n_unseen == 1


# --- predictions without a matrix in between -----------------------------------------------------

ROWS = [[["the", "DT"], ["dog", "NN"]], [["a", "DT"], ["cat", "NN"], ["purrs", "VB"]]]
FORMS = {
    "dicts": ([[{"w": w, "tag": t, "n": len(w)} for w, t in rows] for rows in ROWS], None),
    "lists": ([[[w, t] for w, t in rows] for rows in ROWS], None),
    "strings": ([[w for w, _ in rows] for rows in ROWS], None),
    "templates": (ROWS, "U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]"),
    "edges": (ROWS, "U0:%x[0,0]\nB1:%x[0,1]"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predictions_are_the_same(form, n_jobs):
    X, templates = FORMS[form]
    y = [[tag for _, tag in rows] for rows in ROWS]
    model = ChainCRF(lam=0.01, templates=templates, n_jobs=n_jobs).fit(X, y)
    assert (model._read_names(X) is None) == (form == "edges")
    found = model.predict(X)
    with in_python():
        expected = model.predict(X)
    assert isinstance(found, list)
    for a, b, c in zip(found, expected, y, strict=True):
        assert a.tolist() == b.tolist() == c
        assert a.dtype == b.dtype
    with in_python():
        matrix = model.encoder_.transform(X)
    ours = np.concatenate(model.predict_marginals(X))
    assert (ours == np.concatenate(model.predict_marginals(matrix))).all()
    dicts = model.predict_marginal_dicts(X)
    assert [list(token.values()) for sequence in dicts for token in sequence] == ours.tolist()
    for one in X:
        assert model.predict([one])[0].tolist() == model.predict((one,))[0].tolist()


def test_sequences_that_are_refused():
    model = ChainCRF(lam=0.1).fit([["a", "b"]], [["x", "y"]])
    for wrong in ([], [[]], [["a"], []], ["a"], [[[]]]):
        assert model._read_names(wrong) is None
    for wrong in ([["a", 1]], ["a"], [[[]]]):
        with pytest.raises((ValueError, TypeError)):
            model.predict(wrong)
