"""Where each token of each sequence stands in the label-major arrays of the chain kernels.

Sequences are sorted by length and laid side by side, eight to a batch, so that eight lanes advance
together (``cpp/chain.hpp``). Token t of a sequence in lane k of a batch of width W stands in slot
``first + t W + k``. A sequence so long that its batch would be mostly padding gets a batch of width
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem import Ints

LANES = 8
_MAX_PADDING = 2.0  # slots per token above which a batch's longest sequence stands alone
_CHUNK_SLOTS = 2048  # work unit of a thread; fixed, so that results do not depend on n_jobs


@final
@dataclass(frozen=True)
class SequenceLayout:
    """Batches of sequences and the slots of their tokens; shapes as in ``cpp/chain.hpp``."""

    lengths: Ints  # [n_sequences]
    first: Ints  # [n_batches]
    width: NDArray[np.int32]  # [n_batches]
    length: NDArray[np.int32]  # [n_batches]
    lane_length: NDArray[np.int32]  # [n_batches, 8]
    lane_sequence: NDArray[np.int32]  # [n_batches, 8]
    token_slot: NDArray[np.int32]  # [n_tokens]
    n_slots: int

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.lengths)

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all sequences together."""
        return len(self.token_slot)

    @property
    def stride(self) -> int:
        """Slots per label, padded to whole vectors, an odd number of them.

        An odd number of cache lines keeps the columns of different labels out of each other's
        cache sets.
        """
        vectors = -(-self.n_slots // LANES)
        return LANES * (vectors | 1)

    @classmethod
    def from_lengths(cls, lengths: Ints) -> SequenceLayout:
        """Lay out sequences of the given lengths, all at least 1.

        Examples
        --------
        >>> layout = SequenceLayout.from_lengths(np.array([2, 2, 1, 2, 2]))
        >>> layout.token_slot  # the fourth lane holds the short one; lanes 5 to 7 are empty
        array([ 0,  8,  1,  9,  4,  2, 10,  3, 11], dtype=int32)
        """
        lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        batches = _batches(lengths, np.argsort(-lengths, kind="stable"))
        n = len(batches)
        width = np.array([LANES if len(b) > 1 else 1 for b in batches], dtype=np.int32)
        longest = np.array([lengths[b[0]] for b in batches], dtype=np.int32)
        lane_length = np.zeros((n, LANES), dtype=np.int32)
        lane_sequence = np.zeros((n, LANES), dtype=np.int32)
        for i, batch in enumerate(batches):
            lane_length[i, : len(batch)] = lengths[batch]
            lane_sequence[i, : len(batch)] = batch
        sizes = longest.astype(np.int64) * width
        # Batches start on whole vectors, also after a batch of width one.
        starts = np.concatenate([[0], np.cumsum(-(-sizes // LANES) * LANES)])
        if starts[-1] > np.iinfo(np.int32).max:
            raise ValueError(
                f"{starts[-1]:,} token slots do not fit 32-bit numbers; split the corpus."
            )
        token_slot = _token_slots(lengths, lane_length, lane_sequence, starts[:-1], width)
        return cls(
            lengths,
            starts[:-1],
            width,
            longest,
            lane_length,
            lane_sequence,
            token_slot,
            int(starts[-1]),
        )

    def chunks(self, n_labels: int) -> Ints:
        """Return bounds of batch ranges of about equal work, for threads.

        Each chunk sums its own label-pair expectations [L, L]; their memory stays below that of
        one score array.
        """
        ends = self.first + self.width.astype(np.int64) * self.length
        most = max(1, min(256, self.n_slots // max(n_labels, _CHUNK_SLOTS)))
        targets = np.linspace(0, self.n_slots, most + 1)[1:-1]
        bounds = np.searchsorted(ends, targets)
        return np.unique(np.concatenate([[0], bounds, [len(ends)]])).astype(np.int64)


def _batches(lengths: Ints, order: Ints) -> list[Ints]:
    """Cut the sequences, longest first, into batches of eight, or one where eight would waste."""
    batches, start = [], 0
    while start < len(order):
        group = order[start : start + LANES]
        slots = LANES * int(lengths[group[0]])
        if slots > _MAX_PADDING * int(lengths[group].sum()):
            group = group[:1]
        batches.append(group)
        start += len(group)
    return batches


def _token_slots(
    lengths: Ints,
    lane_length: NDArray[np.int32],
    lane_sequence: NDArray[np.int32],
    first: Ints,
    width: NDArray[np.int32],
) -> NDArray[np.int32]:
    batch, lane = np.nonzero(lane_length)
    sequence = lane_sequence[batch, lane]
    base = np.empty(len(lengths), dtype=np.int64)
    step = np.empty(len(lengths), dtype=np.int64)
    base[sequence] = first[batch] + lane
    step[sequence] = width[batch]
    starts = np.cumsum(lengths) - lengths
    position = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    return (np.repeat(base, lengths) + position * np.repeat(step, lengths)).astype(np.int32)
