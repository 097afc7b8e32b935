"""Tokens as dicts, lists, strings: expanded as python-crfsuite does it, and read as expanded."""

from collections import Counter, OrderedDict
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn import _kernels
from proxqn.features.items import expand_item, rows_of_items
from proxqn.features.vocabulary import Vocabulary, VocabularyBuilder

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
numbers = st.one_of(st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False))
# Nested sets are left out here: python-crfsuite reads them in an arbitrary order.
nested = st.recursive(
    st.one_of(text, numbers, st.binary(max_size=0)),
    lambda inner: st.dictionaries(text, inner, max_size=3) | st.lists(text, max_size=3),
    max_leaves=6,
)
items = st.one_of(st.dictionaries(text, nested, max_size=4), st.lists(text, max_size=4))


@given(st.lists(items, max_size=4))
def test_expansion_equals_python_crfsuite(sequence):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    assert [dict(expand_item(item)) for item in sequence] == pycrfsuite.ItemSequence(
        sequence
    ).items()


def test_forms_beyond_python_crfsuite():
    assert list(expand_item("dog")) == [("dog", 1.0)]
    assert list(expand_item(("b", "a"))) == [("b", 1.0), ("a", 1.0)]
    assert list(expand_item({"s": {"q", "p"}})) == [("s:p", 1.0), ("s:q", 1.0)]
    assert list(expand_item({"f": np.float32(0.5), "b": np.bool_(True)})) == [
        ("f", 0.5),
        ("b", 1.0),
    ]


def rows_as_expanded(tokens, table, *, grows):
    """What `expand_item` says of tokens: rows, how often each name occurs, and unseen ones."""
    rows, counts, n_unseen = [], Counter(), 0
    for token in tokens:
        row = {}
        for name, value in expand_item(token):
            if value == 0.0:
                continue
            if name not in table and not grows:
                n_unseen += 1
                continue
            column = table.setdefault(name, len(table))
            counts[column] += 1
            row[column] = row.get(column, 0.0) + value
        rows.append(dict(sorted(row.items())))
    return rows, counts, n_unseen


def check_rows(found, rows):
    values = [1.0] * len(found.columns) if found.values is None else found.values.tolist()
    entries = list(zip(found.columns.tolist(), values, strict=True))
    assert len(found.start) == len(rows) + 1
    bounds = zip(found.start[:-1].tolist(), found.start[1:].tolist(), strict=True)
    for (begin, end), row in zip(bounds, rows, strict=True):
        assert [column for column, _ in entries[begin:end]] == list(row)
        np.testing.assert_allclose([v for _, v in entries[begin:end]], list(row.values()))


class Text(str):
    """A subclass of str."""

    __slots__ = ()


letters = st.text("aé:", max_size=2)
values = st.one_of(
    letters,
    letters.map(Text),
    letters.map(str.encode),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.5, -0.0, 2.0, np.float64(0.5), np.float32(2.0), np.int64(1), np.bool_(1)]),
)
names = st.lists(letters, max_size=3) | st.lists(st.one_of(letters, letters.map(Text)), max_size=3)
usual_or_not = st.recursive(
    st.one_of(values, names, st.sets(letters), st.frozensets(letters)),
    lambda inner: st.dictionaries(st.one_of(letters, letters.map(str.encode)), inner, max_size=3),
    max_leaves=4,
)
tokens = st.one_of(
    st.dictionaries(letters, usual_or_not, max_size=4),
    st.dictionaries(letters, values).map(OrderedDict),
    names,
    names.map(tuple),
    st.sets(letters),
    letters,
    letters.map(Text),
    letters.map(str.encode),
)


@given(st.lists(st.lists(tokens)), st.lists(st.lists(tokens)))
def test_rows_are_those_of_the_expanded_tokens(first, second):
    """Usual forms and unusual ones, with a vocabulary that grows and then with a known one."""
    builder, table, often = VocabularyBuilder(), {}, Counter()
    for sequences in (first, second):
        rows, counts, _ = rows_as_expanded(chain.from_iterable(sequences), table, grows=True)
        check_rows(rows_of_items(builder.kernel, sequences), rows)
        often += counts
    vocabulary, _ = builder.freeze()
    assert vocabulary.names() == list(table)
    assert vocabulary.counts.tolist() == [often[j] for j in range(len(table))]
    half = {name: j for j, name in enumerate(list(table)[::2])}
    known = Vocabulary.from_names(half)
    rows, _, n_unseen = rows_as_expanded(chain.from_iterable(first), half, grows=False)
    found = rows_of_items(known.index.kernel, first)
    check_rows(found, rows)
    assert found.n_unseen == n_unseen


def test_values_are_kept_and_zeros_left_out():
    names = _kernels.GrowingNames()
    found = rows_of_items(names, [[{"a": 2.0, "b": False}, ["c", "a"]], [[]]])
    assert found.columns.tolist() == [0, 0, 1]
    assert found.values.tolist() == [2.0, 1.0, 1.0]
    assert found.start.tolist() == [0, 1, 3, 3]
    assert len(names) == 2
    assert rows_of_items(names, [[{"a": True}]]).values is None


def test_many_names_in_few_and_in_many_tokens():
    """The rounds in which tokens are read, and the table as it grows, change nothing."""
    names = [f"{'n' * (j % 30)}{j}" for j in range(5000)]
    for tokens in ([names], [dict.fromkeys(names, "x")], names, [{"k": n} for n in names]):
        builder = VocabularyBuilder()
        odd = [*tokens, {"odd": np.float32(1.0)}, *tokens]  # met by the way, left to Python
        found = rows_of_items(builder.kernel, [odd])
        rows, counts, _ = rows_as_expanded(odd, table := {}, grows=True)
        check_rows(found, rows)
        vocabulary, _ = builder.freeze()
        assert vocabulary.names() == list(table)
        assert vocabulary.counts.tolist() == [counts[j] for j in range(len(table))]


def test_dicts_in_dicts_are_read_however_deep():
    deep = {"a": "b"}
    for _ in range(30):
        deep = {"d": deep}
    builder = VocabularyBuilder()
    rows_of_items(builder.kernel, [[deep]])
    assert builder.freeze()[0].names() == ["d:" * 30 + "a:b"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"a": float("nan")}, "sequence 7, position 1: feature 'a' is nan"),
        ({"a": {"b": float("inf")}}, "sequence 7, position 1: feature 'a:b' is inf"),
        ({"a": None}, "feature 'a': expected a string, a bool, a number.*got None"),
        ({"a": ("t", "u")}, r"feature 'a': .*got \('t', 'u'\) \(tuple\)"),
        ({"a": [1]}, r"expected a feature name to be a string, got 1 \(int\)"),
        ({1: 2}, r"expected a feature name to be a string, got 1 \(int\)"),
        (5, r"expected a token as a dict, a list of strings or a string, got 5 \(int\)"),
        ([["a"]], r"expected a feature name to be a string, got \['a'\]"),
        ({"a": 10**400}, "feature 'a': expected"),
        ({"a": {"b": {"c": None}}}, "feature 'c': expected a string"),
        ({"a": ["b", 1]}, r"expected a feature name to be a string, got 1 \(int\)"),
    ],
)
def test_bad_tokens_are_named(item, message):
    with pytest.raises((TypeError, ValueError), match=message):
        rows_of_items(_kernels.GrowingNames(), [[], [{}, item]], first_sequence=6)
