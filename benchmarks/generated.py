"""Generated labelling problems of any size, whose features look like those of text.

Labels follow a Markov chain with a few likely successors each. A token's word is drawn from its
label's own Zipf distribution or from one common to all labels; its features are the words in a
window around it and a few that tell nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.peers.problem import Problem
from numpy.typing import NDArray
from scipy import sparse

WINDOW = (-1, 0, 1)
TELLING = 0.5  # share of words drawn from the label's own distribution
SUCCESSORS = 4


@dataclass(frozen=True)
class Shape:
    """The size of a generated problem; its features number ``n_words · 3 + n_noise``."""

    n_sequences: int
    length: int  # of every sequence
    n_labels: int
    n_words: int
    n_noise: int
    noise_per_token: int

    @property
    def n_tokens(self) -> int:
        """All tokens."""
        return self.n_sequences * self.length


def generate(shape: Shape, seed: int = 0) -> Problem:
    """Draw a problem.

    Examples
    --------
    >>> problem = generate(Shape(10, 5, 3, n_words=20, n_noise=10, noise_per_token=2))
    >>> problem.X.shape, problem.n_labels, problem.is_binary
    ((50, 70), 3, True)
    """
    rng = np.random.default_rng(seed)
    labels = _markov_chain(shape, rng)  # [sequences][length]
    words = _words(shape, labels.ravel(), rng).reshape(labels.shape)
    columns = [_shifted(words, offset) for offset in WINDOW]  # [n] each, -1 past the ends
    parts = [np.where(c >= 0, c + k * shape.n_words, -1) for k, c in enumerate(columns)]
    noise = rng.integers(shape.n_noise, size=(shape.n_tokens, shape.noise_per_token))
    entries = np.column_stack([*parts, noise + len(WINDOW) * shape.n_words]).astype(np.int32)
    lengths = np.full(shape.n_sequences, shape.length, dtype=np.int64)
    y = labels.ravel().astype(np.int32)
    n_features = len(WINDOW) * shape.n_words + shape.n_noise
    return Problem(_binary_rows(entries, n_features), y, lengths, shape.n_labels)


def _markov_chain(shape: Shape, rng: np.random.Generator) -> NDArray[np.int64]:
    """Every label is followed by one of four, mostly, or by any."""
    n, likely = shape.n_labels, min(SUCCESSORS, shape.n_labels)
    successors = rng.permuted(np.tile(np.arange(n), (n, 1)), axis=1)[:, :likely]
    labels = np.empty((shape.n_sequences, shape.length), dtype=np.int64)
    labels[:, 0] = rng.integers(n, size=shape.n_sequences)
    for t in range(1, shape.length):
        usual = successors[labels[:, t - 1], rng.integers(likely, size=shape.n_sequences)]
        any_label = rng.integers(n, size=shape.n_sequences)
        labels[:, t] = np.where(rng.random(shape.n_sequences) < 0.8, usual, any_label)
    return labels


def _words(shape: Shape, labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw words by rank; a label's own ranking is a rotation of the common one."""
    weights = 1.0 / np.arange(1, shape.n_words + 1)
    steps = np.cumsum(weights / weights.sum())
    rank = np.searchsorted(steps, rng.random(len(labels))).clip(max=shape.n_words - 1)
    own = rng.random(len(labels)) < TELLING
    shift = labels * (shape.n_words // shape.n_labels) * own
    words: NDArray[np.int64] = (rank + shift) % shape.n_words
    return words


def _shifted(words: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
    """Return the word ``offset`` tokens away within the sequence, -1 where there is none."""
    moved = np.full_like(words, -1)
    if offset < 0:
        moved[:, -offset:] = words[:, :offset]
    elif offset > 0:
        moved[:, :-offset] = words[:, offset:]
    else:
        moved[:] = words
    return moved.ravel()


def _binary_rows(
    entries: NDArray[np.int32], n_features: int
) -> sparse.csr_array[Any, tuple[int, int]]:
    """Make a canonical 0/1 matrix of rows of column numbers; -1 and repetitions do not count."""
    entries.sort(axis=1)
    keep = entries >= 0
    keep[:, 1:] &= entries[:, 1:] != entries[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    indices = entries[keep]
    X = sparse.csr_array(
        (np.ones(len(indices), dtype=np.int8), indices, indptr.astype(np.int64)),
        shape=(len(entries), n_features),
    )
    X.has_sorted_indices = X.has_canonical_format = True
    return X
