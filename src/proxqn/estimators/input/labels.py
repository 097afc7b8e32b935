"""Labels as users pass them, some of them unknown: None, or a set of possible labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from proxqn.estimators.input.sequences import is_nested
from proxqn.estimators.input.tokens import Tokens, as_list
from proxqn.features.partial_labels import PartialLabels
from proxqn.problem import Ints

_SHOWN = 5  # labels named in an error message


@final
@dataclass(frozen=True)
class GivenLabels:
    """Names of labels, one a token, those that are not known apart."""

    names: NDArray[Any]  # the labels that occur, sorted
    number: NDArray[np.int32]  # of the tokens that have one, among them
    has_label: NDArray[np.bool_]  # [n_tokens]
    choices: list[frozenset[Any] | None]  # of the other tokens; None may be anything

    @classmethod
    def of(cls, labels: NDArray[Any]) -> Self:
        """Return labels that are all known."""
        return cls(*_numbered(labels), np.ones(len(labels), dtype=bool), [])

    @property
    def known(self) -> NDArray[Any]:
        """The labels of the tokens that have one."""
        return self.names[self.number]

    @property
    def complete(self) -> bool:
        """Whether every token has a label."""
        return not self.choices

    def numbered(self, more: NDArray[Any] | None = None) -> tuple[NDArray[Any], PartialLabels]:
        """Return the labels that occur, sorted, those of ``more`` too; and their numbers."""
        if self.complete and more is None:
            return self.names, PartialLabels.known(self.number, len(self.names))
        chosen = sorted(set().union(*(c for c in self.choices if c is not None)))
        named = [self.names, np.array(chosen, dtype=self.names.dtype)]
        classes = np.unique(np.concatenate(named if more is None else [*named, more]))
        return classes, self.numbered_in(classes)

    def numbered_in(self, classes: NDArray[Any]) -> PartialLabels:
        """Return the labels as numbers in ``classes``; refuse labels that are not among them."""
        labels = np.full(len(self.has_label), -1, dtype=np.int32)
        if len(self.number):
            labels[self.has_label] = known_labels(self.names, classes)[self.number]
        candidates = np.ones((len(self.choices), len(classes)), dtype=bool)
        for row, choice in zip(candidates, self.choices, strict=True):
            if choice is not None:
                chosen = np.array(sorted(choice), dtype=self.names.dtype)
                row[:] = False
                row[known_labels(chosen, classes)] = True
        return PartialLabels(labels, candidates)


def read_given(y: Any, tokens: Tokens) -> GivenLabels:
    """Read labels of which some may be None or a set.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> tokens = Tokens(sp.csr_array(np.eye(3)), np.array([3]), listed=False)
    >>> given = read_given(["a", None, {"a", "b"}], tokens)
    >>> given.known.tolist(), given.numbered()[0].tolist()
    (['a'], ['a', 'b'])
    >>> given.numbered_in(np.array(["a", "b", "c"])).allowed().astype(int).tolist()
    [[1, 0, 0], [1, 1, 1], [1, 1, 0]]
    """
    texts = _listed_texts(y, tokens.lengths) if tokens.listed else None
    if texts is not None:
        return GivenLabels(*texts, np.ones(tokens.X.shape[0], dtype=bool), [])
    labels = _flat_labels(y, tokens)
    has_label = np.ones(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        has_label[:] = [not (v is None or isinstance(v, set | frozenset)) for v in labels]
    if has_label.all():
        return GivenLabels.of(_checked(labels))
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
    refuse_final_zeros(names)
    named = np.array(names)
    _check_values(named)
    return GivenLabels(*_numbered(named[: len(known)]), has_label, choices)


def read_labels(y: Any, tokens: Tokens) -> NDArray[Any]:
    """Return the label of every token, flat; refuse tokens without one."""
    return _checked(_flat_labels(y, tokens))


def known_labels(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the labels' numbers in ``classes``; refuse labels that are not among them."""
    if (labels.dtype.kind in "US") != (classes.dtype.kind in "US") and "O" not in (
        labels.dtype.kind,
        classes.dtype.kind,
    ):
        raise TypeError(
            f"y has labels of type {labels.dtype}, but the model was fitted with labels of type "
            f"{classes.dtype}. Convert y."
        )
    number = np.searchsorted(classes, labels)
    known = np.asarray(classes[np.minimum(number, len(classes) - 1)] == labels)
    if not known.all():
        raise ValueError(
            f"y contains labels that were not there at fit: {_some(np.unique(labels[~known]))}. "
            f"The model knows {_some(classes)}. Refit with them, or leave those sequences out."
        )
    return number.astype(np.int32)


def refuse_final_zeros(labels: Iterable[Any]) -> None:
    r"""Refuse text that ends in a zero character: NumPy would cut it off, and make two labels one.

    Examples
    --------
    >>> refuse_final_zeros(["a", "b\0"])
    Traceback (most recent call last):
        ...
    ValueError: y has the label 'b\x00', which ends in a zero character; ...
    """
    for label in labels:
        if isinstance(label, str | bytes) and label[-1:] in ("\0", b"\0"):
            raise ValueError(
                f"y has the label {label!r}, which ends in a zero character; expected one that "
                "does not, as NumPy cuts zeros off the end of text. Rename it."
            )


def check_several_classes(labels: PartialLabels, classes: NDArray[Any]) -> None:
    """Refuse data in which all tokens have the same label, as far as it is known."""
    seen = np.unique(labels.labels[labels.labels >= 0])
    if not labels.complete:
        seen = np.union1d(seen, np.flatnonzero(labels.evidence().any(axis=0)))
    if not len(seen):
        raise ValueError("y has no label at all; expected some tokens with a label.")
    if len(seen) == 1:
        raise ValueError(
            f"y has one class only, {classes[seen[0]].item()!r}; expected at least two labels "
            "to choose between. Check that y holds all the labels and that no sequence with "
            "another label was left out (a sample_weight of 0 leaves it out)."
        )


def _numbered(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    names, number = np.unique(labels, return_inverse=True)
    return names, number.astype(np.int32)


def _listed_texts(y: Any, lengths: Ints) -> tuple[NDArray[Any], NDArray[np.int32]] | None:
    """Return the labels numbered where they are strings in lists; others, and wrong ones, go on."""
    if not isinstance(y, list) or set(map(type, y)) - {list, tuple}:
        return None
    if list(map(len, y)) != lengths.tolist():
        return None
    labels = list(chain.from_iterable(y))
    if set(map(type, labels)) != {str}:
        return None
    table = {name: place for place, name in enumerate(dict.fromkeys(labels))}
    refuse_final_zeros(table)
    place = np.fromiter(map(table.__getitem__, labels), np.int32, len(labels))
    names, number = _numbered(np.array(list(table)))  # sorts
    return names, number[place]


def _flat_labels(y: Any, tokens: Tokens) -> NDArray[Any]:
    """Return what y holds for every token, flat; the values are not checked."""
    if y is None:
        raise ValueError(
            "ChainCRF requires y to be passed, but the target y is None. Pass one label a token."
        )
    if tokens.listed:
        y = _join_labels(y, tokens.lengths)
    elif isinstance(y, list | tuple) and y and is_nested(y[0]):
        raise ValueError(
            "y is a list of sequences, but X is one matrix. Pass y flat, one label a row of X, or "
            "X as a list of matrices."
        )
    labels: NDArray[Any] = column_or_1d(_label_array(y), warn=True)
    if len(labels) != tokens.X.shape[0]:
        raise ValueError(
            f"y has {len(labels)} labels, but X has {tokens.X.shape[0]} rows. Pass one label for "
            "every token (not one for every sequence)."
        )
    return labels


def _checked(labels: NDArray[Any]) -> NDArray[Any]:
    """Return flat labels if each is a good one."""
    if labels.dtype.kind in "OfcV":
        _check_values(labels)
    check_classification_targets(labels)
    return labels


def _label_array(labels: Any) -> NDArray[Any]:
    """Return labels as an array; not as NumPy does, which makes the text 'nan' of a NaN."""
    array: NDArray[Any] = np.asarray(labels)
    if array.dtype.kind not in "US" or array.ndim != 1 or array is labels:
        return array
    given = list(labels)
    refuse_final_zeros(given)
    if any(not isinstance(label, str | bytes) for label in given):
        array = np.empty(len(given), dtype=object)
        array[:] = given
    return array


def _join_labels(y: Any, lengths: Ints) -> NDArray[Any]:
    y = as_list(y)
    if not isinstance(y, Sequence | np.ndarray) or isinstance(y, str):
        raise TypeError(
            f"y must be a list with one list of labels a sequence, as X is a list; got a "
            f"{type(y).__name__}."
        )
    if len(y) != len(lengths):
        raise ValueError(f"y has {len(y)} sequences, but X has {len(lengths)}.")
    parts = [_label_array(labels) for labels in y]
    for i, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        if part.ndim != 1:
            raise ValueError(
                f"y[{i}] has shape {part.shape}; expected a list of {length} labels, as sequence "
                f"{i} of X has {length} tokens."
            )
        if len(part) != length:
            raise ValueError(
                f"y[{i}] has {len(part)} labels, but sequence {i} of X has {length} tokens. Pass "
                "one label a token."
            )
    if len({part.dtype.kind in "US" for part in parts if part.dtype.kind != "O"}) > 1:
        raise TypeError("y mixes text and numbers; expected labels of one type. Convert them.")
    return np.concatenate(parts)


def _check_values(labels: NDArray[Any]) -> None:
    """Refuse missing labels and mixed types, which would fail later with less to go by."""
    assert_all_finite(labels, input_name="y")
    if labels.dtype.kind != "O":
        return
    refuse_final_zeros(labels)
    types = {type(label).__name__ for label in labels}
    if "NoneType" in types:
        raise ValueError(
            "y contains None; expected a label for every token. Only fit and log_probability take "
            "tokens without one."
        )
    if types & {"set", "frozenset"}:
        raise ValueError(
            "y contains sets; expected a label for every token. Only fit and log_probability take "
            "tokens that may have one of several."
        )
    if len(types) > 1 and "str" in types:
        raise TypeError(
            f"y mixes labels of types {', '.join(sorted(types))}; expected one type. Convert them."
        )


def _some(labels: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:_SHOWN].tolist())
    more = len(labels) - _SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"
