"""What a labelling may look like: rules for neighbours and ends, labels known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proxqn.estimators.input.labels import known_labels
from proxqn.estimators.input.tokens import Tokens
from proxqn.metrics.entities import Scheme
from proxqn.problem import Floats

Mask = NDArray[np.bool_]


@final
@dataclass(frozen=True)
class Constraints:
    """Which labels may follow each other, begin a sequence, and end it.

    Rows and columns stand for the labels in the order of ``classes_``.

    Examples
    --------
    >>> rules = Constraints.from_scheme(["B-PER", "I-PER", "O"], "BIO")
    >>> rules.transitions  # I-PER may not follow O
    array([[ True,  True,  True],
           [ True,  True,  True],
           [ True, False,  True]])
    >>> rules.first
    array([ True, False,  True])
    """

    transitions: Mask  # [L, L]
    first: Mask  # [L]
    last: Mask  # [L]

    @classmethod
    def from_transitions(cls, allowed: ArrayLike) -> Self:
        """Allow the given pairs (label, next label); any label may begin and end."""
        mask = np.asarray(allowed)
        if mask.dtype != bool or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
            raise ValueError(
                "expected a square array of booleans, true where a label (row) may be followed by "
                f"another (column); got shape {mask.shape} of {mask.dtype}."
            )
        anywhere = np.ones(len(mask), dtype=bool)
        return cls(mask, anywhere, anywhere.copy())

    @classmethod
    def from_scheme(cls, classes: Sequence[str] | NDArray[Any], scheme: Scheme | str) -> Self:
        """Allow what the scheme allows: IOB1, IOB2 (BIO) or IOBES (BIOES).

        Labels are ``O`` or a prefix, a hyphen and a type, such as ``B-PER``.
        """
        rules = Scheme.of(scheme)
        labels = [_split(str(label), rules) for label in classes]
        outside = ("O", "")
        return cls(
            np.array([[_may_follow(a, b, rules) for b in labels] for a in labels]),
            np.array([_may_follow(outside, b, rules) for b in labels]),
            np.array([_may_follow(a, outside, rules) for a in labels]),
        )

    def penalties(self, n_labels: int) -> tuple[Floats, Floats, Floats]:
        """Return 0 where allowed and -∞ where not: transitions, first, last."""
        if len(self.transitions) != n_labels:
            raise ValueError(
                f"the constraints are for {len(self.transitions)} labels, but the model has "
                f"{n_labels}. Make them from its classes_."
            )
        transitions, first, last = (
            np.where(mask, 0.0, -np.inf) for mask in (self.transitions, self.first, self.last)
        )
        return transitions, first, last


def read_forced(forced: Any, tokens: Tokens, classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the number of each token's known label, -1 where it is free (None)."""
    n_tokens = tokens.X.shape[0]
    numbers = np.full(n_tokens, -1, dtype=np.int32)
    if forced is None:
        return numbers
    flat = [label for labels in forced for label in labels] if tokens.listed else list(forced)
    if len(flat) != n_tokens:
        raise ValueError(
            f"forced has {len(flat)} entries, but X has {n_tokens} tokens. Pass one label a token, "
            "None where it is free, in the form of X."
        )
    given = np.array([label is not None for label in flat], dtype=bool)
    if given.any():
        numbers[given] = known_labels(np.array([x for x in flat if x is not None]), classes)
    return numbers


def _split(label: str, scheme: Scheme) -> tuple[str, str]:
    prefix, _, kind = label.partition("-")
    if label == "O" or (prefix in tuple(scheme.value) and kind):
        return prefix, kind
    raise ValueError(
        f"label {label!r} does not belong to {scheme.name}; expected 'O' or one of "
        f"{', '.join(p + '-' for p in scheme.value)} and a type, such as '{scheme.value[0]}-PER'."
    )


def _may_follow(before: tuple[str, str], label: tuple[str, str], scheme: Scheme) -> bool:
    same = before[1] == label[1]
    match scheme:
        case Scheme.IOB1:  # B- only where an entity directly follows another of its type
            return label[0] != "B" or (before[0] != "O" and same)
        case Scheme.IOB2:
            return label[0] != "I" or (before[0] != "O" and same)
        case Scheme.IOBES:
            if before[0] in "BI":
                return label[0] in "IE" and same
            return label[0] in "BSO"
