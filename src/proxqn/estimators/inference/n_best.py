"""The n best labellings of a sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proxqn.problem import Floats


def best_paths(scores: Floats, transitions: Floats, n: int) -> tuple[NDArray[np.int64], Floats]:
    """Find the n labellings with the largest scores: Viterbi that keeps n paths a label.

    Parameters
    ----------
    scores : array of shape (T, L)
        Score of each label at each token.
    transitions : array of shape (L, L) or (T, L, L)
        Score of a label followed by another; or of each step, that into the first token unused.
    n : int
        How many; fewer are found where there are fewer labellings.

    Returns
    -------
    labels : array of shape (n, T)
        Best first; ties go to the smaller labels at the end.
    scores : array of shape (n,)
        Their scores, descending.

    Examples
    --------
    >>> labels, scores = best_paths(np.array([[0.0, 1.0], [0.0, 3.0]]), np.zeros((2, 2)), n=3)
    >>> labels.tolist(), scores.tolist()
    ([[1, 1], [0, 1], [1, 0]], [4.0, 3.0, 1.0])
    """
    n_tokens, n_labels = scores.shape
    steps = np.broadcast_to(transitions, (n_tokens, n_labels, n_labels))
    best = scores[0][:, None]  # [L, k]: the k best paths that end in each label
    came_from = []  # one [L, k] a token: label * (paths kept before) + which of them
    for t in range(1, n_tokens):
        # [L', L k]: from the k paths of each label before to each label now
        candidates = (best[None] + steps[t].T[:, :, None]).reshape(n_labels, -1)
        order = np.argsort(-candidates, axis=1, kind="stable")[:, :n]
        came_from.append((order // best.shape[1], order % best.shape[1]))
        best = np.take_along_axis(candidates, order, axis=1) + scores[t][:, None]
    last = np.argsort(-best, axis=None, kind="stable")[:n]
    label, rank = np.divmod(last, best.shape[1])
    paths = np.empty((len(last), n_tokens), dtype=np.int64)
    paths[:, -1] = label
    for t in range(n_tokens - 2, -1, -1):
        labels_before, ranks_before = came_from[t]
        label, rank = labels_before[label, rank], ranks_before[label, rank]
        paths[:, t] = label
    return paths, best.flat[last]
