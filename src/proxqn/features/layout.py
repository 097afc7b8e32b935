"""Where each token of each sequence stands in the label-major arrays of the chain kernels.

Sequences are sorted by length and laid side by side, eight to a batch, so that eight lanes advance
together (``cpp/chain/layout.hpp``). Token t of a sequence in lane k of a batch of width W stands
in slot ``first + t W + k``. A sequence so long that its batch would be mostly padding gets a batch
of width one.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.sparse import Floats, Ints

LANES = 8
_MAX_PADDING = 2.0  # slots per token above which a batch's longest sequence stands alone
_CHUNK_SLOTS = 2048  # work unit of a thread; fixed, so that results do not depend on n_jobs


@final
@dataclass(frozen=True)
class SequenceLayout:
    """Batches of sequences and their tokens' slots; shapes as in ``cpp/chain/layout.hpp``."""

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
        >>> layout = SequenceLayout.from_lengths(np.array([3, 3, 1, 3, 3]))
        >>> layout.n_tokens, layout.n_slots  # one batch of eight lanes, three of them empty
        (13, 24)
        """
        lengths = np.ascontiguousarray(lengths, dtype=np.int64)
        # Ties in random order: then the sequences of a batch are a fair sample of their length.
        ties = np.random.default_rng(0).random(len(lengths))
        return cls._in_order(lengths, np.lexsort((ties, -lengths)))

    @classmethod
    def _in_order(cls, lengths: Ints, order: Ints) -> SequenceLayout:
        """Lay out sequences in an order in which no length is above the one before."""
        ordered = lengths[order]
        sizes = _batch_sizes(ordered)
        batch = np.repeat(np.arange(len(sizes)), sizes)
        firsts = np.cumsum(sizes) - sizes
        lane = np.arange(len(order)) - firsts[batch]
        lane_length = np.zeros((len(sizes), LANES), dtype=np.int32)
        lane_sequence = np.zeros((len(sizes), LANES), dtype=np.int32)
        lane_length[batch, lane] = ordered
        lane_sequence[batch, lane] = order
        width = np.where(sizes > 1, LANES, 1).astype(np.int32)
        longest = ordered[firsts].astype(np.int32)
        n_slots = longest.astype(np.int64) * width
        # Batches start on whole vectors, also after a batch of width one.
        starts = np.concatenate([[0], np.cumsum(-(-n_slots // LANES) * LANES)])
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

    def empty_slots(self) -> Ints:
        """Return the slots without a token: of shorter lanes, and after the batches."""
        width, lane = self.width[:, np.newaxis], np.arange(LANES)
        missing = np.where(lane < width, self.length[:, np.newaxis] - self.lane_length, 0)
        first = self.first[:, np.newaxis] + lane + width * self.lane_length.astype(np.int64)
        short, at = np.nonzero(missing)
        ends = self.first + self.length.astype(np.int64) * self.width
        return np.concatenate(
            [
                _steps(first[short, at], missing[short, at], self.width[short].astype(np.int64)),
                _steps(ends, np.append(self.first[1:], self.stride) - ends),
            ]
        )

    def restrict(self, sequences: Ints) -> Subset:
        """Lay out some sequences, ascending, in the order in which they stand here.

        Whole batches then stay together, and slots in order, as long as those before are whole.
        """
        chosen = np.zeros(self.n_sequences, dtype=bool)
        chosen[sequences] = True
        order = self.lane_sequence[self.lane_length > 0]
        number = np.cumsum(chosen) - 1
        layout = self._in_order(self.lengths[sequences], number[order[chosen[order]]])
        tokens = np.repeat(chosen, self.lengths)
        return Subset(layout, tokens, self.token_slot[tokens], layout.token_slot)

    def batches(
        self,
        kernels: ModuleType,
        n_labels: int,
        *,
        labels: NDArray[np.int32] | None,
        weights: Floats | None,
    ) -> Any:
        """Bind it to the kernels of inference, with labels by slot and weights of sequences."""
        return kernels.Batches(
            self.first,
            self.width,
            self.length,
            self.lane_length,
            self.lane_sequence,
            self.chunks(n_labels),
            labels,
            weights,
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


@final
@dataclass(frozen=True)
class Subset:
    """Some sequences of a layout."""

    layout: SequenceLayout  # of these, numbered anew in the old order
    tokens: NDArray[np.bool_]  # [old n_tokens] which tokens are theirs
    old_slots: NDArray[np.int32]  # of these tokens
    new_slots: NDArray[np.int32]


def _steps(first: Ints, count: Ints, step: Ints | int = 1) -> Ints:
    """Return ``first``, ``first + step``, ... for each of them, so many times."""
    before = np.cumsum(count) - count
    step = np.broadcast_to(np.asarray(step, dtype=np.int64), len(count))
    number = np.arange(int(count.sum()))
    if (step == 1).all():
        return np.repeat(first - before, count) + number
    return np.repeat(first - step * before, count) + number * np.repeat(step, count)


def _batch_sizes(lengths: Ints) -> Ints:
    """Cut sequences, longest first, into batches of eight, or one where eight would waste."""
    n = len(lengths)
    ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    longest = lengths.tolist()
    sizes, start = [], 0
    while start < n:
        size = min(LANES, n - start)
        if LANES * longest[start] > _MAX_PADDING * (ends[start + size] - ends[start]):
            size = 1
        sizes.append(size)
        start += size
    return np.array(sizes, dtype=np.int64)


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
    return _steps(base, lengths, step).astype(np.int32)
