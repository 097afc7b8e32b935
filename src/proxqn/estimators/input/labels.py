"""Labels as users pass them, some of them unknown: None, or a set of possible labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from proxqn.estimators.input import sequences as sequence_input
from proxqn.estimators.input.sequences import Tokens
from proxqn.features.partial_labels import PartialLabels


@final
@dataclass(frozen=True)
class GivenLabels:
    """Names of labels, one a token, those that are not known apart."""

    known: NDArray[Any]  # the labels of tokens that have one
    has_label: NDArray[np.bool_]  # [n_tokens]
    choices: list[frozenset[Any] | None]  # of the other tokens; None may be anything

    @property
    def complete(self) -> bool:
        """Whether every token has a label."""
        return not self.choices

    def names(self) -> NDArray[Any]:
        """Return all labels that occur, those of choices included; some more than once."""
        chosen = sorted(set().union(*(c for c in self.choices if c is not None)))
        return np.concatenate([self.known, np.array(chosen, dtype=self.known.dtype)])

    def numbered(self, classes: NDArray[Any]) -> PartialLabels:
        """Return the labels as numbers in ``classes``; refuse labels that are not among them."""
        labels = np.full(len(self.has_label), -1, dtype=np.int32)
        if len(self.known):
            labels[self.has_label] = sequence_input.known_labels(self.known, classes)
        candidates = np.ones((len(self.choices), len(classes)), dtype=bool)
        for row, choice in zip(candidates, self.choices, strict=True):
            if choice is not None:
                chosen = np.array(sorted(choice), dtype=self.known.dtype)
                row[:] = False
                row[sequence_input.known_labels(chosen, classes)] = True
        return PartialLabels(labels, candidates)


def read_given(y: Any, tokens: Tokens) -> GivenLabels:
    """Read labels of which some may be None or a set.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> tokens = Tokens(sp.csr_array(np.eye(3)), np.array([3]), listed=False)
    >>> given = read_given(["a", None, {"a", "b"}], tokens)
    >>> given.known.tolist(), np.unique(given.names()).tolist()
    (['a'], ['a', 'b'])
    >>> given.numbered(np.array(["a", "b", "c"])).allowed().astype(int).tolist()
    [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    """
    labels = sequence_input.flat_labels(y, tokens)
    sequence_input.check_count(labels, tokens)
    has_label = np.ones(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        has_label[:] = [not (v is None or isinstance(v, set | frozenset)) for v in labels]
    if has_label.all():
        return GivenLabels(sequence_input.checked_labels(labels, tokens), has_label, [])
    choices = [None if v is None else frozenset(v) for v in labels[~has_label]]
    for token, choice in zip(np.flatnonzero(~has_label).tolist(), choices, strict=True):
        if choice is not None and not choice:
            raise ValueError(
                f"y holds an empty set at token {token}; expected the labels it may have, or None."
            )
    known = labels[has_label].tolist()
    names = known + [name for choice in choices for name in choice or ()]
    if len({isinstance(name, str) for name in names}) > 1:
        raise TypeError("y mixes text and numbers; expected labels of one type. Convert them.")
    named = np.array(names)
    sequence_input.check_label_values(named)
    return GivenLabels(named[: len(known)], has_label, choices)
