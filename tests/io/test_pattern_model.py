"""The one row of all weights is cut into blocks of names, and made of them again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxqn.features.template_dialect import Dialect
from proxqn.io.foreign import ForeignFileError
from proxqn.io.pattern_model import Blocks, check_labels, read_templates


@given(st.lists(st.sampled_from("ub*"), max_size=8), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_a_row_is_cut_and_made_again(kinds, n_labels, seed):
    letters = np.array(kinds, "U1")
    blocks = Blocks.behind_each_other(n_labels, letters != "b", letters != "u")
    rng = np.random.default_rng(seed)
    row = rng.normal(size=blocks.end) * (rng.random(blocks.end) < 0.5)
    places = rng.permutation(np.flatnonzero(row))
    weights, edge_weights = blocks.cut(places, row[places])
    again, values = blocks.row(weights, edge_weights)
    assert again.tolist() == np.flatnonzero(row).tolist()
    assert values.tolist() == row[row != 0].tolist()
    at = 0
    for i, kind in enumerate(kinds):
        if kind != "b":
            np.testing.assert_array_equal(weights[[i]].toarray()[0], row[at : at + n_labels])
            at += n_labels
        if kind != "u":
            size = n_labels**2
            np.testing.assert_array_equal(edge_weights[[i]].toarray()[0], row[at : at + size])
            at += size
    assert at == blocks.end


def test_what_stands_between_blocks_belongs_to_none():
    yes, no = np.array([True, True]), np.array([False, False])
    blocks = Blocks(2, yes, no, np.array([7, 2]))
    weights, edge_weights = blocks.cut(np.arange(10), np.arange(10.0))
    assert weights.toarray().tolist() == [[7.0, 8.0], [2.0, 3.0]]
    assert not edge_weights.nnz


@pytest.mark.parametrize("labels", [[], ["A", "A"], ["A", ""], [str(i) for i in range(4097)]])
def test_labels_that_no_chain_can_have_are_refused(labels):
    with pytest.raises(ForeignFileError):
        check_labels(labels, "m")


def test_bad_templates_are_the_files_fault():
    with pytest.raises(ForeignFileError, match="m: its patterns, line 1: expected"):
        read_templates(["u:%y[0,0]"], "m", Dialect.WAPITI)
