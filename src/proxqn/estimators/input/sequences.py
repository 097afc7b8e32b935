"""Sequences of numbers as users hold them, checked and brought into one form.

Three forms come in: a matrix whose rows are tokens plus ``lengths``; a list with one matrix per
sequence; a matrix alone, whose rows are then sequences of length one (scikit-learn's usual X). One
goes out: :class:`Tokens`. Every refusal says what was expected, what came, and what to do. Features
with names are read by ``named_input``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from proxqn.features.partial_labels import PartialLabels
from proxqn.problem import Floats, Ints

_KERNEL_DTYPES = "?bhilqBHILQfd"  # what scipy.sparse multiplies; other numbers become float64
_SHOWN = 5  # labels named in an error message


@final
@dataclass(frozen=True)
class Tokens:
    """All tokens, one row each, sequence after sequence."""

    X: sp.csr_array  # [n_tokens, n_features] canonical, finite, without stored zeros
    lengths: Ints  # [n_sequences], all at least 1
    listed: bool  # whether the user gave a list of sequences
    edges: sp.csr_array | None = None  # [n_tokens, n_edge_features] of the steps into the tokens

    @property
    def alone(self) -> bool:
        """Whether every token is a sequence of its own."""
        return len(self.lengths) == self.X.shape[0]

    def in_form_of_input(self, values: NDArray[Any]) -> NDArray[Any] | list[NDArray[Any]]:
        """Return one value (or row) a token as the user gave the tokens: flat, or a list."""
        if not self.listed:
            return values
        return cut(values, self.lengths.tolist())

    def take(self, keep: NDArray[np.bool_]) -> Tokens:
        """Return only the sequences where the mask is true."""
        tokens = np.repeat(keep, self.lengths)
        edges = None if self.edges is None else self.edges[tokens]
        return Tokens(self.X[tokens], self.lengths[keep], self.listed, edges)

    def blocks(self, n_tokens: int) -> Iterator[tuple[slice, Ints]]:
        """Cut into blocks of whole sequences, about ``n_tokens`` tokens each: rows and lengths."""
        ends = np.cumsum(self.lengths)
        first = 0
        while first < len(ends):
            start = int(ends[first] - self.lengths[first])
            last = max(int(np.searchsorted(ends, start + n_tokens, side="right")), first + 1)
            yield slice(start, int(ends[last - 1])), self.lengths[first:last]
            first = last


def cut(values: NDArray[Any], lengths: list[int]) -> list[NDArray[Any]]:
    """Cut one value (or row) a token into the sequences."""
    return [values[a:b] for a, b in pairwise(accumulate(lengths, initial=0))]


def read_tokens(estimator: Any, X: Any, lengths: Any, *, reset: bool) -> Tokens:
    """Check X and lengths; with ``reset`` the estimator learns its number of features."""
    listed = is_list_of_sequences(X)
    if listed:
        if lengths is not None:
            raise ValueError(
                "lengths came with a list of sequences, whose lengths are known. Leave lengths "
                "out, or pass one matrix of all tokens."
            )
        X, lengths = join(X)
    if reset or not _passes_as_it_is(estimator, X):
        X = validate_data(estimator, X, accept_sparse="csr", reset=reset)
    n_tokens = X.shape[0]
    if lengths is None:
        checked = np.ones(n_tokens, dtype=np.int64)
    else:
        checked = check_lengths(lengths, n_tokens)
    return Tokens(canonical(X), checked, listed)


def _passes_as_it_is(estimator: Any, X: Any) -> bool:
    """Whether scikit-learn's checks would find nothing: they take longer than to label a sentence.

    Whatever is refused or converted goes to them.
    """
    return (
        isinstance(X, sp.csr_array | sp.csr_matrix)
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X.data).all())
    )


def read_labels(y: Any, tokens: Tokens) -> NDArray[Any]:
    """Return the label of every token, flat; refuse tokens without one."""
    return checked_labels(flat_labels(y, tokens), tokens)


def flat_labels(y: Any, tokens: Tokens) -> NDArray[Any]:
    """Return what y holds for every token, flat and not checked."""
    if y is None:
        raise ValueError(
            "ChainCRF requires y to be passed, but the target y is None. Pass one label a token."
        )
    if tokens.listed:
        y = _join_labels(y, tokens.lengths)
    elif isinstance(y, list | tuple) and y and _is_nested(y[0]):
        raise ValueError(
            "y is a list of sequences, but X is one matrix. Pass y flat, one label a row of X, or "
            "X as a list of matrices."
        )
    labels: NDArray[Any] = column_or_1d(_label_array(y), warn=True)
    return labels


def checked_labels(labels: NDArray[Any], tokens: Tokens) -> NDArray[Any]:
    """Return flat labels if there is a good one for every token."""
    if labels.dtype.kind in "OfcV":
        check_label_values(labels)
    check_classification_targets(labels)
    check_count(labels, tokens)
    return labels


def check_count(labels: NDArray[Any], tokens: Tokens) -> None:
    """Refuse labels that are not one a token."""
    if len(labels) != tokens.X.shape[0]:
        raise ValueError(
            f"y has {len(labels)} labels, but X has {tokens.X.shape[0]} rows. Pass one label for "
            "every token (not one for every sequence)."
        )


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


def read_sample_weight(sample_weight: Any, tokens: Tokens) -> Floats | None:
    """Return the factor of every sequence's loss, or None where all are 1."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "biuf":
        weights = weights.astype(np.float64)  # refuses what is not a number
    n_sequences = len(tokens.lengths)
    if weights.ndim == 0:
        weights = np.full(n_sequences, weights)
    if weights.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight must have shape ({n_sequences},), one number a sequence (not a token), "
            f"got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "sample_weight must be finite and not negative; 0 leaves a sequence out. Got "
            f"{weights[~(np.isfinite(weights) & (weights >= 0))][0]}."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every sequence; expected at least one above 0.")
    return weights.astype(np.float64)


def is_list_of_sequences(X: Any) -> bool:
    """Tell a list of matrices from a matrix written as a list of rows."""
    if not isinstance(X, list | tuple):
        return False
    if not X:
        raise ValueError("X is an empty list; expected at least one sequence.")
    head = X[0]
    if hasattr(head, "ndim"):
        return bool(head.ndim == 2)
    return _is_nested(head) and len(head) > 0 and _is_nested(head[0])


def _is_nested(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def join(sequences: Sequence[Any]) -> tuple[Any, Ints]:
    """Stack the sequences' matrices; sparse if one of them is."""
    parts: list[Any] = [s if sp.issparse(s) else np.asarray(s) for s in sequences]
    width = parts[0].shape[1]
    for i, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != width:
            raise ValueError(
                f"sequence {i} has shape {part.shape}; expected (tokens, {width}), as many "
                "features as sequence 0 has."
            )
    lengths = np.array([part.shape[0] for part in parts])
    if any(sp.issparse(part) for part in parts):
        rows: Any = [sp.csr_array(part) for part in parts]
        return sp.vstack(rows, format="csr"), lengths
    return np.concatenate(parts), lengths


def as_list(values: Any) -> Any:
    """Return a pandas Series as a list, anything else as it is; who holds one has pandas."""
    pandas = sys.modules.get("pandas")
    return values.tolist() if pandas and isinstance(values, pandas.Series) else values


def _label_array(labels: Any) -> NDArray[Any]:
    """Return labels as an array; not as NumPy does, which makes the text 'nan' of a NaN."""
    array: NDArray[Any] = np.asarray(labels)
    if array.dtype.kind not in "US" or array.ndim != 1 or array is labels:
        return array
    given = list(labels)
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


def check_label_values(labels: NDArray[Any]) -> None:
    """Refuse missing labels and mixed types, which would fail later with less to go by."""
    assert_all_finite(labels, input_name="y")
    if labels.dtype.kind != "O":
        return
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


def check_lengths(given: Any, n_tokens: int) -> Ints:
    """Return the sequences' lengths; refuse those that X cannot have."""
    lengths: NDArray[Any] = np.asarray(given)
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(
            f"lengths must be integers, the number of tokens of each sequence; got an array of "
            f"{lengths.dtype}."
        )
    if lengths.ndim != 1 or not lengths.size:
        raise ValueError(
            f"lengths must be a list with one number a sequence, got shape {lengths.shape}."
        )
    if lengths.min() < 1:
        i = int(np.argmax(lengths < 1))
        raise ValueError(
            f"sequence {i} has length {lengths[i]}; expected at least one token. Leave empty "
            "sequences out."
        )
    if int(lengths.sum()) != n_tokens:
        raise ValueError(
            f"lengths sum to {int(lengths.sum())}, but X has {n_tokens} rows. Pass the number of "
            "tokens of each sequence, in the order of the rows; in a search over folds, pass X as "
            "a list of sequences and no lengths."
        )
    return lengths.astype(np.int64)


def canonical(X: Any) -> sp.csr_array:
    """Return a CSR array with sorted, distinct indices and no stored zeros; a copy only if needed.

    A large matrix in order already is shared with the caller and never changed.
    """
    given = sp.issparse(X)
    if X.dtype.char not in _KERNEL_DTYPES:
        X = X.astype(np.float64)
    matrix = X if isinstance(X, sp.csr_array) else sp.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy() if given else matrix
        matrix.sum_duplicates()
    if np.count_nonzero(matrix.data) < matrix.nnz:
        matrix = matrix.copy() if given else matrix
        matrix.eliminate_zeros()
    return matrix


def _some(labels: NDArray[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:_SHOWN].tolist())
    more = len(labels) - _SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"
