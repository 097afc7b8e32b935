"""Labels of words under given weights, in NumPy: what a score on test data needs.

A solver's iterate is no estimator yet, so predictions are written out here: a few lines, and far
too slow for training.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from proxqn.problem import Floats, Ints


def best_word(scores: Floats, transitions: Floats, lengths: Ints) -> Ints:
    """Return the labels of the most probable labeling of each sequence (Viterbi).

    Parameters
    ----------
    scores : array of shape (n_tokens, L)
        Of each label at each token, sequence after sequence.
    transitions : array of shape (L, L)
        Of a label (rows) and its successor.
    lengths : array of shape (n_sequences,)
        Tokens of each.

    Examples
    --------
    >>> best_word(np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([[2.0, 0.0], [0.0, 0.0]]), [2])
    array([0, 0])
    """
    found = np.empty(len(scores), dtype=np.int64)
    for tokens in _of_one_length(lengths):
        best = scores[tokens[:, 0]]  # [n, L], of paths that end in each label
        came_from = []
        for t in range(1, tokens.shape[1]):
            paths = best[:, :, None] + transitions  # [n, from, to]
            came_from.append(paths.argmax(axis=1))
            best = paths.max(axis=1) + scores[tokens[:, t]]
        label = best.argmax(axis=1)
        found[tokens[:, -1]] = label
        for t in range(tokens.shape[1] - 2, -1, -1):
            label = came_from[t][np.arange(len(label)), label]
            found[tokens[:, t]] = label
    return found


def best_letters(scores: Floats, transitions: Floats, lengths: Ints) -> Ints:
    """Return the label of the largest marginal at each token (forward and backward).

    Parameters are those of :func:`best_word`.

    Examples
    --------
    >>> best_letters(np.array([[1.0, 0.0], [0.0, 0.5]]), np.zeros((2, 2)), [2])
    array([0, 1])
    """
    found = np.empty(len(scores), dtype=np.int64)
    for tokens in _of_one_length(lengths):
        own = scores[tokens]  # [n, T, L]
        forward, backward = own.copy(), np.zeros_like(own)
        for t in range(1, own.shape[1]):
            forward[:, t] += logsumexp(forward[:, t - 1, :, None] + transitions, axis=1)
        for t in range(own.shape[1] - 2, -1, -1):
            after = backward[:, t + 1] + own[:, t + 1]
            backward[:, t] = logsumexp(transitions + after[:, None, :], axis=2)
        found[tokens] = (forward + backward).argmax(axis=2)
    return found


def _of_one_length(lengths: Ints) -> Iterator[Ints]:
    """Yield the tokens of all sequences of a length, [n, T], length by length."""
    lengths = np.asarray(lengths)
    starts = np.cumsum(lengths) - lengths
    for length in np.unique(lengths):
        yield starts[lengths == length, None] + np.arange(length)
