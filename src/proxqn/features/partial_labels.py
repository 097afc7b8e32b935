"""True labels of which some are not known, or known to be one of a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.problem.sparse import Ints


@final
@dataclass(frozen=True)
class PartialLabels:
    """The label of each token, or the labels it may have."""

    labels: NDArray[Any]  # [n_tokens], integers, -1 where it is not known
    candidates: NDArray[np.bool_]  # [tokens with -1, L] what those tokens may have

    @property
    def complete(self) -> bool:
        """Whether every label is known."""
        return len(self.candidates) == 0

    @classmethod
    def known(cls, labels: NDArray[Any], n_labels: int) -> PartialLabels:
        """Return labels that are all known."""
        return cls(labels, np.ones((0, n_labels), dtype=bool))

    def cut(self, tokens: slice) -> PartialLabels:
        """Keep a stretch of tokens."""
        if self.complete:
            return PartialLabels(self.labels[tokens], self.candidates)
        ends = [np.count_nonzero(self.labels[:end] < 0) for end in (tokens.start, tokens.stop)]
        return PartialLabels(self.labels[tokens], self.candidates[slice(*ends)])

    def take(self, tokens: NDArray[np.bool_]) -> PartialLabels:
        """Keep some tokens."""
        return PartialLabels(self.labels[tokens], self.candidates[tokens[self.labels < 0]])

    def allowed(self) -> NDArray[np.bool_]:
        """Return what every token may have, shape (n_tokens, L)."""
        marks = np.zeros((len(self.labels), self.candidates.shape[1]), dtype=bool)
        known = self.labels >= 0
        marks[known, self.labels[known]] = True
        marks[~known] = self.candidates
        return marks

    def evidence(self) -> NDArray[np.bool_]:
        """Return the same, with nothing for tokens that may have any label: they tell nothing."""
        marks = self.allowed()
        marks[marks.all(axis=1)] = False
        return marks


@final
@dataclass(frozen=True)
class Twins:
    """A second run of rows for unknown labels: see ``cpp/lattice/forward_backward.hpp``."""

    start: Ints  # [n_sequences] first row, -1 where all labels are known
    tokens: Ints  # [n_rows] the token of each row
    allowed: NDArray[np.uint8]  # [n_rows, L]

    @classmethod
    def of(cls, labels: PartialLabels, lengths: Ints) -> Twins:
        """Give the twins the rows after those of all tokens.

        Examples
        --------
        >>> labels = PartialLabels(np.array([0, 1, -1], np.int32), np.array([[True, True]]))
        >>> twins = Twins.of(labels, np.array([1, 2]))
        >>> twins.start.tolist(), twins.tokens.tolist(), twins.allowed.tolist()
        ([-1, 3], [1, 2], [[0, 1], [1, 1]])
        """
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        partial = np.zeros(len(lengths), dtype=bool)
        partial[sequence[labels.labels < 0]] = True
        chosen = partial[sequence]
        rows = np.where(partial, lengths, 0)
        start = np.where(partial, len(sequence) + np.cumsum(rows) - rows, -1)
        return cls(
            start.astype(np.int64),
            np.flatnonzero(chosen).astype(np.int64),
            labels.take(chosen).allowed().astype(np.uint8),
        )
