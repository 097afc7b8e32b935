"""Patterns of edge blocks against the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from proxqn.features.edge_patterns import EdgePatterns
from proxqn.features.partial_labels import PartialLabels, Twins


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.sampled_from([1, 3, 80]),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    binary=st.booleans(),
)
def test_patterns_give_back_the_rows(seed, width, density, binary):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, 12)
    dense = (rng.random((lengths.sum(), width)) < density) * rng.integers(1, 2 if binary else 4)
    dense = dense.astype(float)
    found = EdgePatterns.from_csr(sp.csr_array(dense), lengths)
    dense[np.cumsum(lengths) - lengths] = 0.0
    assert found.n_features == width
    np.testing.assert_array_equal(found.columns, np.flatnonzero(dense.any(axis=0)))
    np.testing.assert_array_equal(found.token >= 0, dense.any(axis=1))
    has = found.token >= 0
    np.testing.assert_array_equal(
        found.rows.toarray()[found.token[has]], dense[has][:, found.columns]
    )
    if width <= 3:  # longer rows are not compared
        assert found.rows.shape[0] == len(np.unique(dense[has], axis=0))


def test_members_are_the_tokens_with_a_pattern():
    edges = sp.csr_array(np.array([[0.0], [1.0], [2.0], [1.0], [0.0]]))
    found = EdgePatterns.from_csr(edges, np.array([5]))
    start, places = found.members(np.array([0, 1, 2, 3, 4, 3]))
    groups = [places[start[g] : start[g + 1]].tolist() for g in range(2)]
    assert groups[found.token[1]] == [1, 3, 5]
    assert groups[found.token[2]] == [2]


def test_no_edges():
    found = EdgePatterns.none(3)
    assert found.token.tolist() == [-1, -1, -1]
    assert found.rows.shape == (0, 0)


@pytest.mark.parametrize("missing", [[], [0], [1, 4]])
def test_twins_have_the_rows_of_sequences_with_unknown_labels(missing):
    lengths, labels = np.array([2, 1, 2]), np.array([0, 1, 0, 1, 2], np.int32)
    labels[missing] = -1
    partial = PartialLabels(labels, np.ones((len(missing), 3), dtype=bool))
    twins = Twins.of(partial, lengths)
    sequence = np.repeat(np.arange(3), lengths)
    expected = [t for t in range(5) if sequence[t] in set(sequence[missing].tolist())]
    assert twins.tokens.tolist() == expected
    allowed = partial.allowed()
    np.testing.assert_array_equal(twins.allowed, allowed[expected])
    for i, row in enumerate(twins.start.tolist()):
        if row >= 0:
            assert sequence[twins.tokens[row - 5]] == i
