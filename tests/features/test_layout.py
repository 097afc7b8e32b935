"""The layout: every token has its own slot, in the lane and position of its sequence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxqn.features.layout import LANES, SequenceLayout

LENGTHS = st.lists(st.one_of(st.integers(1, 12), st.integers(1, 400)), min_size=1, max_size=60).map(
    np.array
)


@settings(max_examples=150, deadline=None)
@given(LENGTHS)
def test_layout_is_a_bijection_of_tokens_and_lane_positions(lengths):
    layout = SequenceLayout.from_lengths(lengths)
    assert layout.n_tokens == lengths.sum()
    assert layout.n_sequences == len(lengths)
    assert len(np.unique(layout.token_slot)) == layout.n_tokens
    assert layout.token_slot.min() >= 0
    assert layout.token_slot.max() < layout.n_slots <= layout.stride
    batch, lane = np.nonzero(layout.lane_length)
    sequence = layout.lane_sequence[batch, lane]
    np.testing.assert_array_equal(np.sort(sequence), np.arange(len(lengths)))
    np.testing.assert_array_equal(layout.lane_length[batch, lane], lengths[sequence])
    starts = np.cumsum(lengths) - lengths
    for b, k, i in zip(batch, lane, sequence, strict=True):
        slots = layout.first[b] + k + layout.width[b] * np.arange(lengths[i])
        np.testing.assert_array_equal(layout.token_slot[starts[i] : starts[i] + lengths[i]], slots)


@settings(max_examples=100, deadline=None)
@given(LENGTHS)
def test_batches_do_not_overlap_and_start_on_whole_vectors(lengths):
    layout = SequenceLayout.from_lengths(lengths)
    ends = layout.first + layout.width.astype(np.int64) * layout.length
    assert (layout.first % LANES == 0).all()
    assert (ends[:-1] <= layout.first[1:]).all()
    assert ends[-1] <= layout.n_slots
    assert set(layout.width) <= {1, LANES}
    assert (layout.lane_length.max(axis=1) == layout.length).all()
    assert (layout.lane_length[layout.width == 1, 1:] == 0).all()
    assert layout.stride % LANES == 0
    assert layout.stride // LANES % 2 == 1


@settings(max_examples=100, deadline=None)
@given(LENGTHS)
def test_padding_stays_within_twice_the_tokens(lengths):
    layout = SequenceLayout.from_lengths(lengths)
    starting_vectors = LANES * len(layout.first)  # a batch of width one is rounded up to whole ones
    assert layout.n_slots <= 2 * layout.n_tokens + starting_vectors


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 4000))
def test_chunks_cover_all_batches_once(lengths, n_labels):
    layout = SequenceLayout.from_lengths(np.tile(lengths, 20))
    chunks = layout.chunks(n_labels)
    assert chunks[0] == 0
    assert chunks[-1] == len(layout.first)
    assert (np.diff(chunks) > 0).all()
    # Each chunk holds sums [L, L] of its own: together they stay below one score array [L, slots].
    assert (len(chunks) - 2) * n_labels**2 <= layout.n_slots * n_labels


def test_a_sequence_much_longer_than_the_rest_stands_alone():
    layout = SequenceLayout.from_lengths(np.array([3, 1000, 3, 3, 3, 3, 3, 3, 3]))
    assert layout.width.tolist() == [1, 8]
    assert layout.n_slots == 1000 + 24


def test_the_layout_depends_on_the_lengths_alone():
    lengths = np.random.default_rng(0).integers(1, 6, 100)
    one, again = SequenceLayout.from_lengths(lengths), SequenceLayout.from_lengths(lengths)
    np.testing.assert_array_equal(one.token_slot, again.token_slot)
    assert (np.diff(one.length) <= 0).all()  # longest first


def test_a_corpus_beyond_32_bit_slots_is_refused():
    """Before any array of that size is made."""
    with pytest.raises(ValueError, match="split the corpus"):
        SequenceLayout.from_lengths(np.array([2**31 - 8, 100]))


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(0, 2**31), st.sampled_from([0.1, 0.5, 1.0]))
def test_some_sequences_stand_in_the_same_order(lengths, seed, share):
    layout, n = SequenceLayout.from_lengths(lengths), len(lengths)
    size = max(1, round(share * n))
    sequences = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    chosen = layout.restrict(sequences)
    part = chosen.layout
    np.testing.assert_array_equal(part.lengths, lengths[sequences])
    owner = np.repeat(np.arange(n), lengths)
    np.testing.assert_array_equal(chosen.tokens, np.isin(owner, sequences))
    np.testing.assert_array_equal(chosen.old_slots, layout.token_slot[chosen.tokens])
    np.testing.assert_array_equal(chosen.new_slots, part.token_slot)
    before, after = (x.lane_sequence[x.lane_length > 0] for x in (layout, part))
    np.testing.assert_array_equal(sequences[after], before[np.isin(before, sequences)])
    slots = np.concatenate([part.token_slot, part.empty_slots()])
    np.testing.assert_array_equal(np.sort(slots), np.arange(part.stride))


def test_whole_batches_keep_slots_in_order():
    lengths = np.random.default_rng(0).integers(1, 9, size=100)
    layout = SequenceLayout.from_lengths(lengths)
    batches = np.array([0, 3, 4, len(layout.first) - 1])
    sequences = np.sort(layout.lane_sequence[batches][layout.lane_length[batches] > 0])
    chosen = layout.restrict(sequences)
    np.testing.assert_array_equal(chosen.layout.length, layout.length[batches])
    order = np.argsort(chosen.old_slots)
    assert (np.diff(chosen.new_slots[order]) > 0).all()
    everything = layout.restrict(np.arange(100)).layout
    np.testing.assert_array_equal(everything.token_slot, layout.token_slot)


@pytest.mark.parametrize("longest", [1, 9, 60])
def test_a_slot_has_a_token_or_is_empty(longest):
    """Also where a long sequence stands alone and the next batch begins on a whole vector."""
    lengths = np.random.default_rng(longest).integers(1, 10, size=100)
    lengths[::7] = longest
    layout = SequenceLayout.from_lengths(lengths)
    slots = np.concatenate([layout.token_slot, layout.empty_slots()])
    np.testing.assert_array_equal(np.sort(slots), np.arange(layout.stride))
