"""Tokens are spelled out as python-crfsuite does it, by the kernel and by Python alike."""

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.compat.attributes import AttributeTable
from proxqn.compat.pycrfsuite import ItemSequence

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
number = st.one_of(
    st.booleans(), st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9), st.just(np.float32(0.5))
)
names = st.one_of(st.lists(text), st.sets(text), st.builds(tuple, st.lists(text)))
inner = st.one_of(text, text.map(str.encode), number, st.lists(text), st.sets(text))
value = st.recursive(inner, lambda v: st.dictionaries(text, v, max_size=3), max_leaves=6)
key = st.one_of(text, text.map(str.encode))
token = st.one_of(st.dictionaries(key, value, max_size=4), names, text)


class Words(dict):
    """A dict of another type."""


@given(st.lists(token, max_size=4))
def test_items_are_the_originals(sequence):
    ours, theirs = ItemSequence(sequence), pycrfsuite.ItemSequence(sequence)
    assert ours.items() == theirs.items()
    assert (len(ours), repr(ours)) == (len(theirs), repr(theirs))


def summed(sequence):
    """Return what the table must hold: attributes that stand twice are added up."""
    return [dict(token) for token in ItemSequence(sequence)]


@given(st.lists(st.lists(token, min_size=1, max_size=3), max_size=3))
def test_the_table_holds_what_is_spelled_out_zeros_included(sequences):
    table = AttributeTable()
    for xseq in sequences:
        table.append(xseq, ["L"] * len(xseq))
    names, X = table.attributes.names(), table.rows()
    rows = [
        {names[j]: v for j, v in zip(X.indices[a:b], X.data[a:b], strict=True)}
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    assert rows == [token for xseq in sequences for token in summed(xseq)]


def test_what_was_appended_may_change_afterwards():
    table, token = AttributeTable(), {"w": {"a": 1}}
    table.append([token], ["X"])
    token["w"]["b"] = 1
    token["v"] = 2
    assert table.attributes.names() == ["w:a"]


def test_rows_can_be_asked_for_more_than_once():
    table = AttributeTable()
    table.append([["a"], {}], ["X", "Y"])
    first = table.rows()
    table.append([Words(b=2, a=0)], ["X"])
    assert first.toarray().tolist() == [[1.0], [0.0]]
    assert table.rows().toarray().tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    assert table.rows().nnz == 3
    assert AttributeTable().rows().shape == (0, 0)


@pytest.mark.parametrize(
    ("xseq", "yseq", "error", "message"),
    [
        ([{"a": 1}], ["X", "Y"], ValueError, r"differ: \|x\| = 1, \|y\| = 2"),
        ([{"a": None}], ["X"], TypeError, "attribute 'a': expected a string, a number"),
        ([{"a": {"b": (1,)}}], ["X"], TypeError, "attribute 'a:b'"),
        ([{"a": float("nan")}], ["X"], ValueError, "attribute 'a' is nan"),
        ([{"a": 10**400}], ["X"], TypeError, "attribute 'a'"),
        ([{1: 2}], ["X"], TypeError, "name as a string, got a int"),
        ([["a"], 5], ["X", "Y"], TypeError, "token as a dict, or as a list of strings, got a int"),
        ([b"ab"], ["X"], TypeError, "got a bytes"),
        ([["a", 1]], ["X"], TypeError, "name as a string, got a int"),
        ([["a"]], [1], TypeError, "expected a label as a string, got a int"),
        ([["a"]], None, TypeError, "not iterable"),
        (5, ["X"], TypeError, "not iterable"),
        ([["a"]], ["X"], TypeError, None),
    ],
)
def test_what_is_refused_leaves_nothing_behind(xseq, yseq, error, message):
    table = AttributeTable()
    table.append([["a"], ["b"]], ["X", "Y"])
    with pytest.raises(error, match=message):
        table.append(xseq, yseq, "group" if message is None else 0)
    table.append([["b"]], ["Y"], weight=2.0)
    assert (len(table), table.lengths.tolist(), table.labels) == (2, [2, 1], ["X", "Y"])
    assert table.rows().toarray()[:, :2].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert table.weights.tolist() == [1.0, 2.0]
