"""Draws from a chain in plain NumPy: what ``cpp/chain/draws.hpp`` and ``labelings.hpp`` do."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from proxqn.problem.sparse import Floats, Ints
from proxqn.random_numbers import SplitMix64

_MASK = (1 << 64) - 1


def draw(
    sequences: list[tuple[int, Ints]],
    scores: Floats,
    transitions: Floats,
    weights: Floats,
    *,
    n_pairs: int,
    share: float,
    seed: int,
) -> tuple[Any, ...]:
    """Draw pairs of labelings; return the runs on which they differ, as ``Draws`` has them.

    Parameters
    ----------
    sequences : list of tuple
        The number of each and the slots of its tokens.
    scores : array [n_labels, n_slots]
    weights : array
        By number of the sequence.
    """
    tokens: list[tuple[int, int, int, int, float]] = []
    edges: list[tuple[int, int, int, float]] = []
    weight: list[int] = []
    n_labels = len(transitions)
    for number, slots in sequences:
        random = SplitMix64((seed + 0xD1342543DE82EF95 * (number + 1)) & _MASK)
        if share < 1.0 and random.uniform() >= share:
            continue
        square = weights[number] / (2.0 * n_pairs * share)
        families = _labelings(scores[:, slots], transitions, n_pairs, random())
        runs = Counter(itertools.chain.from_iterable(map(_runs, *families)))
        for run in sorted(runs):
            first, _, labels = run
            row, pairs = len(weight), list(zip(labels[::2], labels[1::2], strict=True))
            weight.append(runs[run])
            value = np.sqrt(runs[run] * square)
            for t, (y, z) in enumerate(pairs, start=max(first - 1, 0)):
                if y != z:
                    tokens.append((int(slots[t]), row, y, z, value))
            for (y, z), (next_y, next_z) in itertools.pairwise(pairs):
                edges.append((row, y * n_labels + next_y, z * n_labels + next_z, value))
    return as_arrays(tokens, edges, weight)


def as_arrays(tokens: list[Any], edges: list[Any], weight: list[Any]) -> tuple[Any, ...]:
    """Return entries of tokens and of edges, and the weights of rows, as the kernels do."""
    arrays: list[Any] = []
    for entries, n_numbers in ((tokens, 5), (edges, 4)):
        table = np.array(entries, dtype=np.float64).reshape(-1, n_numbers).T
        arrays += [column.astype(np.int32) for column in table[:-1]]
        arrays.append(table[-1].astype(np.float32))
    return *arrays, np.array(weight, dtype=np.float32)


def _labelings(scores: Floats, transitions: Floats, size: int, seed: int) -> NDArray[np.int64]:
    """Draw two families of labelings [2, size, T] of a sequence from its end.

    P(y_t|y_{t+1}) ∝ α_t(y_t) exp Λ. In a family the m that have the same next label take quantiles
    (i + u)/m.
    """
    length, end = scores.shape[1], len(transitions)
    alpha = [scores[:, 0]]
    for here in scores.T[1:]:
        alpha.append(here + logsumexp(alpha[-1][:, None] + transitions, axis=0))
    onward = np.column_stack([transitions, np.zeros(end)])
    labels = np.full((2, size, length + 1), end)
    for t in range(length - 1, -1, -1):
        for family, drawn in enumerate(labels):
            state = (seed + 0xA24BAED4963EE407 * (2 * t + family + 1)) & _MASK
            order = list(range(size))
            SplitMix64(state).shuffle(order)
            groups: dict[int, list[int]] = {}
            for i in order:
                groups.setdefault(int(drawn[i, t + 1]), []).append(i)
            for following, group in groups.items():
                log_p = alpha[t] + onward[:, following]
                sums = np.cumsum(np.exp(log_p - logsumexp(log_p)))
                u = SplitMix64((state + 0x9FB21C651E98DF25 * (following + 1)) & _MASK).uniform()
                shares = (np.arange(len(group)) + u) / len(group) * sums[-1]
                found = np.searchsorted(sums, shares, side="right")
                drawn[group, t] = np.minimum(found, end - 1)
    return labels[:, :, :length]


def _runs(y: Ints, z: Ints) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield first and behind the last token of each run on which labelings differ, with the labels.

    These are those of the one and of the other, in turn, from the token before to the one behind.
    """
    bounds = np.flatnonzero(np.diff(y != z, prepend=False, append=False))
    for first, last in zip(bounds[::2], bounds[1::2], strict=True):
        around = slice(max(first - 1, 0), last + 1)
        one, other = (y, z) if y[first] < z[first] else (z, y)
        labels = np.stack([one[around], other[around]], axis=1).ravel()
        yield int(first), int(last), tuple(labels.tolist())
