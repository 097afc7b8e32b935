"""Tokens as dicts, lists, strings: expanded as python-crfsuite expands them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.items import entries_of_items, expand_item

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


def test_entries_keep_values_and_leave_zeros_out():
    entries = entries_of_items([[{"a": 2.0, "b": False}, ["c", "a"]], [[]]])
    assert entries.names == ["a", "c"]
    assert entries.codes.tolist() == [0, 1, 0]
    assert entries.values.tolist() == [2.0, 1.0, 1.0]
    assert entries.row_sizes.tolist() == [1, 2, 0]
    assert entries_of_items([[{"a": True}]]).values is None


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
    ],
)
def test_bad_tokens_are_named(item, message):
    with pytest.raises((TypeError, ValueError), match=message):
        entries_of_items([[{}, item]], first_sequence=7)
