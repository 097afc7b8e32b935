"""Forks of a chain in plain NumPy: what ``cpp/chain/forks.hpp`` and ``fork_finder.hpp`` do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from proxqn.losses.chain.draws_reference import as_arrays
from proxqn.problem.sparse import Floats, Ints
from proxqn.random_numbers import SplitMix64

_MASK = (1 << 64) - 1
_RARE = 0.125  # of the least weight: labels below it part from the likeliest alone
_UNLIKELY = 1.0 / 32.0  # of it: a label behind
_ALIKE = 0.02  # difference of probabilities: two labels lead to the same


def fork(
    sequences: list[tuple[int, Ints]],
    scores: Floats,
    transitions: Floats,
    weights: Floats,
    *,
    least: float,
    share: float,
    seed: int,
    traced: bool,
) -> tuple[Any, ...]:
    """Return the forks that are rows, as ``Draws`` has them.

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
    weight: list[float] = []
    n_labels = len(transitions)
    for number, slots in sequences:
        random = SplitMix64((seed + 0xD1342543DE82EF95 * (number + 1)) & _MASK)
        if share < 1.0 and random.uniform() >= share:
            continue
        steps = _steps(scores[:, slots], transitions)
        for t, behind, y, z, w in _rows(steps, least, least * random.uniform()):
            row, root = len(weight), np.sqrt(weights[number] / share * w)
            weight.append(w / least)
            if not traced:
                continue
            tokens.append((int(slots[t]), row, y, z, root))
            if behind >= 0:
                edges.append((row, y * n_labels + behind, z * n_labels + behind, root))
            for s, of_labels, of_pairs in _traced(steps, t, y, z):
                tokens += [(int(slots[s]), row, *m[:2], root * m[2]) for m in _moves(of_labels)]
                for one, other, by in _moves(of_pairs.ravel()):  # of [the one behind, label]
                    pairs = (i % n_labels * n_labels + i // n_labels for i in (one, other))
                    edges.append((row, *pairs, root * by))
    return as_arrays(tokens, edges, weight)


def _steps(scores: Floats, transitions: Floats) -> list[Floats]:
    """Return P(y_t | y_{t+1}), a row for each label behind; one row for the last token."""
    alpha, steps = scores[:, 0], []
    for here in scores.T[1:]:
        joint = alpha[:, None] + transitions
        steps.append(softmax(joint, axis=0).T)
        alpha = here + logsumexp(joint, axis=0)
    return [*steps, softmax(alpha)[None]]


def _rows(
    steps: list[Floats], least: float, carry: float
) -> Iterator[tuple[int, int, int, int, float]]:
    """Yield token, label behind (-1: none), two labels and weight, from the end."""
    marginal = np.ones(1)
    for t in range(len(steps) - 1, -1, -1):
        last = t == len(steps) - 1
        here = np.zeros(steps[t].shape[1])
        for b, q in enumerate(marginal):
            if not last and q <= _UNLIKELY * least:
                continue
            p = steps[t][b]
            here += q * p
            total = 0.5 * q * (1.0 - np.square(p).sum())
            if carry + total < least:
                carry += max(total, 0.0)
                continue
            for y, z, weight in _forks(p, q, least):
                if weight < least:
                    carry += weight
                    if carry < least:
                        continue
                    carry -= least
                yield t, -1 if last else b, y, z, max(weight, least)
        marginal = here


def _forks(p: Floats, q: float, least: float) -> Iterator[tuple[int, int, float]]:
    """Yield two labels and their weight: all pairs of usual ones, the likeliest with the rare."""
    top = int(p.argmax())
    is_usual = q * p >= _RARE * least
    is_usual[top] = True
    usual = np.flatnonzero(is_usual)
    for i, y in enumerate(usual):
        for z in usual[i + 1 :]:
            yield int(y), int(z), q * p[y] * p[z]
    rare = max(1.0 - p[usual].sum(), 0.0)
    for y in np.flatnonzero(~is_usual):
        others = p[usual].sum() + 0.5 * max(rare - p[y], 0.0)
        yield top, int(y), q * p[y] * others


def _traced(steps: list[Floats], t: int, y: int, z: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield what two labels at t lead to: tokens before, differences of labels and of pairs."""
    differs = np.zeros(steps[t].shape[1])
    differs[[y, z]] = 1.0, -1.0
    for s in range(t - 1, -1, -1):
        of_pairs = differs[:, None] * steps[s]
        differs = _large(of_pairs.sum(axis=0))
        yield s, differs, _large(of_pairs)
        if not differs.any():
            return


def _large(x: Floats) -> Floats:
    return np.where(np.abs(x) > _ALIKE, x, 0.0)


def _moves(change: Floats) -> list[tuple[int, int, float]]:
    """Return what is gained and what is lost as moves from one to the other."""
    gained = [[int(i), change[i]] for i in np.flatnonzero(change > 0.0)]
    lost = [[int(i), -change[i]] for i in np.flatnonzero(change < 0.0)]
    moves = []
    while gained and lost:
        (one, more), (other, less) = gained[0], lost[0]
        by = min(more, less)
        moves.append((one, other, by))
        gained[0][1], lost[0][1] = more - by, less - by
        (lost if more > less else gained).pop(0)
    return moves
