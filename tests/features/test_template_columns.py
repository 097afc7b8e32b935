"""Column-wise expansion: the same features, in the same order, as the slow definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.encoding import SequenceEncoder
from proxqn.features.template_columns import ColumnStretch, _regroup
from proxqn.features.templates import Templates

commands = st.one_of(
    st.builds(
        "%{}[{}{},{}]".format,
        st.sampled_from("xX"),
        st.just(""),
        st.integers(-3, 3),
        st.integers(0, 1),
    ),
    st.builds("%x[@{},{}]".format, st.sampled_from([-3, -1, 1, 2]), st.integers(0, 1)),
    st.sampled_from(['%t[0,0,"^\\u"]', '%m[-1,0,"^.?"]', '%M[1,1,"a.*b"]', '%T[2,0,"B"]']),
)
template_lines = st.builds(
    lambda kind, parts: kind + "".join(parts),
    st.sampled_from(["U", "U0:", "U{}", "B", "*", "b:"]),
    st.lists(st.one_of(commands, st.sampled_from(["/", "a", "}{0"])), max_size=5),
)
# Few letters, slashes and markers among them, so that names collide across templates and splits.
texts = st.text("aAbB/", max_size=3) | st.just("_B-1")
sequences = st.lists(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=5), min_size=1)


def slow(templates, rows, *, from_token):
    return [
        [template.expand(rows, t) for template in templates] if t >= from_token else []
        for t in range(len(rows))
    ]


def check_matrix(X, vocabulary, expected):
    """X counts, per row, the names expected there, numbered in the order they are first met."""
    table = {}
    for name in (name for row in expected for name in row):
        table.setdefault(name, len(table))
    assert vocabulary.names() == list(table)
    dense = np.zeros((len(expected), len(table)))
    for i, row in enumerate(expected):
        for name in row:
            dense[i, table[name]] += 1
    np.testing.assert_array_equal(X.toarray(), dense)
    np.testing.assert_array_equal(vocabulary.counts, dense.sum(axis=0))


@given(st.lists(template_lines, min_size=1, max_size=5), sequences, st.integers(1, 8))
def test_equal_to_the_slow_definition(lines, data, chunk_tokens):
    templates = Templates.parse("\n".join(lines))
    encoder = SequenceEncoder(templates, chunk_tokens=chunk_tokens)
    encoded = encoder.fit_transform(data)
    assert encoded.lengths.tolist() == [len(rows) for rows in data]
    expected = [row for rows in data for row in slow(templates.unigram, rows, from_token=0)]
    check_matrix(encoded.X, encoder.vocabulary, expected)
    if templates.edge:
        edges = [row for rows in data for row in slow(templates.edge, rows, from_token=1)]
        check_matrix(encoded.edges, encoder.edge_vocabulary, edges)
    else:
        assert encoded.edges is None
    again = encoder.transform(data)
    assert again.n_unseen == 0
    assert (again.X != encoded.X).nnz == 0


@given(st.lists(st.integers(0, 9)))
def test_both_ways_to_group_agree(keys):
    keys = np.array(keys, np.int64)
    for n_keys in (10, 10**9):  # a table; sorting
        number, first = _regroup(keys, n_keys)
        np.testing.assert_array_equal(keys[first][number], keys)
        assert all((keys[:f] != keys[f]).all() for f in first)


def test_very_many_combinations_do_not_overflow():
    n = 3000
    rows = [[f"{i}-{c}" for c in range(8)] for i in range(n)]
    line = "U" + "/".join(f"%x[0,{c}]" for c in range(8))
    entries = ColumnStretch(rows, np.array([n])).entries(Templates.parse(line).unigram)
    assert entries.names[-1] == "U" + "/".join(rows[-1])
    assert entries.codes.tolist() == list(range(n))
